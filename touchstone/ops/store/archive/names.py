"""Names of objects: ids as they may appear in a path, reversibly where they are short.

`traces/trace-{traceId}.json`: a trace in the specification's own shape. `cases/{kind}/{event_id}.json`: any other event. `results/{event_id}/{result_id}.json`:
what was scored of it.
"""

import hashlib
import re
from urllib.parse import quote, unquote

#: Characters of an encoded id; a longer one is cut off, and a digest of the whole id takes the place of the rest.
ENCODED_MAX = 180
#: Before the digest of an id that was cut off, and of an event that has a trace id of another event. No encoded id contains it.
SEPARATOR = "~"
_DIGEST_CHARS = 32
_DOTS = re.compile(r"\.+")


def encoded(identifier: str) -> str:
    """An id as part of a path: letters, digits, `.`, `_` and `-` as they are, everything else percent-encoded."""
    text = quote(identifier.encode("utf-8", "surrogatepass"), safe="").replace("~", "%7E")
    if _DOTS.fullmatch(text):  # `.` and `..` are folders
        text = text.replace(".", "%2E")
    if len(text) <= ENCODED_MAX:
        return text
    return f"{text[: ENCODED_MAX - _DIGEST_CHARS - 1].rstrip('%')}{SEPARATOR}{digest(identifier)}"


def decoded(text: str) -> str | None:
    """The id that was encoded; None if it was cut off."""
    return None if SEPARATOR in text else unquote(text, errors="surrogatepass")


def digest(identifier: str) -> str:
    """A digest of an id."""
    return hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]


def trace_path(trace_id: str, *, another: str | None = None) -> str:
    """The object of a trace. `another`: the event id of a further event with the same trace id and other content."""
    return f"traces/trace-{encoded(trace_id)}{f'{SEPARATOR}{SEPARATOR}{digest(another)}' if another is not None else ''}.json"


def case_path(kind: str, event_id: str) -> str:
    """The object of any other event."""
    return f"cases/{encoded(kind)}/{encoded(event_id)}.json"


def result_path(event_id: str, result_id: str) -> str:
    """The object of a result."""
    return f"results/{encoded(event_id)}/{encoded(result_id)}.json"
