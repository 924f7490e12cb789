"""Reads an earlier JSON report of a suite, to compare with it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter, ValidationError

from touchstone.ops.reports.comparing import Reported
from touchstone.schemas.reports.suite import SuiteReportDocument
from touchstone.scorers.base import ConfigError
from touchstone.scorers.json_documents import read_bounded
from touchstone.scorers.reporting.report import case_view
from touchstone.scorers.reporting.view import CaseView
from touchstone.scorers.suite import Suite

#: A report is read into memory.
REPORT_BYTES_MAX: Final = 512 * 1024 * 1024


def read_report(path: Path, suite: Suite) -> Reported:
    """The report's cases, and what scored them. Raises `ConfigError` if it is no JSON report of this suite."""
    from touchstone.ops.contracts.documents import report_type

    form = report_type(suite)
    if form is Any:
        raise ConfigError(f"--against {path}: the JSON reports of {suite.name} have a form of their own that the suite does not declare (report_model)")
    text = read_bounded(
        path,
        REPORT_BYTES_MAX,
        named="--against ",
        remedy="name a report that was written with --format json",
        too_large="compare smaller reports, or batches in the store",
    )
    try:
        document = TypeAdapter(form).validate_json(text)
    except ValidationError:
        raise ConfigError(f"--against {path}: is no JSON report of {suite.name}; name one that was written with --format json") from None
    named = getattr(document, "suite", suite.name)
    if named != suite.name:
        raise ConfigError(f"--against {path}: is a report of {named}, not of {suite.name}; name one of the same suite")
    return Reported(str(path), _cases(document, suite), getattr(document, "suite_version", ""), getattr(document, "config_digest", ""))


def reported(report: Any, suite: Suite) -> Reported:
    """A report as one side of a comparison."""
    view = suite.view(report)
    return Reported(view.title, view.cases, view.suite_version, view.config_digest)


def _cases(document: Any, suite: Suite) -> Iterable[CaseView]:
    """The cases of a JSON report. If a suite's own report is a model, its JSON is that model."""
    if suite.reported_cases is not None:
        return suite.reported_cases(document)
    if isinstance(document, SuiteReportDocument):
        return (case_view(result, suite) for result in document.results)
    return suite.view(document).cases if isinstance(document, BaseModel) else ()
