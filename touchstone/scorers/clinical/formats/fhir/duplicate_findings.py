"""One fault, one finding: where several rules see the same fault, the gravest of their findings stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.clinical.formats.fhir.document import breaking
from touchstone.scorers.clinical.formats.fhir.fault_families import FAMILIES, INVARIANTS, MISSING, PROFILES, SLICE_MISSING
from touchstone.scorers.clinical.report import Report

_GRAVITY = {"critical": 0, "major": 1, "minor": 2, "info": 3}


@dataclass(frozen=True, slots=True)
class _Counted:
    """A finding that was counted and not kept."""

    code: str
    severity: Severity
    path: str
    suggestion: str | None


def fold(report: Report, since: int, counted: Sequence[tuple[str, Severity, str, str | None]] = ()) -> None:
    """Drop, of the findings from a number on, those that tell of a fault that a graver one tells of, or one before it that is as grave.

    `counted`: code, severity, place and suggestion of those that were counted and not kept, so that the totals hold no double either.
    """
    new = report.findings[since:]
    if len(new) + len(counted) < 2 or len(report.findings) >= report.findings_max:
        return
    every: list[Finding | _Counted] = [*new, *(_Counted(*one) for one in counted)]
    doubles = {id(one): one for family, below in FAMILIES for one in _doubles([one for one in every if one.code in family], below=below)}
    sliced = {one.path for one in every if one.code == SLICE_MISSING and "?" not in one.path}
    doubles |= {id(one): one for one in every if one.code == MISSING and one.path in sliced}
    doubles |= {id(one): one for one in _asked_again(one for one in every if id(one) not in doubles)}
    if doubles:
        report.findings[since:] = [one for one in new if id(one) not in doubles]
        for one in doubles.values():
            if isinstance(one, _Counted):
                report.beyond[one.code, one.severity] -= 1
        report.beyond += type(report.beyond)()  # a count of none is no entry


def _asked_again(findings: Iterable[Finding | _Counted]) -> Iterator[Finding | _Counted]:
    """The findings that ask for what an earlier one asks for at the same place, of another profile."""
    asked: set[tuple[str, str, str | None]] = set()
    for finding in findings:
        is_constraint = finding.code.startswith(INVARIANTS)
        if "?" in finding.path or not (is_constraint or (finding.suggestion is not None and finding.code.startswith(PROFILES))):
            continue
        key = (finding.code, finding.path, None if is_constraint else finding.suggestion)
        if key in asked:
            yield finding
        asked.add(key)


def _doubles(findings: list[Finding | _Counted], *, below: bool) -> Iterator[Finding | _Counted]:
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


def _rank(finding: Finding | _Counted) -> tuple[bool, int]:
    return not breaking(finding.code, finding.severity), _GRAVITY[finding.severity]


def _around(path: str) -> Iterator[str]:
    """A path, and the paths of what it lies in."""
    while path:
        yield path
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
