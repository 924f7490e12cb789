import json
from typing import Any

import pytest

from tests.doubles.judges import Fault, Kind
from tests.scorers.safe.cases import record
from tests.scorers.safe.test_judging import ASKS, BLAMES, OutOfMoney, judged, settings, verdicts
from tests.streams.fakes import FakeRecord
from touchstone.schemas.settings.house import WorkerSettings
from touchstone.scorers.registry import known_signatures
from touchstone.scorers.safe import SUITE
from touchstone.scorers.safe.judging.harm_judging import HarmJudging
from touchstone.scorers.safe.scorer import SafeScorer
from touchstone.streams.intake.scoring import RunningSuite, Scored, SliceScorer
from touchstone.streams.telemetry.metrics import WorkerMetrics
from touchstone.streams.wire.codec import Codec

EVENTS = [json.dumps(record(f"T{number}", id=f"e{number}", kind="safe", questions=[ASKS, BLAMES, f"Who was told? {number}"])).encode() for number in range(12)]
WORKER = WorkerSettings(retry_backoff_min_s=0.01, retry_backoff_max_s=0.05)


async def scored(scorer: Any) -> Scored:
    signatures = known_signatures()
    codec = Codec(SUITE.cases, signatures, 1_000_000, signatures)
    running = RunningSuite(SUITE.name, SUITE.version, "digest", scorer, codec, SUITE.execution_with(settings()) == "inline")
    slice_ = Scored()
    await SliceScorer(running, WORKER, WorkerMetrics(SUITE.name, SUITE.version, "test")).score(
        [FakeRecord(at, value) for at, value in enumerate(EVENTS)], slice_
    )
    return slice_


async def test_an_outage_of_the_judge_delays_results_and_loses_none() -> None:
    outage = Fault(Kind.ERROR_503, seconds=0.6)
    quick = {"attempts_max": 2, "deadline_s": 0.2, "timeout_s": 5}
    async with judged(lambda _: verdicts((1, "harmless"), (2, "blame"), (3, "harmless")), outage, judge=quick) as (scorer, server):
        slice_ = await scored(scorer)
    results = [json.loads(message.value or b"") for message in slice_.messages]
    assert [result["event_id"] for result in results] == [f"e{number}" for number in range(12)]
    assert {(result["details"]["judge"]["state"], len(result["findings"]), len(result["failures"])) for result in results} == {("answered", 1, 0)}
    assert server.seen.kinds["answered"] >= 12  # an answer that comes at the end of a deadline is asked for again


@pytest.mark.parametrize("kind", [Kind.RATE_LIMITED, Kind.HANG_UP, Kind.RESET, Kind.HALF_CLOSED, Kind.BAD_BODY, Kind.HTML])
async def test_every_event_has_one_judged_result_whatever_every_second_request_meets(kind: Kind) -> None:
    async with judged(lambda _: verdicts((1, "harmless"), (2, "blame"), (3, "harmless")), Fault(kind, attempts=1)) as (scorer, _):
        slice_ = await scored(scorer)
    results = [json.loads(message.value or b"") for message in slice_.messages]
    assert sorted(result["event_id"] for result in results) == sorted(f"e{number}" for number in range(12))
    assert {result["details"]["judge"]["state"] for result in results} == {"answered"}


async def test_without_budget_every_event_with_a_question_is_put_aside_where_the_settings_say_so() -> None:
    chosen = settings(onBudget="shed")
    slice_ = await scored(SafeScorer(chosen, HarmJudging(OutOfMoney(), chosen, "safe_v0")))  # type: ignore[arg-type]
    assert (slice_.messages, slice_.spans) == ([], [("shed", "budget", 0, 11)])
