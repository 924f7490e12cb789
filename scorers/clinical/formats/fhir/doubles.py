"""One fault, one finding: where several rules see the same fault, the gravest of their findings stays."""

from __future__ import annotations

from collections.abc import Iterator

from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.formats.fhir.document import breaking
from touchstone.scorers.clinical.report import Report

#: Codes outside the element's value set, the profile's, the specification's, and of their code system.
CODES = frozenset({
    "fhir.bindings.required", "fhir.bindings.status", "fhir.bindings.us-core", "fhir.codings.case", "fhir.codings.unknown", "fhir.profiles.binding",
    "fhir.profiles.binding-extensible", "valuesets.code",
})  # fmt: skip
NPIS = frozenset({"fhir.invariants.us-core-16", "fhir.invariants.us-core-17", "identifiers.npi-form", "identifiers.npi-check-digit"})
ABSENT = frozenset({"fhir.structure.missing", "fhir.profiles.missing"})
#: Findings of one fault: where one stands at the place of the other, or (True) also below it.
FAMILIES = ((CODES, True), (NPIS, True), (ABSENT, False))
_GRAVITY = {"critical": 0, "major": 1, "minor": 2, "info": 3}


def fold(report: Report, since: int) -> None:
    """Drop, of the findings from a number on, those that tell of a fault that a graver one tells of, or one before it that is as grave."""
    new = report.findings[since:]
    if len(new) < 2 or len(report.findings) >= report.findings_max:
        return
    doubles = {id(one) for family, below in FAMILIES for one in _doubles([finding for finding in new if finding.code in family], below=below)}
    if doubles:
        report.findings[since:] = [one for one in new if id(one) not in doubles]


def _doubles(findings: list[Finding], *, below: bool) -> Iterator[Finding]:
    """The findings of one family that are not the gravest of their place."""
    if len({one.code for one in findings}) < 2:
        return
    kept: set[str] = set()
    around: set[str] = set()
    for finding in sorted(findings, key=_rank):
        places = list(_around(finding.path)) if below else [finding.path]
        if "?" in finding.path:
            continue  # A name that cannot be shown is ? in a path, so two equal paths may be of two places.
        if finding.path in around or not kept.isdisjoint(places):
            yield finding
        else:
            kept.add(finding.path)
            around.update(places)


def _rank(finding: Finding) -> tuple[bool, int]:
    return not breaking(finding.code, finding.severity), _GRAVITY[finding.severity]


def _around(path: str) -> Iterator[str]:
    """A path, and the paths of what it lies in."""
    while path:
        yield path
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
