"""An input topic that is made anew while its records are in flight."""

import asyncio
import time
from collections.abc import Mapping

import pytest

from tests.streams.fakes import FakeRecord, GatedPublisher, make_intake, safe_record
from touchstone.scorers.backoff import Backoff
from touchstone.streams.intake.incarnations import Incarnations
from touchstone.streams.intake.intake import Intake
from touchstone.streams.wire.codec import LEDGER_TYPE, RESULT_TYPE
from touchstone.streams.wire.dead_letter import TOPIC_ID

TP = ("generations", 0)
OLD, NEW = {"generations": "old"}, {"generations": "new"}


class Cluster:
    """Answers of a cluster, each when the test lets it through; without a test's hand at once."""

    def __init__(self, *, held: bool = False) -> None:
        self.topics: Mapping[str, str] = OLD
        self.asked = 0
        self.gate = asyncio.Event()
        if not held:
            self.gate.set()

    async def ask(self) -> Mapping[str, str]:
        self.asked += 1
        answer = self.topics
        await self.gate.wait()
        return answer


def intake_on(cluster: Cluster, publisher: GatedPublisher, known: Mapping[str, str] = OLD) -> Intake:
    intake, _ = make_intake(publisher)
    intake._incarnations = Incarnations(known, cluster.ask, lambda: Backoff(0.001, 0.002))
    return intake


async def made_anew(intake: Intake) -> None:
    async with asyncio.timeout(5):
        await intake.made_anew.wait()


async def test_every_outcome_names_the_topics_id() -> None:
    publisher = GatedPublisher()
    intake = intake_on(Cluster(), publisher)
    intake.start(TP, [safe_record(0), FakeRecord(1, b"poison")])
    assert await intake.drain(5)
    assert await intake.settle() == {TP: 2}
    assert publisher.values("results", RESULT_TYPE)[0]["source"]["topic_id"] == "old"
    assert publisher.values("results", LEDGER_TYPE)[0]["topic_id"] == "old"
    (letter,) = [message for topic, _, message in publisher.acknowledged if topic == "dead"]
    assert dict(letter.headers)[TOPIC_ID] == b"old"


async def test_nothing_is_published_that_may_be_of_another_topic() -> None:
    cluster, publisher = Cluster(), GatedPublisher()
    intake = intake_on(cluster, publisher)
    cluster.topics = NEW
    intake.start(TP, [safe_record(0), FakeRecord(1, b"poison")])
    await made_anew(intake)
    assert not await intake.drain(0.05)
    assert await intake.settle() == {}
    assert publisher.asked == []
    intake.revoke()


async def test_an_answer_that_was_asked_for_before_the_fetch_shows_nothing() -> None:
    cluster, publisher = Cluster(held=True), GatedPublisher()
    intake = intake_on(cluster, publisher)
    intake.start(TP, [safe_record(0)])
    while not cluster.asked:  # noqa: ASYNC110 -- what is waited for has no event
        await asyncio.sleep(0.001)
    cluster.topics = NEW
    intake.start(TP, [safe_record(1)])  # fetched while the first answer, which names the old topic, is on its way
    cluster.gate.set()
    await made_anew(intake)
    assert [result["source"]["offset"] for result in publisher.values("results", RESULT_TYPE)] == [0]
    intake.revoke()


async def test_slices_that_wait_for_their_turn_share_an_answer_that_was_asked_for_after_their_fetch() -> None:
    cluster = Cluster()
    intake = intake_on(cluster, GatedPublisher())
    for offset in range(20):
        intake.start(TP, [safe_record(offset)])
    assert await intake.drain(5)
    assert cluster.asked <= 2
    asked = cluster.asked
    intake.start(TP, [safe_record(20)])  # fetched after all of those answers
    assert await intake.drain(5)
    assert cluster.asked == asked + 1


async def test_an_answer_from_before_does_not_serve_what_comes_after() -> None:
    cluster = Cluster()
    incarnations = Incarnations(OLD, cluster.ask, lambda: Backoff(0.001, 0.002))
    before = time.monotonic()
    assert await incarnations.is_still("generations")
    after = time.monotonic()
    cluster.topics = NEW
    assert await incarnations.is_still("generations", before)
    assert cluster.asked == 1
    assert not await incarnations.is_still("generations", after)
    assert not await incarnations.is_still("generations")
    await incarnations.close()


async def test_an_offset_is_not_committed_on_another_topic() -> None:
    cluster, publisher = Cluster(), GatedPublisher()
    intake = intake_on(cluster, publisher)
    intake.start(TP, [safe_record(0)])
    assert await intake.drain(5)
    cluster.topics = NEW
    assert await intake.settle() == {}
    assert intake.made_anew.is_set()
    assert publisher.values("results", LEDGER_TYPE) == []
    intake.revoke()


async def test_a_topic_that_is_missing_does_not_hold_up_another() -> None:
    cluster, publisher = Cluster(), GatedPublisher()
    cluster.topics = {"generations": "old", "traces": "other"}
    intake = intake_on(cluster, publisher, cluster.topics)
    intake.start(TP, [safe_record(0)])
    intake.start(("traces", 0), [safe_record(0)])
    assert await intake.drain(5)
    cluster.topics = OLD
    async with asyncio.timeout(5):
        assert await intake.settle() == {TP: 1}
    cluster.topics = {"generations": "old", "traces": "other"}
    assert await intake.settle() == {("traces", 0): 1}


async def test_an_answer_without_ids_says_nothing() -> None:
    """A broker of an earlier version gives none; the process would end and begin for ever."""
    cluster = Cluster()
    intake = intake_on(cluster, GatedPublisher())
    cluster.topics = {"generations": ""}
    intake.start(TP, [safe_record(0)])
    assert await intake.drain(5)
    assert await intake.settle() == {TP: 1}


async def test_a_topic_that_is_away_is_waited_for() -> None:
    cluster, publisher = Cluster(), GatedPublisher()
    intake = intake_on(cluster, publisher)
    cluster.topics = {}
    intake.start(TP, [safe_record(0)])
    assert not await intake.drain(0.05)
    cluster.topics = OLD
    assert await intake.drain(5)
    assert not intake.made_anew.is_set()


@pytest.mark.parametrize(("now", "is_anew"), [(OLD, False), (NEW, True), ({}, False), ({"generations": ""}, False)])
async def test_an_idle_worker_takes_note_too(now: Mapping[str, str], is_anew: bool) -> None:
    intake = intake_on(Cluster(), GatedPublisher())
    intake.see(now)
    assert intake.made_anew.is_set() is is_anew


async def test_without_an_id_nothing_is_asked() -> None:
    cluster = Cluster()
    intake = intake_on(cluster, GatedPublisher(), {"generations": ""})
    intake.start(TP, [safe_record(0)])
    assert await intake.drain(5)
    assert await intake.settle() == {TP: 1}
    assert cluster.asked == 0
