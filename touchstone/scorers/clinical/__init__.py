"""Clinical evaluation of generated patients: FHIR R4, HL7 v2 and C-CDA validated, scored 0–100. See docs/clinical.md.

Importing this package loads no table; building a scorer, or validating a document, does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from touchstone.schemas.reports.clinical import ClinicalEvent, WrittenEntry
from touchstone.schemas.trace import ClinicalFormat, ProductionTrace
from touchstone.scorers.clinical import batch, checkup, layout, samples, trace_files
from touchstone.scorers.clinical.patient import identity_of
from touchstone.scorers.clinical.settings import DOCUMENT_NAME, ENV_PREFIX, NAME, VERSION, ClinicalSettings, fingerprint, resolve
from touchstone.scorers.suite import Suite

if TYPE_CHECKING:
    from touchstone.schemas.case import Case
    from touchstone.schemas.reading import CaseReading
    from touchstone.schemas.result import ScoreResult
    from touchstone.scorers.clinical.documents import Validated
    from touchstone.scorers.clinical.scorer import ClinicalScorer


METRICS = ("overall", "format", "terminology", *(f"{form}_{name}" for form in ("fhir", "hl7v2", "ccda") for name in ("overall", "format", "terminology")))


def build(settings: ClinicalSettings) -> ClinicalScorer:
    """Build the scorer of the settings; tables load when they are first needed. Raises `ConfigError`."""
    from touchstone.scorers.clinical.scorer import ClinicalScorer

    return ClinicalScorer(settings)


def hands_on(settings: ClinicalSettings) -> tuple[str, ...]:
    """The slower stages that receive requests, by the roles of their topics."""
    return (*(("judge",) if settings.judge.requests else ()), *(("conformance",) if settings.conformance.requests else ()))


def validate_document(content: bytes | str | dict[str, Any], form: ClinicalFormat | None = None, settings: ClinicalSettings | None = None) -> Validated:
    """Validate one FHIR R4, HL7 v2 or C-CDA document: findings, rules fired, what was not checked, scores 0–100, label.

    The format is detected if it is not given. To validate many, keep one `touchstone.scorers.clinical.documents.DocumentValidator`.
    Never raises for what the document holds; raises `ConfigError` for settings that cannot be used.
    """
    from touchstone.scorers.clinical.documents import DocumentValidator

    return DocumentValidator(settings).validate(content, form)


def reading(case: Case | None, result: ScoreResult) -> CaseReading:
    """How a trace reads beside its result: prompt, scores, findings, the patient's chart, and the documents with each finding at its place."""
    from touchstone.scorers.clinical.reading.case_reading import read_case

    return read_case(case, result, SUITE.case_name(result))


SUITE = Suite(
    name=NAME,
    version=VERSION,
    title="Clinical",
    topics=("traces",),
    cases={"trace": ProductionTrace},
    resolve=resolve,
    build=build,
    fingerprint=fingerprint,
    document_name=DOCUMENT_NAME,
    env_prefix=ENV_PREFIX,
    hands_on=hands_on,
    execution="processes",
    window_cases=256,
    read=trace_files.read,
    by_file=True,
    columns=batch.COLUMNS,
    metrics=METRICS,
    value_max=100.0,
    group=batch.group,
    report=batch.report,
    verdict=batch.verdict,
    view=batch.view,
    event_model=ClinicalEvent,
    report_model=list[WrittenEntry],
    reported_cases=batch.cases_of,
    layouts={"console": layout.console_pieces, "json": batch.json_pieces},
    patient=identity_of,
    reading=reading,
    samples=samples.samples,
    doctor=checkup.doctor,
)

__all__ = ["METRICS", "NAME", "SUITE", "VERSION", "ClinicalSettings", "build", "fingerprint", "resolve", "validate_document"]
