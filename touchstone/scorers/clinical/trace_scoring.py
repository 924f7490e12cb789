"""Scores one trace of a synthetic patient: validates its documents, compares them, and summarises the scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from touchstone.schemas.result import Failure, Finding, Label, NotChecked, Scorecard, Severity
from touchstone.schemas.trace import CLINICAL_FORMATS, ClinicalFormat, ProductionTrace
from touchstone.scorers.clinical.checks.scores import (
    TERMINOLOGY_CHECKS,
    WEIGHTED,
    CheckScore,
    Dimension,
    bound_finding,
    bounded_score,
    dimension_score,
    overall_score,
    score_checks,
    worst,
)
from touchstone.scorers.clinical.consistency import Given, check_consistency
from touchstone.scorers.clinical.documents import DocumentValidator, Validated
from touchstone.scorers.clinical.file_entries import CONSISTENCY, FINDING_COUNTS, MUST_SUPPORT, SUPPRESSED, by_code, finding_at, gravest_first, in_order
from touchstone.scorers.clinical.format_detection import as_bytes, sniff
from touchstone.scorers.clinical.must_support import Coverage, merge
from touchstone.scorers.clinical.reading.line_numbers import with_lines
from touchstone.scorers.clinical.report import GRAVE, Context, Report
from touchstone.scorers.clinical.settings import ClinicalSettings, Limits
from touchstone.scorers.clinical.suppression import SuppressList
from touchstone.scorers.reporting.findings import bounded

#: Bounds of the findings, documents and rules in one result: a trace may hold a thousand documents, and its result must fit one event.
FINDINGS_MAX: Final = 500
DOCUMENTS_MAX: Final = 100
NOT_CHECKED_MAX: Final = 200

#: In the details: the best label that the documents allow, whatever the scores are.
LABEL_MAX: Final = "label_max"
#: Best label of a document → why.
WHY_BOUND: Final[Mapping[Label, str]] = {
    "Fail": "a document cannot be read",
    "Warn": "a document is not valid or has a critical finding",
    "unscored": "a document was not validated",
}


def score_trace(trace: ProductionTrace, validator: DocumentValidator, settings: ClinicalSettings) -> Scorecard:
    """Validate every document of a trace and score the trace.

    `values`, each 0–100: `format` and `terminology` of the trace (means over the documents that have them), their weighted `overall`, and the same for each
    format: `<format>_overall`, `<format>_format`, `<format>_terminology`. An `overall` never reads better than the label (`bounded_score`). The comparison
    of formats and persona is one more check of the trace's `format`, and not of a single document's. Paths begin with the document's place
    (`outputs.fhir/Patient.gender`). Dates are in the future if they are after the trace's own time, so that a replay gives the same findings. Never raises
    for what a trace holds; blocks if a terminology server is configured.
    """
    found: dict[ClinicalFormat, list[tuple[str, Validated]]] = {}
    given: list[Given] = []
    not_checked: list[NotChecked] = []
    for form in settings.formats:
        output = trace.outputs.of(form)
        documents = output.documents if output is not None else ()
        for number, content in enumerate(documents):
            place = f"outputs.{form}" if len(documents) == 1 else f"outputs.{form}[{number}]"
            found.setdefault(form, []).append((place, _validated(content, form, validator, trace)))
            given.append(Given(place, form, content))
        if output is not None and not documents:
            not_checked.append(NotChecked(check=form, reason=f'outputs.{form} has no content; the document goes under that key: {{"content": …}}'))
    unwanted = [form for form in CLINICAL_FORMATS if form not in settings.formats and trace.outputs.of(form) is not None]
    not_checked += [NotChecked(check=form, reason="this format is not among the settings' formats") for form in unwanted]
    every = [pair for pairs in found.values() for pair in pairs]
    if not every:
        return Scorecard(
            label="unscored",
            values={},
            failures=(Failure(component="outputs", kind="input", code="no_output"),),
            components_missing=("format", "terminology", "clinical"),
            not_checked=tuple(not_checked),
            attributes=_attributes(trace),
        )
    validated = [one for _, one in every]
    consistency = _consistency(given, trace, settings, validator.suppressions)
    label_max, why = _label_max(validated, consistency)
    values, missing = _values(validated, _score_of(consistency))
    bound = bound_finding(weighted := values.get("overall"), label_max, why)
    values, label = _bounded(values, label_max)
    for form, of_one_format in found.items():
        of_format = [one for _, one in of_one_format]
        bounded_values, _ = _bounded(_values(of_format)[0], worst(*(one.label_max for one in of_format)))
        values |= {f"{form}_{name}": value for name, value in bounded_values.items()}
    findings = _findings(bound, every, consistency, settings.limits)
    return Scorecard(
        label=label,
        values=values,
        findings=findings,
        components_missing=missing,
        not_checked=tuple([*not_checked, *in_order(consistency.not_checked), *_not_checked(every, settings.limits)][:NOT_CHECKED_MAX]),
        details={
            "documents": [_document_details(place, one, settings.limits) for place, one in every[:DOCUMENTS_MAX]],
            "documents_total": len(every),
            "valid": _valid(validated),
            LABEL_MAX: label_max,
            **({WEIGHTED: weighted} if bound else {}),
            FINDING_COUNTS: _counts(validated, consistency, bound),
            "findings_dropped": sum(one.report.total for one in validated) + consistency.total + len(bound) - len(findings),
            **_consistency_details(consistency),
            **_coverage_details(validated),
            **_suppressed_details([*(one.report for one in validated), consistency]),
        },
        attributes=_attributes(trace),
    )


def _validated(content: str | bytes | dict[str, Any], form: ClinicalFormat, validator: DocumentValidator, trace: ProductionTrace) -> Validated:
    """Validate one document as the format that the trace names."""
    data = as_bytes(content)
    looks_like = sniff(data)
    validated = validator.validate(data, form, at=_moment(trace), written=content)
    if looks_like not in (None, form):
        validated.report.skip(form, f"the content looks like {looks_like}, and was read as {form}, as the trace says")
    return validated


def _consistency(given: Sequence[Given], trace: ProductionTrace, settings: ClinicalSettings, suppressions: SuppressList) -> Report:
    """The report on contradictions between the formats of a trace, and its persona."""
    if not settings.consistency or (len({one.form for one in given}) < 2 and not trace.persona):
        return Report()
    report = check_consistency(given, trace.persona, Context(quote=settings.quote), at=_moment(trace))
    for one in given:
        beginning = f"{one.place}/"
        of_document = [number for number, finding in enumerate(report.findings) if finding.path.startswith(beginning)]
        placed = with_lines([report.findings[number] for number in of_document], one.content, one.form, beginning)
        for number, finding in zip(of_document, placed, strict=True):
            report.findings[number] = finding
    suppressions.apply(report)
    return report


def _score_of(consistency: Report) -> CheckScore | None:
    """The score of the comparison; None if nothing was compared."""
    return next(iter(score_checks(consistency)), None)


def _coverage_details(validated: Iterable[Validated]) -> dict[str, Any]:
    """The must-support elements of claimed profiles that the documents populate; empty if no profile at hand was claimed."""
    coverage: Coverage = {}
    for one in validated:
        merge(coverage, one.report.must_support)
    return {MUST_SUPPORT: coverage} if coverage else {}


def _suppressed_details(reports: Iterable[Report]) -> dict[str, Any]:
    """How many findings each entry of the list of known issues suppressed; empty if none did."""
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(report.suppressed)
    return {SUPPRESSED: dict(sorted(counts.items()))} if counts else {}


def _consistency_details(consistency: Report) -> dict[str, Any]:
    """The details of the comparison; empty if nothing was compared."""
    score = _score_of(consistency)
    return {} if score is None else {CONSISTENCY: {"score": score.score, "compared": score.rules_fired}}


def _moment(trace: ProductionTrace) -> datetime | None:
    """The trace's own time, in UTC if it has no offset, as the format of traces says."""
    moment = trace.timestamp
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _values(validated: Sequence[Validated], consistency: CheckScore | None = None) -> tuple[dict[str, float], tuple[Dimension, ...]]:
    """The dimensions' means over documents, their overall, and the missing dimensions. `consistency`: one more check of each document's format."""
    form = _mean(_format_score(one, consistency) for one in validated)
    terminology = _mean(one.scores.terminology for one in validated)
    overall, missing = overall_score(form, terminology, None)
    named = {"overall": overall, "format": form, "terminology": terminology}
    return {name: value for name, value in named.items() if value is not None}, missing


