"""What a file holds for a slower stage: the traces that the validators would find in it; requests are case JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from touchstone.schemas.result import Problem
from touchstone.scorers.base import Document, Found
from touchstone.scorers.clinical import trace_files as of_validators


def traces_of(document: Document, settings: Any, kind: str) -> Iterable[Found | Problem] | None:
    """The traces of a file, and a problem in place of each invalid one; None for a file of requests of this kind. `settings`: name the formats."""
    if f'"{kind}"'.encode() in document.data and not of_validators.looks_like_traces(document.data):
        return None
    return of_validators.read(document, settings)
