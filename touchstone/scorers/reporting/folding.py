"""Folds equal findings into one line with a count, and counts findings by code over many cases."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.reporting.findings import LABEL_BOUND, SEVERITIES, SEVERITY_COLOURS, bounded, place_of
from touchstone.scorers.reporting.view import CaseView, Table
from touchstone.scorers.reporting.words import counted, visible

#: Places that one line names; further ones are counted.
PLACES_MAX: Final = 3
#: Most codes that one run counts; a suite has some hundreds.
CODES_MAX: Final = 5_000
#: Title of the table of codes; a format that lists codes with their places leaves the table out.
FINDINGS_BY_CODE: Final = "Findings by code"
Counts = Mapping[str, Mapping[Severity, int]]


@dataclass(slots=True)
class Folded:
    """Equal findings: how many, and the places of the first ones: path, line and column. `unlisted`: how many more findings of the code there are."""

    finding: Finding
    times: int = 0
    places: list[str] = field(default_factory=list)
    unlisted: int = 0

    @property
    def where(self) -> str:
        """The first places, and how many more there are; empty for a finding about the whole document."""
        more = f" and {self.times - len(self.places)} more" if self.places and self.times > len(self.places) else ""
        return f"{', '.join(visible(place) for place in self.places)}{more}"

    @property
    def what(self) -> str:
        """The message, and how often it occurs if the places do not show it."""
        message = visible(self.finding.message) or visible(self.finding.code)
        times = f" ({self.times} times)" if self.times > max(1, len(self.places)) else ""
        return f"{message}{times}{f' (and {self.unlisted} more of this code)' if self.unlisted else ''}"

    @property
    def line(self) -> str:
        """Places and message in one line, without control characters."""
        return f"{self.where}: {self.what}" if self.places else self.what


def folded(findings: Iterable[Finding], counts: Counts | None = None, *, with_info: bool = False, file: str = "") -> list[Folded]:
    """The findings, the most severe first, equal ones folded into one.

    `counts`: how many there are of each code, listed or not. `file`: that lines and columns are of, for places like `bundle.json:4:13`.
    """
    by_text: dict[tuple[str, str, str, str | None], Folded] = {}
    of_code: Counter[tuple[str, Severity]] = Counter()
    for finding in findings:
        if finding.severity == "info" and finding.code != LABEL_BOUND and not with_info:
            continue
        of_code[finding.code, finding.severity] += 1
        one = by_text.setdefault((finding.severity, finding.code, finding.message, finding.suggestion), Folded(finding))
        one.times += 1
        if len(one.places) < PLACES_MAX and finding.path:
            one.places.append(place_of(finding, file))
    lines = sorted(by_text.values(), key=lambda one: SEVERITIES.index(one.finding.severity))
    # The number of unlisted findings goes to the last line of their code; without such a line it gets its own.
    every = ((code, severity, times) for code, totals in (counts or {}).items() for severity, times in totals.items())
    left = {(code, severity): times for code, severity, times in every if times > 0 and (with_info or severity != "info" or code == LABEL_BOUND)}
    for one in reversed(lines):
        key = (one.finding.code, one.finding.severity)
        if (listed := of_code.pop(key, None)) is not None:
            one.unlisted = max(0, left.pop(key, 0) - listed)
    lines += [Folded(Finding(severity=severity, code=code, path="", message=code), unlisted=times) for (code, severity), times in left.items()]
    return sorted(lines, key=lambda one: SEVERITIES.index(one.finding.severity)) if left else lines


def folded_case(case: CaseView, most: int, *, with_info: bool = False) -> tuple[list[Folded], int]:
    """The findings of a case in at most `most` lines, at least one of each code, and how many findings these lines leave out."""
    lines = folded(case.findings, case.finding_counts, with_info=with_info)
    shown = chosen(lines, most)
    unlisted = 0 if case.finding_counts else case.findings_dropped
    return shown, count_of(lines) - count_of(shown) + unlisted


def chosen(lines: Sequence[Folded], most: int) -> list[Folded]:
    """The most severe lines, at least one of each code."""
    return bounded(lines, most, lambda one: one.finding)


def lines_by_severity(lines: Sequence[Folded], paint: Callable[[str, str], str]) -> Iterator[str]:
    """A heading for each severity that occurs, and below it the findings with their suggestions. `paint(text, colour)` colours a heading."""
    for severity in SEVERITIES:
        of_severity = [one for one in lines if one.finding.severity == severity]
        if of_severity:
            yield paint(f"  {severity.capitalize()}:", SEVERITY_COLOURS[severity])
        for one in of_severity:
            yield f"    • {one.line}"
            if one.finding.suggestion:
                yield f"      Suggestion: {visible(one.finding.suggestion)}"


def count_of(lines: Sequence[Folded]) -> int:
    """How many findings the lines represent."""
    return sum(one.times + one.unlisted for one in lines)


def counts_of(case: CaseView) -> Counts:
    """Code → severity → findings of a case."""
    return case.finding_counts or counts_by_code(case.findings)


def counts_by_code(findings: Iterable[Finding]) -> dict[str, dict[Severity, int]]:
    """Code → severity → number of findings."""
    counts: dict[str, dict[Severity, int]] = {}
    for finding in findings:
        of_code = counts.setdefault(finding.code, {})
        of_code[finding.severity] = of_code.get(finding.severity, 0) + 1
    return counts


def severities_text(counts: Counts, *, with_info: bool = False) -> str:
    """`1 critical, 2 major`; empty if there is none."""
    totals: Counter[Severity] = Counter()
    for severities in counts.values():
        totals.update(severities)
    return ", ".join(f"{totals[severity]} {severity}" for severity in SEVERITIES if totals[severity] and (with_info or severity != "info"))


class CodeCounts:
    """Counts the findings of many cases by code, in bounded memory."""

    def __init__(self) -> None:
        self._findings: Counter[tuple[str, Severity]] = Counter()
        self._cases: Counter[tuple[str, Severity]] = Counter()

    def add(self, counts: Counts) -> None:
        """Count one case."""
        for code, severities in counts.items():
            for severity, times in severities.items():
                if severity != "info" and times and ((code, severity) in self._cases or len(self._cases) < CODES_MAX):
                    self._findings[code, severity] += times
                    self._cases[code, severity] += 1

    def table(self, most: int) -> Table | None:
        """The codes, the most severe and then the most frequent first; None without a finding. It is the same for files and for live results."""
        if not self._cases:
            return None
        ordered = sorted(self._cases, key=lambda key: (SEVERITIES.index(key[1]), -self._cases[key], -self._findings[key], key[0]))
        rows: list[Sequence[str]] = [
            (severity, code, f"{self._findings[code, severity]:,}", f"{self._cases[code, severity]:,}") for code, severity in ordered[:most]
        ]
        if rest := len(ordered) - len(rows):
            rows.append(("", f"and {counted(rest, 'more code')}", f"{sum(self._findings[key] for key in ordered[most:]):,}", ""))
        return Table(FINDINGS_BY_CODE, ("Severity", "Code", "Findings", "In cases"), rows, frozenset({2, 3}))