def _format_score(one: Validated, consistency: CheckScore | None) -> float | None:
    if consistency is None or one.scores.format is None or one.label_max == "Fail":
        return one.scores.format
    return dimension_score([*(check for check in one.scores.checks if check.name not in TERMINOLOGY_CHECKS), consistency])


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _bounded(values: dict[str, float], label_max: Label) -> tuple[dict[str, float], Label]:
    """The values with the overall score that findings allow, and its label."""
    overall, label = bounded_score(values.get("overall"), label_max)
    others = {name: value for name, value in values.items() if name != "overall"}
    return others if overall is None else {"overall": overall, **others}, label


def _label_max(validated: Sequence[Validated], consistency: Report) -> tuple[Label, str]:
    """The best label that the documents and their comparison allow, and the reason."""
    contradict = any(severity in GRAVE for _, severity in consistency.counts())
    label = worst("Warn" if contradict else "Pass", *(one.label_max for one in validated))
    return label, WHY_BOUND.get(label, "") if any(one.label_max == label for one in validated) else "documents or persona contradict each other"


def _findings(bound: Sequence[Finding], every: Iterable[tuple[str, Validated]], consistency: Report, limits: Limits) -> tuple[Finding, ...]:
    """The most severe findings of the comparison and of each document, and of these the most severe; at least one of each code."""
    found: list[Finding] = bounded(gravest_first(consistency.findings), limits.findings_max, _itself)
    for place, one in every:
        of_document = bounded(gravest_first(one.report.findings), limits.findings_max, _itself)
        found += [finding_at(finding, f"{place}/{finding.path}".removesuffix("/")) for finding in of_document]
    return tuple(bounded([*found, *bound], FINDINGS_MAX, _itself))


