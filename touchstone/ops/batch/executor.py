"""Cases → results, in the order of the cases: in a row, or many in flight so that the engines' batchers see them together."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final

from touchstone.ops.batch.cases import BatchCase
from touchstone.schemas.result import Problem, ScoreResult
from touchstone.scorers.reporting.report import Entry
from touchstone.scorers.scoring import Scoring
from touchstone.scorers.suite import Suite

#: Cases in flight if the suite does not say how many: enough to fill the batches of the fastest device, few enough to hold in memory.
WINDOW_CASES: Final = 64


def window_of(suite: Suite, settings: Any) -> int:
    """How many cases of a suite are in flight at a time in one process."""
    return (suite.window_with(settings) or WINDOW_CASES) if suite.execution_with(settings) == "window" else 1


async def scored(cases: Iterable[BatchCase | Problem], scoring: Scoring) -> AsyncIterator[Entry]:
    """Each case's result, and each problem, in order; at most a window of cases in flight."""
    window = window_of(scoring.suite, scoring.settings)
    if window == 1:
        for case in cases:
            yield case if isinstance(case, Problem) else await scoring.result(case.case, case.event_id, case.source)
        return
    waiting: deque[asyncio.Task[ScoreResult] | Problem] = deque()
    try:
        for case in cases:
            if isinstance(case, Problem):
                waiting.append(case)
            else:
                waiting.append(asyncio.create_task(scoring.result(case.case, case.event_id, case.source)))
            while len(waiting) >= window:
                yield await _first(waiting)
        while waiting:
            yield await _first(waiting)
    finally:
        running = [one for one in waiting if not isinstance(one, Problem)]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=10.0)


async def _first(waiting: "deque[asyncio.Task[ScoreResult] | Problem]") -> Entry:
    """The entry that has waited longest."""
    one = waiting.popleft()
    return one if isinstance(one, Problem) else await one
