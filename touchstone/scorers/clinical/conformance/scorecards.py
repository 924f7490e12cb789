"""The scorecard of one trace from the verdicts of external validators on its documents, without text of the documents.

A document without errors scores 100, one with errors 0, and a format the mean of its documents. A missing verdict is missing, and never a zero.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from touchstone.schemas.conformance import ConformanceFormat
from touchstone.schemas.result import Failure, Finding, Label, NotChecked, Scorecard, Severity
from touchstone.scorers.clinical.conformance.not_known import as_not_checked
from touchstone.scorers.clinical.conformance.service import Undecided
from touchstone.scorers.operation_outcome import SEVERITIES, Issue, Outcome
from touchstone.scorers.reporting.findings import bounded

VALIDATORS: Final[Mapping[ConformanceFormat, str]] = {"fhir": "HL7 FHIR validator", "ccda": "ONC C-CDA validator"}
#: The value of a format; also the name under which it is missing.
VALUE: Final = "{}_conformant"
#: The reason of a document whose format has no service.
OFF: Final = "off"
FINDINGS_MAX: Final = 500
DOCUMENT_FINDINGS_MAX: Final = 100
_SEVERITIES: Final[Mapping[str, Severity]] = {"fatal": "critical", "error": "major", "warning": "minor"}
_WITHHELD: Final = "an issue of the {}; its text is not shown, because it may quote the document"
_TEXT_CHARS_MAX: Final = 500
#: A comment in a FHIR path: the type and id of a resource.
_ID: Final = re.compile(r"/\*.*?\*/")
#: The beginning of a place that has only elements, positions and slices: the rest may quote the document.
_PLACE: Final = re.compile(r"[\w.:/@\[\]-]{0,300}(?: \d{1,11}\Z)?")
#: A validator's message id, which cannot hold text of the document.
_CODE: Final = re.compile(r"[A-Za-z0-9_.:^@/#-]{1,120}\Z")


@dataclass(frozen=True, slots=True)
class Missing:
    """The reason why a document was not validated. `failure`: set if a configured service did not answer."""

    reason: str
    why: str
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class DocumentVerdict:
    """The verdict on one document, or why there is none. `place`: its place in the trace."""

    place: str
    format: ConformanceFormat
    verdict: Outcome | Undecided | Missing


def compose(documents: Sequence[DocumentVerdict], attributes: Mapping[str, Any], not_checked: Sequence[NotChecked], *, quote: bool) -> Scorecard:
    """The scorecard of one trace. `values`, each 0–100: `conformant`, and `<format>_conformant` for each format with a verdict."""
    forms = list(dict.fromkeys(one.format for one in documents))
    decided = {form: [one.verdict for one in documents if one.format == form and isinstance(one.verdict, Outcome)] for form in forms}
    every = [outcome for outcomes in decided.values() for outcome in outcomes]
    values = {VALUE.format(form): _mean(outcomes) for form, outcomes in decided.items() if outcomes}
    findings = [finding for one in documents for finding in findings_of(one, quote=quote)]
    failures = dict.fromkeys(one.verdict.failure for one in documents if isinstance(one.verdict, Missing) and one.verdict.failure is not None)
    return Scorecard(
        label=_label(every),
        values={"conformant": _mean(every), **values} if every else {},
        findings=tuple(bounded(findings, FINDINGS_MAX, lambda finding: finding)),
        failures=tuple(failures),
        components_missing=tuple(VALUE.format(form) for form in forms if not decided[form]) or (() if forms else ("conformant",)),
        not_checked=(*not_checked, *(skipped for one in documents for skipped in _not_checked(one))),
        details={
            "documents": [_details(one) for one in documents],
            "counts": {form: _counts(outcomes) for form, outcomes in decided.items() if outcomes},
        },
        attributes=dict(attributes),
    )


def _not_checked(one: DocumentVerdict) -> list[NotChecked]:
    """What the validator of a document could not know; the whole document if no service is configured for it."""
    if isinstance(one.verdict, Outcome):
        return as_not_checked(one.place, one.verdict)
    return [NotChecked(check=one.place, reason=one.verdict.why)] if one.verdict.reason == OFF else []


def findings_of(one: DocumentVerdict, *, quote: bool) -> list[Finding]:
    """The issues of one document, most severe first; without a verdict, one finding of severity info that says why."""
    verdict = one.verdict
    if not isinstance(verdict, Outcome):
        return [Finding(severity="info", code=f"conformance.{one.format}.{verdict.reason}", path=one.place, message=f"no verdict: {verdict.why}")]
    grave = sorted((issue for issue in verdict.issues if issue.severity in _SEVERITIES), key=lambda issue: SEVERITIES.index(issue.severity))
    found = [_finding(one, issue, quote=quote) for issue in grave]
    if verdict.uncounted:
        message = f"{verdict.uncounted} more errors are counted by the {VALIDATORS[one.format]}, and not listed"
        found.append(Finding(severity="major", code=f"conformance.{one.format}.not_listed", path=one.place, message=message))
    return bounded(found, DOCUMENT_FINDINGS_MAX, lambda finding: finding)


def _finding(one: DocumentVerdict, issue: Issue, *, quote: bool) -> Finding:
    at = _PLACE.match(_ID.sub("", issue.location))
    place = (at[0] if at is not None else "").strip("/")
    code = issue.code if _CODE.match(issue.code) else "other"
    words = " ".join(issue.text.split())[:_TEXT_CHARS_MAX] if quote else ""
    return Finding(
        severity=_SEVERITIES[issue.severity],
        code=f"conformance.{one.format}.{code}",
        path=f"{one.place}/{place}".strip("/"),
        message=words or _WITHHELD.format(VALIDATORS[one.format]),
    )


def _mean(outcomes: Sequence[Outcome]) -> float:
    return 100.0 * sum(outcome.valid for outcome in outcomes) / len(outcomes)


def _label(outcomes: Sequence[Outcome]) -> Label:
    """Fail with an error, Warn with a warning; documents without a verdict do not count."""
    if not outcomes:
        return "unscored"
    if not all(outcome.valid for outcome in outcomes):
        return "Fail"
    return "Warn" if any(outcome.counts()["warning"] for outcome in outcomes) else "Pass"


def _counts(outcomes: Sequence[Outcome]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for outcome in outcomes:
        total.update(outcome.counts())
    return {severity: total[severity] for severity in ("error", "warning", "information")}


def _details(one: DocumentVerdict) -> dict[str, Any]:
    details = {"path": one.place, "format": one.format, "validator": VALIDATORS[one.format]}
    if not isinstance(one.verdict, Outcome):
        return {**details, "valid": None, "reason": one.verdict.reason}
    return {**details, "valid": one.verdict.valid, **one.verdict.counts(), "not_known": len(one.verdict.not_known)}
