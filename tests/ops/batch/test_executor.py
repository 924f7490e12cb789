import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from tests.ops.loss_cases import TableScorer, card, summary
from touchstone.ops.batch.cases import BatchCase
from touchstone.ops.batch.executor import scored
from touchstone.schemas.result import FileRef, Problem, Scorecard, ScoreResult
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.base import NoSettings, Unavailable
from touchstone.scorers.reporting.report import Entry
from touchstone.scorers.scoring import Scoring
from touchstone.scorers.summary import SUITE

PLACE = FileRef(file="a.jsonl", place="line 1")
PROBLEM = Problem(source=PLACE, what="is not valid JSON")


def case(event_id: str) -> BatchCase:
    return BatchCase(SummaryCase.model_validate(summary(event_id)), event_id, PLACE)


def scoring(scorer: TableScorer, window: int = 64) -> Scoring:
    suite = replace(SUITE, window_cases=window, fingerprint=lambda _: {}, execution="window" if window > 1 else "inline", judged=None)
    return Scoring(suite, NoSettings(), scorer=scorer)


async def results(scorer: TableScorer, cases: Iterable[BatchCase | Problem], window: int = 64) -> list[Entry]:
    return [entry async for entry in scored(cases, scoring(scorer, window))]


def ids(entries: list[Entry]) -> list[str]:
    return [entry.event_id if isinstance(entry, ScoreResult) else "-" for entry in entries]


@pytest.mark.parametrize("window", [1, 8])
async def test_cases_are_scored_within_the_window_and_come_back_in_order_with_the_problems_between(window: int) -> None:
    names = [str(number) for number in range(40)]
    scorer = TableScorer({name: card(int(name) / 100) for name in names})
    entries = await results(scorer, [*map(case, names[:20]), PROBLEM, *map(case, names[20:])], window)
    assert ids(entries) == [*names[:20], "-", *names[20:]]
    assert scorer.in_flight_max == window


async def test_a_window_takes_up_no_more_cases_than_it_has_places_for() -> None:
    taken = 0

    def cases() -> Iterable[BatchCase]:
        nonlocal taken
        for number in range(40):
            taken += 1
            yield case(str(number))

    scorer = TableScorer({str(number): card(0.1) for number in range(40)})
    results_of = scored(cases(), scoring(scorer, 8))
    await anext(results_of)
    assert taken == 8
    await results_of.aclose()  # type: ignore[attr-defined]
    assert scorer.in_flight == 0


async def test_a_defect_or_an_outage_is_a_named_failure_of_its_case_alone() -> None:
    def breaks() -> None:
        raise KeyError("CANARY")

    def is_down() -> None:
        raise Unavailable("nli_down")

    scorer = TableScorer({"a": card(0.1), "b": breaks, "c": is_down, "d": card(0.2), "e": lambda: "no card"})
    entries = [entry for entry in await results(scorer, [case(name) for name in "abcde"]) if isinstance(entry, ScoreResult)]
    assert [entry.label for entry in entries] == ["Pass", "unscored", "unscored", "Pass", "unscored"]
    failures = [(entry.failures[0].kind, entry.failures[0].code) for entry in entries if entry.failures]
    assert failures == [("scorer_error", "KeyError"), ("unavailable", "nli_down"), ("scorer_error", "scorecard_TypeError")]


async def test_a_cancelled_run_leaves_nothing_in_flight() -> None:
    started, never = asyncio.Event(), asyncio.Event()

    class Waiting(TableScorer):
        async def score(self, case: SummaryCase) -> Scorecard:
            self.in_flight += 1
            started.set()
            try:
                await never.wait()
            finally:
                self.in_flight -= 1
            return card(0.1)

    scorer = Waiting({})
    run: Any = asyncio.create_task(results(scorer, [case("a"), case("b")], 2))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert scorer.in_flight == 0


async def test_closing_is_the_scorers_own() -> None:
    scorer = TableScorer({})
    await scoring(scorer).close()
    assert scorer.closed
