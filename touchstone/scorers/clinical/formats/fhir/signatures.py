"""Signatures: data that calls itself a JSON Web Signature has the form of one (R4: signatures.html, datatypes.html#Signature; RFC 7515)."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Final

from touchstone.scorers.clinical.formats.fhir.document import Document

_JOSE: Final = "application/jose"
#: A JWS in its compact form: header, payload (empty where it is detached) and signature.
_PARTS: Final = 3


def check_signatures(document: Document) -> None:
    """Check the form of every JSON Web Signature. Whether a signature holds is not checked."""
    for value, place, _ in document.typed.get("Signature", ()):
        document.report.fired("signatures")
        data = value.get("data")
        if not isinstance(data, str):
            continue
        document.skip("signatures", "only their form is checked, not the signing")
        if value.get("sigFormat") == _JOSE and (text := _decoded(data)) is not None and not _is_jws(text):
            message = "this does not have the form of a JSON Web Signature: header.payload.signature, each in base64url, the header a JSON object with alg"
            remedy = "Put the signature in its compact form here, encoded in base64"
            document.add("major", "fhir.structure.signature", (place, "data", None), message, suggestion=remedy)


def _decoded(text: str) -> str | None:
    """The text of the data; None if it is not base64, which `primitives` reports."""
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("ascii", "replace")
    except (binascii.Error, ValueError):
        return None


def _is_jws(text: str) -> bool:
    parts = text.strip().split(".")
    if len(parts) != _PARTS or not parts[0] or not parts[2]:
        return False
    try:
        header: Any = json.loads(base64.urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return False
    return isinstance(header, dict) and isinstance(header.get("alg"), str)
