import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest

from tests.streams.fakes import GatedPublisher, StepScorer, identity_holds, safe_record
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Scorecard
from touchstone.schemas.settings.house import TopicSettings, WorkerSettings
from touchstone.scorers.base import FollowUp, Shed
from touchstone.streams.intake.intake import Destinations, Intake
from touchstone.streams.intake.outbox import TooLarge
from touchstone.streams.intake.scoring import RunningSuite
from touchstone.streams.telemetry.metrics import WorkerMetrics
from touchstone.streams.wire.codec import LEDGER_TYPE, RESULT_TYPE, Codec
from touchstone.streams.wire.message import Message

TP = ("generations", 2)
CANARY = "CANARY-7f3a"
BOTH = pytest.mark.parametrize("inline", [True, False])


class Handing(StepScorer):
    """Hands every case on but e1, to the stage that is asked for."""

    role = "judge"
    size = 10

    async def follow_up(self, case: SafeCase, event_id: str, card: Scorecard) -> FollowUp | None:
        if event_id == "e1":
            return None
        return FollowUp(self.role, {"kind": "slow", "id": event_id, "label": card.label, "text": "x" * self.size})


def handing(publisher: GatedPublisher, scorer: Any, inline: bool, hands_on: tuple[str, ...] = ("judge",)) -> tuple[Intake, WorkerMetrics]:
    worker, metrics = WorkerSettings(retry_backoff_min_s=0.01, retry_backoff_max_s=0.02), WorkerMetrics("step", "1", "test")
    suite = RunningSuite("step", "1", "0" * 16, scorer, Codec({"safe": SafeCase}), inline, hands_on=hands_on)
    names = TopicSettings(results="results", dead="dead", judge="judge", conformance="conformance")
    to = Destinations.of(names, {"results": 4, "dead": 4, "judge": 2, "conformance": 2}, hands_on)
    return Intake(suite, publisher, to, worker, metrics), metrics


@BOTH
async def test_each_case_that_is_handed_on_has_an_event_and_a_result(inline: bool) -> None:
    publisher = GatedPublisher()
    intake, metrics = handing(publisher, Handing(), inline)
    intake.start(TP, [safe_record(offset) for offset in range(3)])
    assert await intake.drain(5)
    assert [event["id"] for event in publisher.values("judge", "touchstone.slow")] == ["e0", "e2"]
    assert [result["event_id"] for result in publisher.values("results", RESULT_TYPE)] == ["e0", "e1", "e2"]
    assert await intake.settle() == {TP: 3}
    assert {partition for topic, partition, _ in publisher.acknowledged if topic == "judge"} == {0}  # partition 2 of a topic that has two
    assert identity_holds(metrics.totals())


@BOTH
async def test_an_offset_is_returned_only_after_what_hands_the_case_on_is_acknowledged(inline: bool) -> None:
    gate = asyncio.Event()

    async def hold(topic: str, messages: Sequence[Message]) -> None:
        if topic == "judge":
            await gate.wait()

    publisher = GatedPublisher(hold)
    intake, _ = handing(publisher, Handing(), inline)
    intake.start(TP, [safe_record(0)])
    async with asyncio.timeout(5):
        while not publisher.asked:  # noqa: ASYNC110 -- what is waited for has no event
            await asyncio.sleep(0.002)
    assert await intake.settle() == {}
    assert publisher.values("results") == []
    gate.set()
    assert await intake.drain(5)
    assert await intake.settle() == {TP: 1}


async def test_a_replay_hands_on_the_same_event_under_the_same_id() -> None:
    sent = []
    for _ in range(2):
        publisher = GatedPublisher()
        intake, _ = handing(publisher, Handing(), True)
        intake.start(TP, [safe_record(0)])
        assert await intake.drain(5)
        sent.append([(message.key, message.value, list(message.headers)) for topic, _, message in publisher.acknowledged if topic == "judge"])
    assert sent[0] == sent[1] != []
    ((key, _, headers),) = sent[0]
    (result,) = publisher.values("results", RESULT_TYPE)
    assert dict(headers)["ce_id"] == key == result["result_id"].encode()
    assert (dict(headers)["ce_type"], dict(headers)["ce_source"], dict(headers)["ce_subject"]) == (b"touchstone.slow", b"/touchstone/step", b"e0")


async def test_a_suite_that_hands_nothing_on_is_not_asked() -> None:
    publisher = GatedPublisher()
    intake, _ = handing(publisher, Handing(), True, hands_on=())
    intake.start(TP, [safe_record(0)])
    assert await intake.drain(5)
    assert [topic for topic, _, _ in publisher.acknowledged] == ["results"]


