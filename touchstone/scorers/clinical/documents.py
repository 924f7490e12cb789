"""Validates one document of any format: detects the format, runs its validator and scores the findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from touchstone.schemas.result import Label
from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.clinical.checks.code_tables import CodeTables
from touchstone.scorers.clinical.checks.scores import Scores, has_critical, is_validated, score_report
from touchstone.scorers.clinical.format_detection import as_bytes, sniff
from touchstone.scorers.clinical.formats import ccda, fhir, hl7v2
from touchstone.scorers.clinical.reading.line_numbers import with_lines
from touchstone.scorers.clinical.report import GRAVE, Context, Report, now_utc
from touchstone.scorers.clinical.settings import ClinicalSettings
from touchstone.scorers.clinical.validator_options import ccda_options, check_packages, check_rules, fhir_options, hl7v2_profiles, membership_source

#: The clock of a document is set to one of these years.
YEAR_MIN, YEAR_MAX = 1900, 9000
#: Checks whose findings mean that an HL7 v2 message breaks its version; the other checks are of its content.
_HL7V2_CONFORMANCE: Final = frozenset({"structure", "data_types", "valuesets", "observations", "profile"})
#: Codes of content checks that also mean a broken data type: a malformed date or time.
_HL7V2_MALFORMED: Final = frozenset({"datetimes.malformed", "datetimes.calendar"})
#: Requirements of the specification that no version of HL7 v2 has: the authority of a patient's identifier, a name with some part.
_HL7V2_BEYOND: Final = frozenset({"data_types.cx-authority", "data_types.xpn-name"})
#: Codes for a document, or a part of it (a line of NDJSON, a message of a batch), that could not be read; the rest is still validated.
_UNREAD: Final = frozenset({
    "fhir.json.syntax", "fhir.json.encoding", "fhir.json.object", "structure.field-separator", "structure.encoding-characters", "structure.cut",
    "ccda.xml.syntax", "ccda.xml.encoding", "ccda.xml.doctype", "ccda.xml.root",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Validated:
    """The findings of one document.

    `format`: None if it was not recognised. `valid`: True if the document keeps every mandatory rule of its standard, whatever its score; None if
    no rule was applied. `label_max`: the best label that the findings allow, because means hide single faults: Fail if the document, or a part of it,
    cannot be read, Warn if it is not valid or has a critical finding, `unscored` if nothing was validated.
    """

    format: ClinicalFormat | None
    report: Report
    scores: Scores
    valid: bool | None
    label_max: Label


class DocumentValidator:
    """Validates documents with one set of settings; safe to share between threads. Raises `ConfigError` for settings that cannot be used."""

    def __init__(self, settings: ClinicalSettings | None = None, *, now: Callable[[], datetime] = now_utc) -> None:
        settings = settings or ClinicalSettings()
        self._source = membership_source(settings.terminology)
        self._options = fhir_options(settings, self._source)
        check_packages(self._options)
        self._ccda = ccda_options(settings, self._source)
        check_rules(self._ccda)
        self._hl7v2_profiles = hl7v2_profiles(settings)
        self._context = Context(now, quote=settings.quote)
        self.suppressions = settings.suppressions

    @property
    def asks_others(self) -> bool:
        """True if a validation may wait for a terminology server."""
        return self._source is not None and not isinstance(self._source, CodeTables)

    def validate(
        self,
        content: bytes | str | dict[str, Any],
        form: ClinicalFormat | None = None,
        *,
        at: datetime | None = None,
        written: str | dict[str, Any] | bytes | None = None,
    ) -> Validated:
        """Validate one document, and detect its format if it is not given.

        `at`: dates after this moment are in the future. `written`: the document as it was given, if `content` was made from that; findings name its lines.
        Findings have the line and column of their place. Never raises for what a document holds. May block if a terminology server is configured.
        """
        validated = self._validated(content, form, at)
        report, of_format = validated.report, validated.format
        if report.findings and of_format is not None:
            report.findings[:] = with_lines(report.findings, content if written is None else written, of_format)
        return validated

    def _validated(self, content: bytes | str | dict[str, Any], form: ClinicalFormat | None, at: datetime | None) -> Validated:
        data = as_bytes(content)
        form = form or sniff(data)
        moment = None if at is None else _clamped(at)
        context = self._context if moment is None else replace(self._context, now=lambda: moment)
        if form == "fhir":
            report = fhir.validate(data, context, self._options)
            self._suppress(report, form)
            return _judged(form, report, fhir.is_valid)
        if form == "hl7v2":
            report = hl7v2.validate(data, context, source=self._source, profiles=self._hl7v2_profiles)
            self._suppress(report, form)
            return _judged(form, report, _conforms)
        if form == "ccda":
            report = ccda.validate(data, context, self._ccda)
            was_validated = ccda.was_validated(report)
            self._suppress(report, form)
            return _judged(form, report, ccda.is_valid, validated=was_validated)
        report = Report()
        report.skip("format", "the document is recognised neither as FHIR, nor as HL7 v2, nor as C-CDA")
        return Validated(form, report, score_report(report), None, "unscored")

    def _suppress(self, report: Report, form: ClinicalFormat) -> None:
        """Take known issues out of a report. A suppressed finding about a part that could not be read leaves a note, because nobody checked that part."""
        unread = _has_unread(report)
        self.suppressions.apply(report)
        if unread and not _has_unread(report):
            report.skip(form, "a part of the document could not be read; the suppress list hides the finding with its place")


def _clamped(at: datetime) -> datetime:
    """A moment in a year from which days can be counted in both directions; a trace's time may be any."""
    return at if YEAR_MIN <= at.year <= YEAR_MAX else at.replace(year=min(max(at.year, YEAR_MIN), YEAR_MAX), month=1, day=1)


def _judged(form: ClinicalFormat, report: Report, conforms: Callable[[Report], bool], *, validated: bool | None = None) -> Validated:
    """The scores and the verdict of a report. `validated`: True if rules of the format fired; None if any rule counts as one."""
    if validated is None:
        validated = is_validated(report)
    valid = conforms(report) if validated else None
    label_max: Label = "unscored" if not validated else "Warn" if valid is False or has_critical(report) else "Pass"
    # A critical finding before any rule could fire: there was nothing to apply rules to.
    if _has_unread(report) or (has_critical(report) and not is_validated(report)):
        label_max = "Fail"
    return Validated(form, report, score_report(report, validated=validated, label_max=label_max), valid, label_max)


def _has_unread(report: Report) -> bool:
    """True if the document, or a part of it, could not be read."""
    return any(code in _UNREAD and severity == "critical" for code, severity in report.counts())


def _conforms(report: Report) -> bool:
    """True if an HL7 v2 document meets all requirements of its version and declared profile."""
    broken = {code for code, severity in report.counts() if severity in GRAVE} - _HL7V2_BEYOND
    return not any(code in _HL7V2_MALFORMED or code.partition(".")[0] in _HL7V2_CONFORMANCE for code in broken)
