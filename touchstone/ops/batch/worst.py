"""The worst cases of some files, with the cases themselves: for those who want to read them, not count them."""

import asyncio
from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from touchstone.ops.batch.cases import BatchCase, cases_of
from touchstone.ops.batch.executor import scored
from touchstone.ops.batch.packing import Badness, Kept
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
from touchstone.scorers.suite_settings import reading_here

#: Labels, the worst first.
_RANKS: Final[dict[Label, int]] = {"Fail": 0, "unscored": 1, "Warn": 2, "Review": 3, "Pass": 4}
#: Names of other cases that are kept, for a hint.
NAMES_MAX: Final = 8
PROBLEMS_MAX: Final = 20
#: Bytes of all cases that are kept; the least bad ones go first. A trace may have megabytes.
HELD_BYTES_MAX: Final = 64 * 1024 * 1024


def badness_of(result: ScoreResult) -> Badness:
    """Sorts the worst first: by label, then by findings of each severity."""
    counts: dict[Severity, int] = dict.fromkeys(SEVERITIES, 0)
    for finding in result.findings:
        counts[finding.severity] += 1
    return (_RANKS[result.label], *(-counts[severity] for severity in SEVERITIES))


@dataclass(slots=True)
class WorstCases:
    """The `most` worst cases of a run, the worst first, in bounded memory. Which ones does not depend on how many processes scored them.

    `names`: of the first others that did not pass; `total`: cases that were scored; `problems`: the first ones.
    """

    suite: Suite
    most: int
    bytes_max: int = HELD_BYTES_MAX
    cases: list[Kept] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    total: int = 0
    problems: list[Problem] = field(default_factory=list)
    _waiting: dict[str, Case] = field(default_factory=dict)
    #: The badness of the worst case that had no room: what is no worse has none either, so a later small case does not take its place.
    _no_room: Badness | None = None
    #: Of the suite, as it scored them: they may name a file of golds.
    settings: Any = None

    def given(self, case: BatchCase) -> None:
        """Note a case that is going to be scored."""
        self._waiting[case.event_id] = case.case

    def add(self, entry: Entry) -> Kept | None:
        """Take the entry of a noted case, or a problem. Returns what was kept of it, if anything."""
        if isinstance(entry, Problem):
            if len(self.problems) < PROBLEMS_MAX:
                self.problems.append(entry)
            return None
        self.total += 1
        case = self._waiting.pop(entry.event_id, None)
        if case is None:  # a repeated event of a suite that reports every file
            return None
        badness = badness_of(entry)
        name = self.suite.case_name(entry)
        if self._no_room is not None and badness >= self._no_room:
            self._name(badness, name)
            return None
        kept = Kept.of(badness, name, case, entry)
        self.keep(kept)
        return kept

    def keep(self, kept: Kept) -> None:
        """Take a case that is packed already, as another process kept it."""
        if self._no_room is not None and kept.badness >= self._no_room:
            return
        insort(self.cases, kept, key=lambda one: one.badness)
        room = self.bytes_max
        for place, one in enumerate(self.cases):
            room -= len(one.data)
            # The worst one is kept whatever its size.
            if place == self.most or (place and room < 0):
                self._no_room = one.badness
                for left in self.cases[place:]:
                    self._name(left.badness, left.name)
                del self.cases[place:]
                return

    def _name(self, badness: Badness, name: str) -> None:
        """Note the name of a case that is not kept, if it did not pass."""
        if badness[0] != _RANKS["Pass"] and len(self.names) < NAMES_MAX:
            self.names.append(name)

    def readings(self) -> Iterator[CaseReading]:
        """How they read, the worst first; each is made when it is asked for, because one may have megabytes."""
        for one in self.cases:
            yield reading_here(self.suite, *one.read(), self.settings)


def worst_of(suite: Suite, settings: Any, sources: Iterable[Source], *, most: int, named: str | None = None, bounds: FilesSettings = BOUNDS) -> WorstCases:
    """Score every case and keep the `most` worst ones. `named`: only cases of this name, case id or event id are scored.

    Raises `ConfigError` if the scorer cannot be built.
    """
    return asyncio.run(_worst(Scoring(suite, settings), (case for source in sources for case in cases_of(source, suite, settings, None, bounds)), most, named))


async def _worst(scoring: Scoring, cases: Iterable[BatchCase | Problem | None], most: int, named: str | None) -> WorstCases:
    found = WorstCases(scoring.suite, most, settings=scoring.settings)

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
