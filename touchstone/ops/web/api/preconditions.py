"""`If-Match` (RFC 9110 §13.1.1): whoever annotates a case names the state of it that they saw."""

import re

from starlette.datastructures import Headers

from touchstone.ops.web.api.calls import Refusal

#: One entity tag: weak or strong, in double quotes (RFC 9110 §8.8.3).
_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS = re.compile(rf"[ \t,]*{_TAG}(?:[ \t]*,[ \t,]*{_TAG})*[ \t,]*")
_NEEDED = (
    "annotating needs If-Match with the ETag of the case as you saw it (read it with GET; the answer has it as ETag and as etag), "
    "so that two reviewers do not overwrite each other"
)


def check_seen(headers: Headers, revision: int, *, is_needed: bool) -> None:
    """Raise `Refusal` if the client has not seen this revision of the case: 412; 428 if it does not say what it has seen, though it must; 400 if unreadable.

    `is_needed`: the request overwrites what others may have written. `*` fits every state, so it does not say which one was seen.
    """
    given = ", ".join(headers.getlist("if-match"))
    if not headers.getlist("if-match") or given.strip() == "*":
        if is_needed:
            raise Refusal(_NEEDED if not given else f"If-Match: * does not say which state you saw; {_NEEDED}", 428)
        return
    if not _TAGS.fullmatch(given):
        raise Refusal('If-Match: write one or several ETags as the service gave them, in double quotes, such as "3"', 400)
    tags = re.findall(_TAG, given)
    if etag_of(revision) in tags:
        return
    if f"W/{etag_of(revision)}" in tags:
        # A proxy that compresses makes an ETag weak, and If-Match compares only strong ones.
        raise Refusal("If-Match: a weak ETag (W/…) never matches; send the etag that is in the JSON of the case", 412, {"ETag": etag_of(revision)})
    raise conflict(revision)


def conflict(revision: int) -> Refusal:
    """The refusal of somebody who has not seen the present state; it names that state."""
    text = f"somebody else has annotated this case meanwhile (it has ETag {etag_of(revision)} now); read it again, then send yours"
    return Refusal(text, 412, {"ETag": etag_of(revision)})


def etag_of(revision: int) -> str:
    """A revision of the annotations as an entity tag."""
    return f'"{revision}"'
