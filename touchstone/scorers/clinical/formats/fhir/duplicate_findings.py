"""One finding per fault: of several findings about the same fault, only the gravest is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.clinical.formats.fhir.document import breaking
from touchstone.scorers.clinical.formats.fhir.fault_families import FAMILIES, INVARIANTS, MISSING, PROFILES, REQUIRES, SLICE_MISSING
from touchstone.scorers.clinical.report import Report

_GRAVITY = {"critical": 0, "major": 1, "minor": 2, "info": 3}


class _Counted(NamedTuple):
    code: str
    severity: Severity
    path: str
    suggestion: str | None


def drop_duplicates(report: Report, since: int, beyond: Sequence[tuple[str, Severity, str, str | None]] = ()) -> None:
    """Drop findings, from index `since` on, that repeat a graver one, or an earlier one of the same gravity.

    `beyond`: code, severity, path and suggestion of findings that were counted but not kept; duplicates among them leave the totals too.
    """
    new = report.findings[since:]
    if len(new) + len(beyond) < 2 or len(report.findings) >= report.findings_max:
        return
    every: list[Finding | _Counted] = [*new, *(_Counted(*one) for one in beyond)]
    duplicates = {id(one): one for family, below in FAMILIES for one in _milder([one for one in every if one.code in family], below=below)}
    sliced = {one.path for one in every if one.code == SLICE_MISSING and "?" not in one.path}
    duplicates |= {id(one): one for one in every if one.code == MISSING and one.path in sliced}
    required = {f"{one.path}.{REQUIRES[one.code]}" for one in every if one.code in REQUIRES and "?" not in one.path}
    duplicates |= {id(one): one for one in every if one.code == MISSING and one.path in required}
    duplicates |= {id(one): one for one in _repeated_requirements(one for one in every if id(one) not in duplicates)}
    if duplicates:
        report.findings[since:] = [one for one in new if id(one) not in duplicates]
        for one in duplicates.values():
            if isinstance(one, _Counted):
                report.beyond[one.code, one.severity] -= 1
        report.beyond += type(report.beyond)()  # removes entries whose count is 0


def _repeated_requirements(findings: Iterable[Finding | _Counted]) -> Iterator[Finding | _Counted]:
    """Findings that require what an earlier one, of another profile, requires at the same place."""
    required: set[tuple[str, str, str | None]] = set()
    for finding in findings:
        is_constraint = finding.code.startswith(INVARIANTS)
        if "?" in finding.path or not (is_constraint or (finding.suggestion is not None and finding.code.startswith(PROFILES))):
            continue
        key = (finding.code, finding.path, None if is_constraint else finding.suggestion)
        if key in required:
            yield finding
        required.add(key)


def _milder(findings: list[Finding | _Counted], *, below: bool) -> Iterator[Finding | _Counted]:
    """Findings of one family that are not the gravest at their place (`below`: nor at a place around it)."""
    if len({one.code for one in findings}) < 2:
        return
    kept: set[str] = set()
    around: set[str] = set()
    for finding in sorted(findings, key=lambda one: (not breaking(one.code, one.severity), _GRAVITY[one.severity])):
        if "?" in finding.path:
            continue  # Names that may not be shown are all "?", so equal paths may be different places.
        places = list(_enclosing(finding.path)) if below else [finding.path]
        if finding.path in around or not kept.isdisjoint(places):
            yield finding
        else:
            kept.add(finding.path)
            around.update(places)


def _enclosing(path: str) -> Iterator[str]:
    """A path, then the paths of the elements around it."""
    while path:
        yield path
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
