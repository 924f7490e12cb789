"""Under which name a client writes: that of its token, so that nobody writes in the name of somebody else."""

from collections.abc import Iterable, Iterator
from typing import Any

from touchstone.ops.web.access import Grant
from touchstone.ops.web.api.calls import Refusal


def reviewer_of(grant: Grant, given: str | None) -> str:
    """The reviewer that an annotation names, else the name of the token. Raises `Refusal` (422)."""
    reviewer = given or grant.name
    if not reviewer:
        raise Refusal("annotations: name the reviewer; only a token with a name of its own (serve.tokens: NAME=suites/annotate:TOKEN) may leave it out", 422)
    return reviewer


def check_reviewers(grant: Grant, reviewers: Iterable[str]) -> None:
    """Raise `Refusal` (403) if the client may not write under one of these names."""
    if all(grant.may_write_as(reviewer) for reviewer in reviewers):
        return
    if grant.name:
        raise Refusal(f"this token writes as {grant.name} and nobody else; leave the reviewer out, or use a token with the scope admin", 403)
    raise Refusal("another token has this reviewer's name, or one that looks like it; choose another name, or use that token", 403)


def reviewers_in(annotations: Any) -> Iterator[str]:
    """The reviewers whom a trace's own `annotations` name: an array, or one object. Empty for one without a name."""
    for one in annotations if isinstance(annotations, list) else [annotations]:
        named = (one.get("reviewerId"), one.get("reviewer")) if isinstance(one, dict) else ()
        yield from (str(name) for name in named if name is not None)
