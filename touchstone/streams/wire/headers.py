"""Header names that are not UTF-8, and records that cannot be decoded: their form inside Touchstone, and the form in which they are written.

Kafka takes any bytes as the name of a header. `touchstone.streams.wire.record_batches` hands such a name out with a surrogate for each byte that is
no UTF-8 (PEP 383), so that a name stays a `str` and its bytes can be had back; no client library can write such a name, so
it is written in hexadecimal digits.
"""

from collections.abc import Iterable

#: Before the hexadecimal digits of a name that is not UTF-8, in a dead letter. A header name that arrives like this is set aside.
UNREADABLE = "touchstone.unreadable."
#: The one header of a record that takes the place of bytes which could not be decoded. A high surrogate: no name on the wire becomes this.
DAMAGED = "\ud800damaged"


def reject_code(headers: Iterable[tuple[str, bytes]]) -> tuple[str, str] | None:
    """Code and place of a fault in a record's header names; None if there is none."""
    for index, (name, _) in enumerate(headers):
        if not name.isascii() and not _is_utf8(name):
            return ("record_damaged", "") if name == DAMAGED else ("header_name_not_utf8", f"header {index}")
    return None


def writable_name(name: str) -> str:
    """A header name as a client can write it."""
    if name.isascii() or _is_utf8(name):
        return name
    return UNREADABLE + name.encode("utf-8", "surrogateescape").hex()


def _is_utf8(name: str) -> bool:
    """True if a name has no surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
