"""Base64 content: the body of an unstructured document, and attached media."""

from __future__ import annotations

import binascii
import re
from typing import Any, Final

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.elements import child, local

#: Value set SupportedFileFormats (2.16.840.1.113883.11.20.7.1), and other formats that senders use.
_MEDIA: Final = frozenset({
    "application/msword", "application/pdf", "text/plain", "text/rtf", "text/html", "text/xml", "text/x-hl7-text+xml",
    "image/gif", "image/tiff", "image/jpeg", "image/png",
})  # fmt: skip
#: Media type → the first bytes of its files.
_BEGINS: Final = {
    "application/pdf": (b"%PDF-",),
    "image/png": (b"\x89PNG",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF8",),
    "image/tiff": (b"II*\0", b"MM\0*"),
    "text/rtf": (b"{\\rtf",),
}
#: Characters of base64 that are decoded to see the first bytes of a file; four characters are three bytes.
_HEAD_CHARS: Final = 64
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]*={0,2}\s*")


def check_body(document: Document) -> None:
    """Check every base64 text, whatever its size: its alphabet, its length, and its first bytes."""
    body = child(document.root, "component", "nonXMLBody", "text")
    for element in document.elements:
        if element.get("representation") == "B64":
            document.report.fired("attachments")
            _check(document, element)
    if body is not None:
        document.report.fired("attachments")
        if body.get("representation") != "B64" and child(body, "reference") is None and not (body.text or "").strip():
            document.add("major", "ccda.attachments.empty", body, "the body holds nothing and refers to nothing")
        kind = body.get("mediaType")
        if kind is not None and kind not in _MEDIA:
            listed = "application/pdf, application/msword, text/plain, text/rtf, text/html, image/..."
            document.add("minor", "ccda.attachments.media-type", body, f"not one of the supported file formats: {listed}", value=kind, at="mediaType")


def _check(document: Document, element: Any) -> None:
    text = element.text or ""
    # Without a readable body the document is worthless; without a signature or an image it is not.
    severity: Severity = "major" if local(element.getparent()) in {"nonXMLBody", "observationMedia"} else "minor"
    if _BASE64.fullmatch(text) is None:
        document.add(severity, "ccda.attachments.base64", element, "the text is not base64: a character that it does not have, or = within it")
        return
    # Counted, not decoded: an attachment may have tens of megabytes.
    chars = len(text) - sum(text.count(blank) for blank in " \t\r\n")
    if chars == 0:
        document.add(severity, "ccda.attachments.empty", element, "representation is B64, and there is no text")
    elif chars % 4:
        document.add(severity, "ccda.attachments.base64", element, "the text is not whole base64: its length is no multiple of four; it may be cut off")
    else:
        begins = _BEGINS.get(element.get("mediaType") or "")
        head = "".join(text[: 4 * _HEAD_CHARS].split())[:_HEAD_CHARS]
        if begins is not None and not binascii.a2b_base64(head[: len(head) // 4 * 4]).startswith(begins):
            document.add("minor", "ccda.attachments.content", element, "what is embedded does not begin as a file of its mediaType does", at="mediaType")
