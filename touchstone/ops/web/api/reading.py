"""The reading of a kept case beside one of its results."""

from collections.abc import Mapping

import orjson
from pydantic import ValidationError

from touchstone.ops.web.suite_documents import suite_or_placeholder
from touchstone.schemas.case import Case, validate_case
from touchstone.schemas.reading import CaseReading
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.suite import Suite
from touchstone.scorers.suite_settings import reading_here


def case_of(document: bytes, kind: str, suites: Mapping[str, Suite], suite: str) -> Case | None:
    """The case of a kept event; None if the suite is not installed here, or cannot read it."""
    installed = suites.get(suite)
    model = installed.cases.get(kind) if installed is not None else None
    if model is None:
        return None
    try:
        read = orjson.loads(document)
        return validate_case(model, read) if isinstance(read, dict) else None
    except (orjson.JSONDecodeError, ValidationError, RecursionError):
        return None


def reading_of(case: Case | None, result: ScoreResult, suites: Mapping[str, Suite], *, has_right: bool) -> CaseReading:
    """The suite's reading, with every text blocked out if the client has no right to it."""
    reading = reading_here(suite_or_placeholder(suites, result.suite), case, result)
    return reading if has_right else reading.without_text()
