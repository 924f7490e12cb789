"""Rules about texts: HTML in markdown and, if the options ask for it, HTML in any text and example URLs."""

from __future__ import annotations

import re
from typing import Any

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.formats.fhir.document import Document, Place

#: A tag as the official security check defines it: "<" before a name, a closing tag or a declaration.
_TAG = re.compile(r"<[/!?]?[A-Za-z][^<>]*>?")
_EXAMPLE = re.compile(r"(https?://|urn:)([\w\-]+\.)*(example\.(org|com|net)|acme\.com)\b", re.IGNORECASE)
#: Text that is XHTML by definition.
_XHTML = frozenset({"div"})
#: Links to follow. Elsewhere an example's system is part of its meaning.
_LINKS = frozenset({"url", "valueUrl", "fullUrl", "reference"})


def check_texts(document: Document) -> None:
    """Check markdown, and other texts if the options ask for it."""
    options = document.options
    document.report.fired("texts", len(document.markdowns))
    for text, place in document.markdowns:
        match = _TAG.search(text)
        if match is not None and not options.security:
            level: Severity = "minor" if options.markdown_html else "major"
            document.add(level, "fhir.texts.markdown-html", place, "this markdown holds what looks like an HTML tag")
    if not options.security and options.example_urls:
        return
    for frame in document.frames:
        if frame.container is None and frame.bundle is None:
            _scan(document, frame.resource, frame.place)


def _scan(document: Document, resource: dict[str, Any], place: Place) -> None:
    waiting: list[tuple[Any, Place, str]] = [(resource, place, "")]
    while waiting:
        value, at, key = waiting.pop()
        if isinstance(value, dict):
            waiting.extend((inner, (at, document.named(name), None), name) for name, inner in value.items())
        elif isinstance(value, list):
            waiting.extend((inner, (at[0], at[1], index), key) for index, inner in enumerate(value))
        elif isinstance(value, str):
            _text(document, value, at, key)


def _text(document: Document, value: str, place: Place, key: str) -> None:
    options = document.options
    document.report.fired("texts")
    if options.security and key not in _XHTML and _TAG.search(value):
        document.add("major", "fhir.texts.html", place, "this text holds what looks like an HTML tag, which is not allowed here for security")
    if not options.example_urls and key in _LINKS and _EXAMPLE.match(value):
        document.add("major", "fhir.texts.example-url", place, "example URLs are not allowed here")
