"""What a file holds for the clinical judge: what it holds for the validators; requests are case JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from touchstone.schemas.result import Problem
from touchstone.scorers.base import Document, Found
from touchstone.scorers.clinical.requests.reading import traces_of

if TYPE_CHECKING:
    from touchstone.scorers.clinical.judging.settings import CoherenceSettings


def read(document: Document, settings: CoherenceSettings) -> Iterable[Found | Problem] | None:
    """The traces of a file, and a problem in place of each invalid one; None for a file of requests."""
    return traces_of(document, settings.validators, "judge_request")
