"""Attachments: the stated size and hash must be those of the data (R4: datatypes.html#Attachment)."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any

from touchstone.scorers.clinical.formats.fhir.document import Document, Place

_SHA1_BYTES = 20


def check_attachments(document: Document) -> None:
    """Check every Attachment that has data and a size or hash."""
    for value, place, _ in document.typed.get("Attachment", ()):
        data = value.get("data")
        if isinstance(data, str) and not {"size", "hash"}.isdisjoint(value):
            _check(document, value, data, place)


def _check(document: Document, value: dict[str, Any], data: str, place: Place) -> None:
    content = _decoded(data)
    if content is None:
        return  # `primitives` reports the form of the data.
    size, stated = value.get("size"), value.get("hash")
    if isinstance(size, int) and size != len(content):
        document.add(
            "major",
            "fhir.structure.attachment-size",
            (place, "size", None),
            "size is not the number of bytes of the data",
            suggestion="Give the size of the data before it is encoded in base64",
        )
    digest = _decoded(stated) if isinstance(stated, str) else None
    if digest is None:
        return
    if len(digest) != _SHA1_BYTES:
        # An official example has it in hexadecimal digits: reported, but not counted against the document.
        document.add("minor", "fhir.structure.attachment-hash", (place, "hash", None), "hash must be a SHA-1 in base64 (20 bytes); this has another length")
    elif digest != hashlib.sha1(content, usedforsecurity=False).digest():
        document.add("major", "fhir.structure.attachment-hash", (place, "hash", None), "hash is not the SHA-1 of the data")


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def most_bytes(stated: Any) -> float | None:
    """The bytes that the extension maxSize allows (extensions package 5.3.0); None for less than one, which must be of another unit."""
    return stated if isinstance(stated, int | float) and not isinstance(stated, bool) and stated >= 1 else None


def stated_size(attachment: dict[str, Any]) -> int | None:
    """The bytes of an attachment: as stated, else those of its data."""
    size, data = attachment.get("size"), attachment.get("data")
    if isinstance(size, int) and not isinstance(size, bool):
        return size
    return decoded_size(data) if isinstance(data, str) else None


def decoded_size(text: str) -> int:
    """The number of bytes of a base64 text, without decoding it: three in four characters."""
    characters = sum(map(len, text.split()))
    return characters * 3 // 4 - text.rstrip()[-2:].count("=")
