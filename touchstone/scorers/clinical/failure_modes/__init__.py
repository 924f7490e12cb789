"""Failure modes of generated personas: one question each, answered with pass or fail. See docs/failure-modes.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import Document, Found
from touchstone.scorers.clinical.batch import group
from touchstone.scorers.clinical.failure_modes.modes import MODES
from touchstone.scorers.clinical.failure_modes.settings import DOCUMENT_NAME, ENV_PREFIX, NAME, VERSION, FailureModeSettings, fingerprint, resolve
from touchstone.scorers.reporting import Column
from touchstone.scorers.suite import Suite

if TYPE_CHECKING:
    from touchstone.schemas.case import Case
    from touchstone.schemas.reading import CaseReading
    from touchstone.schemas.result import Problem, ScoreResult
    from touchstone.scorers.clinical.failure_modes.scorer import FailureModesScorer


def build(settings: FailureModeSettings) -> FailureModesScorer:
    """The scorer of the settings; its table loads with the first case."""
    from touchstone.scorers.clinical.failure_modes.scorer import FailureModesScorer

    return FailureModesScorer(settings)


def read(document: Document, settings: FailureModeSettings) -> Iterable[Found | Problem] | None:  # noqa: ARG001  # suites have one signature
    """The traces of a file, and a problem in place of each invalid one."""
    from touchstone.scorers.clinical import trace_files
    from touchstone.scorers.clinical.settings import ClinicalSettings

    return trace_files.read(document, ClinicalSettings())


def reading(case: Case | None, result: ScoreResult) -> CaseReading:
    """The question of each mode with its answer, then the patient's chart and documents, each finding at its place."""
    from touchstone.scorers.clinical.failure_modes.reading import read_modes

    return read_modes(case, result, SUITE.case_name(result))


SUITE = Suite(
    name=NAME,
    version=VERSION,
    title="Failure modes",
    topics=("traces",),
    cases={"trace": ProductionTrace},
    resolve=resolve,
    build=build,
    fingerprint=fingerprint,
    document_name=DOCUMENT_NAME,
    env_prefix=ENV_PREFIX,
    execution="window",
    read=read,
    # One a mode would be ten columns: the names of those that failed are in the column of reasons.
    columns=(Column("modes_passed", "Modes passed"),),
    metrics=("modes_passed", *MODES),
    reading=reading,
    group=group,
)

__all__ = ["MODES", "NAME", "SUITE", "VERSION", "FailureModeSettings", "build", "resolve"]