def _itself(finding: Finding) -> Finding:
    return finding


def _counts(validated: Iterable[Validated], consistency: Report, bound: Iterable[Finding]) -> dict[str, dict[Severity, int]]:
    """The number of findings of each code and severity, kept or not."""
    counts: Counter[tuple[str, Severity]] = Counter(consistency.counts())
    counts.update((finding.code, finding.severity) for finding in bound)
    for one in validated:
        counts.update(one.report.counts())
    return by_code(counts)


def _valid(validated: Iterable[Validated]) -> bool | None:
    """True if every document is valid, False if one is not; else None if one was not validated."""
    verdicts = {one.valid for one in validated}
    return False if False in verdicts else None if None in verdicts else True


def _not_checked(every: Iterable[tuple[str, Validated]], limits: Limits) -> Iterable[NotChecked]:
    """What was not checked, once each."""
    return dict.fromkeys(skipped for _, one in every for skipped in in_order(one.report.not_checked)[: limits.not_checked_max])


def _document_details(place: str, one: Validated, limits: Limits) -> dict[str, Any]:
    scores, report = one.scores, one.report
    dropped = report.dropped + max(0, len(report.findings) - limits.findings_max)
    return {
        "path": place,
        "format": one.format,
        "label": scores.label,
        "valid": one.valid,
        "scores": scores.values,
        "checks": {check.name: check.score for check in scores.checks},
        "rules_fired": {name: times for name, times in sorted(report.rules_fired.items()) if times},
        "findings_dropped": dropped,
    }


def _attributes(trace: ProductionTrace) -> dict[str, str | int | float | bool | None]:
    """The attributes by which results can be grouped."""
    return {"trace_id": trace.trace_id, "source": trace.source, "test_case_id": trace.test_case_id, "day": day_of(trace)}


def day_of(trace: ProductionTrace) -> str | None:
    """The day of the trace in UTC, which groups the reports of a stream without named batches."""
    moment = _moment(trace)
    try:
        return None if moment is None else moment.astimezone(UTC).date().isoformat()
    except OverflowError:  # the first or last day of the calendar, in another timezone
        return None
