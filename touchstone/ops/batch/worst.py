"""The worst cases of some files, with the cases themselves: for those who want to read them, not count them."""

import asyncio
from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from touchstone.ops.batch.cases import BatchCase, cases_of
from touchstone.ops.batch.executor import scored
from touchstone.ops.batch.reading import BOUNDS
from touchstone.ops.batch.sources import Source
from touchstone.schemas.case import Case
from touchstone.schemas.reading import CaseReading
from touchstone.schemas.result import Label, Problem, ScoreResult, Severity
from touchstone.schemas.settings.house import FilesSettings
from touchstone.scorers.reporting.findings import SEVERITIES
from touchstone.scorers.reporting.report import Entry
from touchstone.scorers.scoring import Scoring
from touchstone.scorers.suite import Suite

#: Labels, the worst first.
_RANKS: Final[dict[Label, int]] = {"Fail": 0, "unscored": 1, "Warn": 2, "Review": 3, "Pass": 4}
#: Names of other cases that are kept, for a hint.
NAMES_MAX: Final = 8
PROBLEMS_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class ReadCase:
    """A case and its result."""

    case: Case
    result: ScoreResult

    @property
    def badness(self) -> tuple[int, ...]:
        """Sorts the worst first: by label, then by findings of each severity."""
        counts: dict[Severity, int] = dict.fromkeys(SEVERITIES, 0)
        for finding in self.result.findings:
            counts[finding.severity] += 1
        return (_RANKS[self.result.label], *(-counts[severity] for severity in SEVERITIES))


@dataclass(slots=True)
class WorstCases:
    """The `most` worst cases of a run, the worst first, in bounded memory.

    `names`: of the first others that did not pass; `total`: cases that were scored; `problems`: the first ones.
    """

    suite: Suite
    most: int
    cases: list[ReadCase] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    total: int = 0
    problems: list[Problem] = field(default_factory=list)
    _waiting: dict[str, Case] = field(default_factory=dict)

    def given(self, case: BatchCase) -> None:
        """Note a case that is going to be scored."""
        self._waiting[case.event_id] = case.case

    def add(self, entry: Entry) -> None:
        """Take the entry of a noted case, or a problem."""
        if isinstance(entry, Problem):
            if len(self.problems) < PROBLEMS_MAX:
                self.problems.append(entry)
            return
        self.total += 1
        case = self._waiting.pop(entry.event_id, None)
        if case is None:  # a repeated event of a suite that reports every file
            return
        insort(self.cases, ReadCase(case, entry), key=lambda one: one.badness)
        for left in self.cases[self.most :]:
            if left.result.label != "Pass" and len(self.names) < NAMES_MAX:
                self.names.append(self.suite.case_name(left.result))
        del self.cases[self.most :]

    def readings(self) -> list[CaseReading]:
        """How they read, the worst first."""
        return [self.suite.reading_of(one.case, one.result) for one in self.cases]


def worst_of(suite: Suite, settings: Any, sources: Iterable[Source], *, most: int, named: str | None = None, bounds: FilesSettings = BOUNDS) -> WorstCases:
    """Score every case and keep the `most` worst ones. `named`: only cases of this name, case id or event id are scored.

    Raises `ConfigError` if the scorer cannot be built.
    """
    return asyncio.run(_worst(Scoring(suite, settings), (case for source in sources for case in cases_of(source, suite, settings, None, bounds)), most, named))


async def _worst(scoring: Scoring, cases: Iterable[BatchCase | Problem | None], most: int, named: str | None) -> WorstCases:
    found = WorstCases(scoring.suite, most)

    def wanted() -> Iterator[BatchCase]:
        for one in cases:
            if isinstance(one, Problem):
                found.add(one)
            elif one is not None and (named is None or named in _names_of(scoring.suite, one)):
                found.given(one)
                yield one

    try:
        async for entry in scored(wanted(), scoring):
            found.add(entry)
    finally:
        await scoring.close()
    return found


def _names_of(suite: Suite, case: BatchCase) -> tuple[str | None, ...]:
    """Everything that a case may be called by."""
    case_id = case.case.case_id
    return (case.event_id, case_id, suite.call(case.event_id, case_id))
