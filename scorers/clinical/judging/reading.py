"""What a file holds for the clinical judge: what it holds for the validators; requests are case JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from touchstone.schemas.result import Problem
from touchstone.scorers.base import Document, Found
from touchstone.scorers.clinical import reading as of_validators

if TYPE_CHECKING:
    from touchstone.scorers.clinical.judging.settings import CoherenceSettings


def read(document: Document, settings: CoherenceSettings) -> Iterable[Found | Problem] | None:
    """The traces of a file, and a problem in place of each invalid one; None for a file of requests."""
    if b'"judge_request"' in document.data and not of_validators.looks_like_traces(document.data):
        return None
    return of_validators.read(document, settings.validators)