@BOTH
@pytest.mark.parametrize(
    ("broken", "code"),
    [({"follow_up": "raises"}, "ZeroDivisionError"), ({"role": "elsewhere"}, "ValueError"), ({"size": 900_000}, "follow_up_too_large")],
)
async def test_what_cannot_be_handed_on_is_a_failure_in_the_result_and_costs_no_score(inline: bool, broken: dict[str, Any], code: str) -> None:
    scorer = Handing()

    async def raises(case: SafeCase, event_id: str, card: Scorecard) -> FollowUp:
        raise ZeroDivisionError(CANARY)

    for name, value in broken.items():
        setattr(scorer, name, raises if value == "raises" else value)
    publisher = GatedPublisher()
    intake, _ = handing(publisher, scorer, inline)
    intake.start(TP, [safe_record(0)])
    assert await intake.drain(5)
    (result,) = publisher.values("results", RESULT_TYPE)
    assert [(failure["component"], failure["code"]) for failure in result["failures"]] == [("follow_up", code)]
    assert (result["label"], result["values"]) == ("Pass", {"CR": 1.0})
    assert publisher.values("judge") == []
    assert await intake.settle() == {TP: 1}


async def test_an_event_that_the_broker_refuses_for_its_size_is_told_in_its_result_and_the_others_go() -> None:
    async def refuse(topic: str, messages: Sequence[Message]) -> None:
        if topic == "judge" and any(b'"e0"' in (message.value or b"") for message in messages):
            raise TooLarge("MessageSizeTooLargeError")

    publisher = GatedPublisher(refuse)
    intake, _ = handing(publisher, Handing(), True)
    intake.start(TP, [safe_record(0), safe_record(2)])
    assert await intake.drain(5)
    assert [event["id"] for event in publisher.values("judge")] == ["e2"]
    told = {result["event_id"]: [failure["code"] for failure in result["failures"]] for result in publisher.values("results", RESULT_TYPE)}
    assert told == {"e0": ["follow_up_too_large"], "e2": []}


@BOTH
async def test_a_case_that_is_put_aside_has_its_outcome_in_the_ledger_and_no_result(inline: bool) -> None:
    async def score(case: SafeCase) -> Scorecard:
        if case.id != "e1":
            raise Shed("budget")
        return Scorecard(label="Pass", values={})

    publisher = GatedPublisher()
    intake, metrics = handing(publisher, StepScorer(score), inline, hands_on=())
    intake.start(TP, [safe_record(offset) for offset in range(4)])
    assert await intake.drain(5)
    assert await intake.settle() == {TP: 4}
    assert [result["event_id"] for result in publisher.values("results", RESULT_TYPE)] == ["e1"]
    (ledger,) = publisher.values("results", LEDGER_TYPE)
    assert ledger["entries"] == [{"outcome": "shed", "reason": "budget", "ranges": [[0, 0], [2, 3]]}]
    totals = metrics.totals()
    assert (totals["scored"], totals["shed"], totals["in_flight"]) == (1, 3, 0)


@BOTH
async def test_the_intake_tells_when_what_was_put_aside_can_be_scored(inline: bool) -> None:
    async def score(case: SafeCase) -> Scorecard:
        raise Shed("budget", 60.0 if case.id == "e0" else None)

    intake, _ = handing(GatedPublisher(), StepScorer(score), inline, hands_on=())
    assert intake.again_at is None
    before = time.time()
    intake.start(TP, [safe_record(0)])
    assert await intake.drain(5)
    assert before + 60 <= (intake.again_at or 0) <= time.time() + 60
    intake.start(TP, [safe_record(1)])
    assert await intake.drain(5)
    assert intake.again_at is None


class HandingTwice(StepScorer):
    """Hands every case on to two stages, to the second with an event of the given size."""

    size = 10

    async def follow_up(self, case: SafeCase, event_id: str, card: Scorecard) -> Sequence[FollowUp]:
        return [FollowUp("judge", {"kind": "slow", "id": event_id}), FollowUp("conformance", {"kind": "slower", "id": event_id, "text": "x" * self.size})]


@BOTH
@pytest.mark.parametrize(("size", "handed", "failures"), [(10, ["e0"], []), (900_000, [], ["follow_up_too_large"])])
async def test_a_case_can_go_to_two_stages_and_neither_costs_the_other_its_event(inline: bool, size: int, handed: list[str], failures: list[str]) -> None:
    scorer, publisher = HandingTwice(), GatedPublisher()
    scorer.size = size
    intake, _ = handing(publisher, scorer, inline, hands_on=("judge", "conformance"))
    intake.start(TP, [safe_record(0)])
    assert await intake.drain(5)
    assert [event["id"] for event in publisher.values("judge")] == ["e0"]
    assert [event["id"] for event in publisher.values("conformance")] == handed
    (result,) = publisher.values("results", RESULT_TYPE)
    assert [failure["code"] for failure in result["failures"]] == failures
    assert await intake.settle() == {TP: 1}
