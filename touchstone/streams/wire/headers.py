"""Header names that are not UTF-8, and records that take the place of what cannot be read: their form inside Touchstone, and as they are written.

Kafka takes any bytes as the name of a header. `touchstone.streams.wire.record_batches` hands such a name out with a surrogate for each byte that is
no UTF-8 (PEP 383), so that a name stays a `str` and its bytes can be had back; no client library can write such a name, so
it is written in hexadecimal digits.
"""

from collections.abc import Iterable
from typing import NamedTuple

#: Before the hexadecimal digits of a name that is not UTF-8, in a dead letter. A header name that arrives like this is set aside.
UNREADABLE = "touchstone.unreadable."
#: The one header of a record that takes the place of bytes which could not be decoded. A high surrogate: no name on the wire becomes this.
DAMAGED = "\ud800damaged"
#: The same, of a batch that unpacks to too much: the first record holds its bytes, and the header its offsets, as `first-last`.
OVERSIZE = "\ud800oversize"
#: The other records of such a batch. Each stands for a range of offsets that ends with its own; the header holds the first of them.
OVERSIZE_REST = "\ud800oversize_rest"
STAND_INS = frozenset({DAMAGED, OVERSIZE, OVERSIZE_REST})


class Fault(NamedTuple):
    """What is wrong with a record before its value is read. `since`: first of the offsets that it stands for, where they are more than its own."""

    code: str
    where: str = ""
    since: int | None = None


def fault_of(headers: Iterable[tuple[str, bytes]]) -> Fault | None:
    """The fault that a record's headers show; None if there is none."""
    for index, (name, content) in enumerate(headers):
        if not name.isascii() and not _is_utf8(name):
            if name == DAMAGED:
                return Fault("record_damaged")
            if name == OVERSIZE:
                return Fault("batch_too_large", f"offsets {content.decode()}")
            return Fault("batch_too_large", since=int(content)) if name == OVERSIZE_REST else Fault("header_name_not_utf8", f"header {index}")
    return None


def batch_offsets(headers: Iterable[tuple[str, bytes]] | None) -> bytes | None:
    """`first-last` of the batch that a record holds whole; None for every other record."""
    return next((content for name, content in headers or () if name == OVERSIZE), None)


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
