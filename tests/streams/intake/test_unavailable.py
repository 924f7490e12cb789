import asyncio
import inspect
import json

import pytest
from structlog.testing import capture_logs

from tests.streams.fakes import GatedPublisher, StepScorer, make_intake, safe_record
from tests.streams.intake.test_intake import until
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Scorecard
from touchstone.scorers.base import Lost, Unavailable

CASES = 50
CARD = Scorecard(label="Pass", values={"CR": 1.0})
CANARY = "CANARY-7f3a"


@pytest.mark.parametrize("inline", [True, False])
async def test_a_stage_that_is_down_for_many_cases_is_asked_by_one_at_a_time(inline: bool) -> None:
    down, now, most, calls = True, 0, 0, 0
    probed = asyncio.Event()

    async def score(case: SafeCase) -> Scorecard:
        nonlocal now, most, calls
        calls, now = calls + 1, now + 1
        most = max(most, now)
        if calls == 30:
            probed.set()
        await asyncio.sleep(0)
        now -= 1
        if down:
            raise Unavailable("judge_down")
        return CARD

    publisher = GatedPublisher()
    intake, metrics = make_intake(publisher, StepScorer(score), inline=inline, retry_backoff_min_s=0.01, retry_backoff_max_s=0.01)
    with capture_logs() as lines:
        intake.start(("generations", 0), [safe_record(0)])
        await until(lambda: not intake.available)
        for offset in range(1, CASES):
            intake.start(("generations", offset % 4), [safe_record(offset)])
        async with asyncio.timeout(20):
            await probed.wait()
        assert most == 1
        assert publisher.acknowledged == []
        assert await intake.settle() == {}
        down = False
        assert await intake.drain(20)
    assert metrics.totals()["scored"] == CASES
    assert [line["event"] for line in lines if line["event"].startswith("stage_")] == ["stage_unavailable", "stage_available"]


@pytest.mark.parametrize("inline", [True, False])
async def test_nothing_is_acknowledged_while_a_stage_is_lost_and_the_worker_ends(inline: bool) -> None:
    async def score(case: SafeCase) -> Scorecard:
        raise Lost("engine_lost")

    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, StepScorer(score), inline=inline)
    with capture_logs():
        intake.start(("generations", 0), [safe_record(0)])
        async with asyncio.timeout(5):
            await intake.defect.wait()
    assert publisher.acknowledged == []
    assert await intake.settle() == {}


@pytest.mark.parametrize("inline", [True, False])
async def test_a_scorers_mistake_is_logged_with_file_and_line_and_without_its_message(inline: bool) -> None:
    async def score(case: SafeCase) -> Scorecard:
        return json.loads(f"{{{CANARY}")  # type: ignore[no-any-return] # the library's own frames lie deeper

    intake, _ = make_intake(GatedPublisher(), StepScorer(score), inline=inline)
    with capture_logs() as lines:
        intake.start(("generations", 0), [safe_record(0)])
        await intake.drain(5)
    (line,) = [line for line in lines if line["event"] == "scorer_failed"]
    at = inspect.getsourcelines(score)[1] + 1
    assert (line["code"], line["where"]) == ("JSONDecodeError", f"test_unavailable.py:{at}")
    assert CANARY not in str(lines)


@pytest.mark.parametrize("inline", [True, False])
async def test_a_case_whose_name_raises_costs_one_failed_result_and_not_the_worker(inline: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def case_id(case: SafeCase) -> str:
        nonlocal asked
        if case.id != "e1":
            return "T-1"
        asked += 1
        raise IndexError(CANARY)

    monkeypatch.setattr(SafeCase, "case_id", property(case_id))
    publisher = GatedPublisher()
    intake, metrics = make_intake(publisher, inline=inline)
    with capture_logs() as lines:
        intake.start(("generations", 0), [safe_record(offset) for offset in range(3)])
        assert await intake.drain(20)
    results = publisher.values("results")
    assert [(result["label"], result["case_id"]) for result in results] == [("Pass", "T-1"), ("unscored", None), ("Pass", "T-1")]
    assert results[1]["failures"][0]["code"] == "case_id_IndexError"
    assert asked == 1
    assert (metrics.totals()["scored"], intake.defect.is_set(), CANARY in str(lines)) == (3, False, False)


@pytest.mark.parametrize("inline", [True, False])
async def test_a_stage_whose_cases_were_taken_away_is_reported_as_available_after_the_next_answer(inline: bool) -> None:
    down = True

    async def score(case: SafeCase) -> Scorecard:
        if down:
            raise Unavailable("judge_down")
        return CARD

    intake, _ = make_intake(GatedPublisher(), StepScorer(score), inline=inline)
    with capture_logs() as lines:
        intake.start(("generations", 0), [safe_record(0)])
        await until(lambda: not intake.available)
        intake.revoke()
        await until(lambda: intake.available)
        assert [line["event"] for line in lines if line["event"].startswith("stage_")] == ["stage_unavailable"]
        down = False
        intake.start(("generations", 1), [safe_record(1)])
        assert await intake.drain(20)
    assert [line["event"] for line in lines if line["event"].startswith("stage_")] == ["stage_unavailable", "stage_available"]


async def test_the_traceback_is_shown_to_a_developer_who_asks_for_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    async def score(case: SafeCase) -> Scorecard:
        raise ValueError(CANARY)

    for asked in ("0", "1"):
        monkeypatch.setenv("TOUCHSTONE_DEBUG", asked)
        intake, _ = make_intake(GatedPublisher(), StepScorer(score))
        with capture_logs():
            intake.start(("generations", 0), [safe_record(0)])
            await intake.drain(5)
        told = capsys.readouterr().err
        assert (f"ValueError: {CANARY}" in told) == (asked == "1")
        assert ("may quote payloads" in told) == (asked == "1")
