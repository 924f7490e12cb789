"""The worst cases of some files, with the cases themselves: for those who want to read them, not count them."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from touchstone.ops.batch.cases import BatchCase, cases_of
from touchstone.ops.batch.executor import scored
from touchstone.ops.batch.reading import BOUNDS
from touchstone.ops.batch.sources import Source
from touchstone.schemas.case import Case
from touchstone.schemas.result import Label, Problem, ScoreResult, Severity
from touchstone.schemas.settings.house import FilesSettings
from touchstone.scorers.reporting.findings import SEVERITIES
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
class Worst:
    """The worst cases, the worst first. `names`: of the first others that did not pass; `total`: cases that were scored."""

    cases: list[ReadCase] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    total: int = 0
    problems: list[Problem] = field(default_factory=list)


def worst_of(suite: Suite, settings: Any, sources: Iterable[Source], *, most: int, named: str | None = None, bounds: FilesSettings = BOUNDS) -> Worst:
    """Score every case and keep the `most` worst ones. `named`: only cases of this name, case id or event id are scored.

    Raises `ConfigError` if the scorer cannot be built.
    """
    return asyncio.run(_worst(Scoring(suite, settings), (case for source in sources for case in cases_of(source, suite, settings, None, bounds)), most, named))


async def _worst(scoring: Scoring, cases: Iterable[BatchCase | Problem | None], most: int, named: str | None) -> Worst:
    found = Worst()
    waiting: dict[str, Case] = {}

    def wanted() -> Iterator[BatchCase]:
        for one in cases:
            if isinstance(one, Problem):
                if len(found.problems) < PROBLEMS_MAX:
                    found.problems.append(one)
            elif one is not None and (named is None or named in _names_of(scoring.suite, one)):
                waiting[one.event_id] = one.case
                yield one

    try:
        async for entry in scored(wanted(), scoring):
            if isinstance(entry, Problem):
                continue
            found.total += 1
            found.cases.append(ReadCase(waiting[entry.event_id], entry))
            found.cases.sort(key=lambda one: one.badness)
            for left in found.cases[most:]:
                if left.result.label != "Pass" and len(found.names) < NAMES_MAX:
                    found.names.append(scoring.suite.case_name(left.result))
            del found.cases[most:]
    finally:
        await scoring.close()
    return found


def _names_of(suite: Suite, case: BatchCase) -> tuple[str | None, ...]:
    """Everything that a case may be called by."""
    case_id = case.case.case_id
    return (case.event_id, case_id, suite.call(case.event_id, case_id))
