import asyncio
import contextlib
import json
from collections.abc import Sequence

import pytest

from tests.streams.fakes import FakeRecord, GatedPublisher, StepScorer, identity_holds, make_intake, safe_event, safe_record
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Scorecard
from touchstone.scorers.base import Lost, Unavailable
from touchstone.streams.intake.outbox import TooLarge
from touchstone.streams.wire.codec import LEDGER_TYPE, RESULT_TYPE, Codec
from touchstone.streams.wire.message import Message

TP = ("generations", 0)
CANARY = "CANARY-7f3a"


async def until(condition: object, seconds: float = 2.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # type: ignore[operator]  # noqa: ASYNC110 -- what is waited for has no event
            await asyncio.sleep(0.002)


def is_ledger(messages: Sequence[Message]) -> bool:
    return dict(messages[0].headers).get("ce_type") == LEDGER_TYPE.encode()


async def test_an_offset_is_returned_only_after_its_result_is_acknowledged() -> None:
    gate = asyncio.Event()

    async def wait(topic: str, messages: Sequence[Message]) -> None:
        await gate.wait()

    intake, _ = make_intake(GatedPublisher(wait))
    intake.start(TP, [safe_record(0)])
    await asyncio.sleep(0.02)
    assert await intake.settle() == {}
    gate.set()
    assert await intake.drain(1)
    assert await intake.settle() == {TP: 1}


async def test_a_later_slice_that_finishes_first_waits_for_the_earlier_one() -> None:
    gate = asyncio.Event()

    async def hold_first(topic: str, messages: Sequence[Message]) -> None:
        if b'"e0"' in (messages[0].value or b""):
            await gate.wait()

    publisher = GatedPublisher(hold_first)
    intake, _ = make_intake(publisher)
    intake.start(TP, [safe_record(0)])
    intake.start(TP, [safe_record(1)])
    await until(lambda: len(publisher.values("results")) == 1)
    assert await intake.settle() == {}
    gate.set()
    await intake.drain(1)
    assert await intake.settle() == {TP: 2}


async def test_a_skipped_event_is_committed_only_after_its_ledger_record() -> None:
    publisher = GatedPublisher()
    intake, metrics = make_intake(publisher, known=["toy"])
    intake.start(TP, [FakeRecord(offset, b'{"kind":"toy"}') for offset in range(3)])
    await intake.drain(1)
    assert publisher.values("results") == []
    assert await intake.settle() == {TP: 3}
    (ledger,) = publisher.values("results", LEDGER_TYPE)
    assert ledger["entries"] == [{"outcome": "skipped", "reason": "other_kind", "ranges": [[0, 2]]}]
    assert metrics.totals()["skipped"] == 3


async def test_many_skips_cost_one_ledger_record() -> None:
    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, known=["toy"])
    for begin in range(0, 1000, 100):
        intake.start(TP, [FakeRecord(offset, b'{"kind":"toy"}') for offset in range(begin, begin + 100)])
    await intake.drain(1)
    await intake.settle()
    assert len(publisher.values("results", LEDGER_TYPE)) == 1


async def test_a_failed_ledger_write_commits_nothing_and_is_made_good_later() -> None:
    broken = True

    async def fail_ledger(topic: str, messages: Sequence[Message]) -> None:
        if broken and dict(messages[0].headers).get("ce_type") == LEDGER_TYPE.encode():
            raise ConnectionError

    publisher = GatedPublisher(fail_ledger)
    intake, metrics = make_intake(publisher)
    intake.start(TP, [FakeRecord(0, b"")])
    await intake.drain(1)
    assert await intake.settle() == {}
    assert identity_holds(metrics.totals())
    broken = False
    assert await intake.settle() == {TP: 1}
    assert metrics.totals()["dead"] == 1


async def test_a_settlement_given_up_on_forgets_no_outcome() -> None:
    """A runner bounds the wait for the ledger; the naive form then commits past outcomes that no ledger tells."""
    broker_down = asyncio.Event()

    async def hang_ledger(topic: str, messages: Sequence[Message]) -> None:
        if is_ledger(messages) and not broker_down.is_set():
            await broker_down.wait()

    publisher = GatedPublisher(hang_ledger)
    intake, _ = make_intake(publisher)
    intake.start(TP, [FakeRecord(0, b"\xff")])
    await intake.drain(1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(intake.settle(), 0.05)
    intake.start(TP, [safe_record(1)])
    await intake.drain(1)
    broker_down.set()
    assert await intake.settle() == {TP: 2}
    (ledger,) = publisher.values("results", LEDGER_TYPE)
    assert ledger["entries"][0]["ranges"] == [[0, 0]]


async def test_two_settlements_at_once_do_not_pass_each_other() -> None:
    """The clock and a rebalance both settle; the second must not commit past the ledger that the first still waits for."""
    acknowledge = asyncio.Event()

    async def hold_ledger(topic: str, messages: Sequence[Message]) -> None:
        if is_ledger(messages):
            await acknowledge.wait()

    publisher = GatedPublisher(hold_ledger)
    intake, _ = make_intake(publisher)
    intake.start(TP, [FakeRecord(0, b"\xff")])
    await intake.drain(1)
    first = asyncio.create_task(intake.settle())
    await asyncio.sleep(0.01)
    intake.start(TP, [safe_record(1)])
    await intake.drain(1)
    second = asyncio.create_task(intake.settle())
    await asyncio.sleep(0.05)
    assert not second.done()
    acknowledge.set()
    assert (await first, await second) == ({TP: 1}, {TP: 2})


async def test_a_partition_that_goes_while_its_ledger_is_written_commits_nothing() -> None:
    acknowledge = asyncio.Event()

    async def hold_ledger(topic: str, messages: Sequence[Message]) -> None:
        if is_ledger(messages):
            await acknowledge.wait()

    publisher = GatedPublisher(hold_ledger)
    intake, _ = make_intake(publisher)
    intake.start(TP, [FakeRecord(0, b"\xff")])
    await intake.drain(1)
    settling = asyncio.create_task(intake.settle())
    await until(lambda: any(is_ledger([message]) for _, _, message in publisher.asked))
    intake.revoke()
    acknowledge.set()
    assert await settling == {}


async def test_an_offset_is_returned_only_after_its_dead_letter_is_acknowledged() -> None:
    acknowledge = asyncio.Event()

    async def hold_dead(topic: str, messages: Sequence[Message]) -> None:
        if topic == "dead":
            await acknowledge.wait()

    publisher = GatedPublisher(hold_dead)
    intake, _ = make_intake(publisher)
    intake.start(TP, [FakeRecord(0, b"\xff")])
    await until(lambda: [topic for topic, _, _ in publisher.asked] == ["dead"])
    assert await intake.settle() == {}
    acknowledge.set()
    await intake.drain(1)
    assert await intake.settle() == {TP: 1}


async def test_an_event_that_the_codec_fails_at_is_dead_and_its_neighbours_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    publisher = GatedPublisher()
    intake, _ = make_intake(publisher)
    read = Codec.read

    def gap(codec: Codec, record: FakeRecord, topic_id: str) -> object:
        if record.offset == 1:
            raise KeyError(CANARY)
        return read(codec, record, topic_id)

    monkeypatch.setattr(Codec, "read", gap)
    intake.start(TP, [safe_record(0), safe_record(1), safe_record(2)])
    await intake.drain(1)
    assert await intake.settle() == {TP: 3}
    (letter,) = [message for topic, _, message in publisher.acknowledged if topic == "dead"]
    assert dict(letter.headers)["__streams.errors.exception"] == b"codec_failed"
    assert len(publisher.values("results", RESULT_TYPE)) == 2


async def test_poison_becomes_a_dead_letter_byte_for_byte_and_its_neighbours_are_scored() -> None:
    publisher = GatedPublisher()
    intake, metrics = make_intake(publisher)
    poison = FakeRecord(1, b" \xff\xfe\n", key=b"k", headers=[("h", b"1")])
    intake.start(TP, [safe_record(0), poison, safe_record(2)])
    await intake.drain(1)
    await intake.settle()
    ((_, _, letter),) = [entry for entry in publisher.acknowledged if entry[0] == "dead"]
    assert (letter.key, letter.value) == (b"k", b" \xff\xfe\n")
    headers = dict(letter.headers)
    assert headers["h"] == b"1"
    assert headers["__streams.errors.exception"] == b"not_utf8"
    assert (headers["__streams.errors.partition"], headers["__streams.errors.offset"]) == (b"0", b"1")
    assert len(publisher.values("results", RESULT_TYPE)) == 2
    totals = metrics.totals()
    assert (totals["scored"], totals["dead"], totals["in_flight"]) == (2, 1, 0)


async def test_a_dead_letter_too_large_for_the_broker_leaves_its_position_behind() -> None:
    async def refuse_large(topic: str, messages: Sequence[Message]) -> None:
        if topic == "dead" and any(len(message.value or b"") > 100 for message in messages):
            raise TooLarge("MessageSizeTooLargeError")

    publisher = GatedPublisher(refuse_large)
    intake, _ = make_intake(publisher)
    intake.start(TP, [FakeRecord(0, b"\xff" * 200), FakeRecord(1, b"\xfe")])
    await intake.drain(1)
    assert await intake.settle() == {TP: 2}
    letters = [message for topic, _, message in publisher.acknowledged if topic == "dead"]
    assert dict(letters[0].headers)["touchstone.payload_omitted"] == b"too_large"
    assert dict(letters[0].headers)["__streams.errors.offset"] == b"0"
    assert letters[1].value == b"\xfe"


async def test_a_scorer_that_raises_is_a_failure_in_the_result_and_hurts_no_sibling() -> None:
    async def score(case: SafeCase) -> Scorecard:
        if case.id == "e1":
            raise ZeroDivisionError(CANARY)
        return Scorecard(label="Pass", values={"CR": 1.0})

    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, StepScorer(score))
    intake.start(TP, [safe_record(0), safe_record(1), safe_record(2)])
    await intake.drain(1)
    results = {result["event_id"]: result for result in publisher.values("results", RESULT_TYPE)}
    assert [results[f"e{n}"]["label"] for n in range(3)] == ["Pass", "unscored", "Pass"]
    assert results["e1"]["failures"] == [{"component": "step", "kind": "scorer_error", "code": "ZeroDivisionError"}]
    assert results["e1"]["values"] == {}
    assert CANARY not in json.dumps(results)


async def test_an_unavailable_world_acknowledges_nothing_until_it_is_back() -> None:
    down = True

    async def score(case: SafeCase) -> Scorecard:
        if down:
            raise Unavailable("judge_timeout")
        return Scorecard(label="Pass", values={})

    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, StepScorer(score))
    intake.start(TP, [safe_record(0)])
    await until(lambda: not intake.available)
    assert await intake.settle() == {}
    assert publisher.acknowledged == []
    down = False
    assert await intake.drain(1)
    assert intake.available
    assert await intake.settle() == {TP: 1}


async def test_revoked_partitions_commit_nothing_however_late_they_finish() -> None:
    gate = asyncio.Event()

    async def wait(topic: str, messages: Sequence[Message]) -> None:
        await asyncio.shield(gate.wait())

    publisher = GatedPublisher(wait)
    intake, metrics = make_intake(publisher)
    intake.start(TP, [safe_record(0), safe_record(1)])
    await until(lambda: metrics.totals()["consumed"] == 2)
    intake.revoke()
    gate.set()
    await asyncio.sleep(0.02)
    assert await intake.settle() == {}
    totals = metrics.totals()
    assert totals["released"] == 2
    assert identity_holds(totals)
    assert intake.in_flight == 0


async def test_a_revoked_slice_that_swallows_its_cancellation_leaves_the_window_once() -> None:
    """As with Python 3.11's `asyncio.wait_for`."""
    never = asyncio.Event()

    async def score(case: SafeCase) -> Scorecard:
        with contextlib.suppress(asyncio.CancelledError):
            await never.wait()
        return Scorecard(label="Pass", values={})

    publisher = GatedPublisher()
    intake, metrics = make_intake(publisher, StepScorer(score))
    intake.start(TP, [safe_record(0), FakeRecord(1, b'{"kind": "other"}')])
    await asyncio.sleep(0.01)
    intake.revoke()
    await until(lambda: metrics.totals()["consumed"] == 2 and not metrics.totals()["in_flight"])
    assert intake.in_flight == 0
    assert await intake.settle() == {}
    assert identity_holds(metrics.totals())


async def test_skips_done_but_not_yet_in_the_ledger_are_released_on_revoke() -> None:
    intake, metrics = make_intake(GatedPublisher())
    intake.start(TP, [FakeRecord(0, b'{"kind":"summary"}')])
    await intake.drain(1)
    intake.revoke()
    totals = metrics.totals()
    assert (totals["released"], totals["in_flight"], totals["skipped"]) == (1, 0, 0)


async def test_a_partition_that_comes_back_starts_afresh() -> None:
    intake, _ = make_intake(GatedPublisher())
    intake.start(TP, [safe_record(10)])
    intake.revoke()
    intake.start(TP, [safe_record(3)])
    await intake.drain(1)
    assert await intake.settle() == {TP: 4}


async def test_the_window_bounds_what_is_in_flight() -> None:
    gate = asyncio.Event()

    async def wait(topic: str, messages: Sequence[Message]) -> None:
        await gate.wait()

    intake, _ = make_intake(GatedPublisher(wait), window_records=10)
    for offset in range(10):
        intake.start(TP, [safe_record(offset)])
    assert not intake.has_room()
    waiter = asyncio.create_task(intake.room())
    await asyncio.sleep(0.02)
    assert not waiter.done()
    gate.set()
    await asyncio.wait_for(waiter, 1)


async def test_one_slice_larger_than_the_window_is_let_in_alone() -> None:
    intake, _ = make_intake(GatedPublisher(), window_records=1)
    assert intake.has_room()
    intake.start(TP, [safe_record(0), safe_record(1), safe_record(2)])
    assert not intake.has_room()
    assert await intake.drain(1)


async def test_an_old_event_is_shed_with_its_reason() -> None:
    publisher = GatedPublisher()
    intake, metrics = make_intake(publisher, event_age_max_s=60)
    old = safe_record(0)
    old.timestamp -= 120_000
    intake.start(TP, [old, safe_record(1)])
    await intake.drain(1)
    await intake.settle()
    (ledger,) = publisher.values("results", LEDGER_TYPE)
    assert ledger["entries"] == [{"outcome": "shed", "reason": "too_old", "ranges": [[0, 0]]}]
    assert metrics.totals()["shed"] == 1


async def test_cases_of_a_slice_meet_in_a_suite_that_is_not_inline() -> None:
    together = asyncio.Barrier(3)

    async def score(case: SafeCase) -> Scorecard:
        async with asyncio.timeout(1):
            await together.wait()
        return Scorecard(label="Pass", values={})

    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, StepScorer(score), inline=False)
    intake.start(TP, [safe_record(0), safe_record(1), safe_record(2)])
    assert await intake.drain(2)
    assert {result["label"] for result in publisher.values("results", RESULT_TYPE)} == {"Pass"}


async def test_the_same_event_gives_the_same_result_id_wherever_it_lies() -> None:
    publisher = GatedPublisher()
    intake, _ = make_intake(publisher)
    intake.start(TP, [safe_record(0, "same")])
    intake.start(("generations", 3), [safe_record(77, "same")])
    await intake.drain(1)
    assert len({result["result_id"] for result in publisher.values("results", RESULT_TYPE)}) == 1


async def test_a_result_too_large_for_the_broker_loses_its_details_and_says_so() -> None:
    async def score(case: SafeCase) -> Scorecard:
        return Scorecard(label="Fail", values={"CR": 0.0}, details={"long": "x" * 900_000})

    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, StepScorer(score))
    intake.start(TP, [safe_record(0)])
    await intake.drain(1)
    (result,) = publisher.values("results", RESULT_TYPE)
    assert result["details"] == {}
    assert result["failures"][0]["code"] == "result_too_large"
    assert result["values"] == {"CR": 0.0}


@pytest.mark.parametrize("shape", ["text", "id_in_unknown_field"])
async def test_no_payload_text_reaches_results_or_error_headers(shape: str) -> None:
    from touchstone.scorers.safe import SUITE

    event = safe_event("e0", output={"signals": [CANARY], "summary": CANARY, "followup_questions": [CANARY]}, note=CANARY)
    event["expectations"] = {
        "signal_generation": {"must_find_signals": [CANARY, "absent " + CANARY]},
        "followup_questions": {"forbidden_terms": [CANARY]},
        "event_summary": {"must_contain_phrases": [CANARY]},
    }
    if shape == "id_in_unknown_field":
        event["correlation"] = {CANARY: []}  # a schema violation whose path would be the payload's own word
    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, SUITE.build(SUITE.resolve({}, None)))
    intake.start(TP, [FakeRecord(0, json.dumps(event).encode())])
    await intake.drain(1)
    await intake.settle()
    assert publisher.acknowledged
    for topic, _, message in publisher.acknowledged:
        assert CANARY.encode() not in b"".join(value for _, value in message.headers)
        if topic == "results":
            assert CANARY.encode() not in (message.value or b"")


async def test_the_accounting_identity_holds_at_every_moment() -> None:
    publisher = GatedPublisher()
    intake, metrics = make_intake(publisher)
    records = [safe_record(n) if n % 3 else FakeRecord(n, b"{" if n % 2 else b'{"kind":"summary"}') for n in range(300)]
    for begin in range(0, 300, 25):
        intake.start(TP, records[begin : begin + 25])
        assert identity_holds(metrics.totals())
        await asyncio.sleep(0)
        assert identity_holds(metrics.totals())
        if begin == 150:
            await intake.settle()
    await intake.drain(1)
    await intake.settle()
    totals = metrics.totals()
    assert identity_holds(totals)
    assert (totals["consumed"], totals["in_flight"]) == (300, 0)


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("details", [{"a": {1, 2}}, {"a": "\ud800"}, {"a": 2**70}, None])
async def test_a_card_that_cannot_be_written_is_the_scorers_failure_and_hurts_no_sibling(inline: bool, details: object) -> None:
    async def score(case: SafeCase) -> Scorecard:
        if case.id != "e1":
            return Scorecard(label="Pass", values={})
        if details is None:
            return None  # type: ignore[return-value]
        return Scorecard(label="Pass", values={}).model_copy(update={"details": details})

    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, StepScorer(score), inline=inline)
    intake.start(TP, [safe_record(0), safe_record(1), safe_record(2)])
    assert await intake.drain(1)
    labels = {result["event_id"]: result["label"] for result in publisher.values("results", RESULT_TYPE)}
    assert labels == {"e0": "Pass", "e1": "unscored", "e2": "Pass"}


async def test_a_scorer_that_never_answers_is_a_named_failure() -> None:
    async def score(case: SafeCase) -> Scorecard:
        if case.id == "e1":
            await asyncio.Event().wait()
        return Scorecard(label="Pass", values={})

    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, StepScorer(score), inline=False, score_timeout_s=0.05)
    intake.start(TP, [safe_record(0), safe_record(1)])
    assert await intake.drain(1)
    results = {result["event_id"]: result for result in publisher.values("results", RESULT_TYPE)}
    assert (results["e1"]["failures"][0]["kind"], results["e1"]["failures"][0]["code"]) == ("timeout", "score_timeout")
    assert results["e0"]["label"] == "Pass"


async def test_one_result_the_broker_refuses_is_trimmed_and_its_neighbours_pass() -> None:
    async def refuse_large(topic: str, messages: Sequence[Message]) -> None:
        if any(len(message.value or b"") > 3_000 for message in messages):
            raise TooLarge("MessageSizeTooLargeError")

    async def score(case: SafeCase) -> Scorecard:
        return Scorecard(label="Pass", values={}, details={"long": "x" * (5_000 if case.id == "e1" else 10)})

    publisher = GatedPublisher(refuse_large)
    intake, _ = make_intake(publisher, StepScorer(score))
    intake.start(TP, [safe_record(0), safe_record(1), safe_record(2)])
    assert await intake.drain(1)
    results = {result["event_id"]: result for result in publisher.values("results", RESULT_TYPE)}
    assert results["e1"]["failures"][0]["code"] == "result_too_large"
    assert results["e0"]["failures"] == results["e2"]["failures"] == []
    assert await intake.settle() == {TP: 3}


async def test_a_result_refused_at_any_size_becomes_a_dead_letter() -> None:
    async def refuse(topic: str, messages: Sequence[Message]) -> None:
        if topic == "results" and any(b'"e1"' in (message.value or b"") for message in messages):
            raise TooLarge("MessageSizeTooLargeError")

    publisher = GatedPublisher(refuse)
    intake, metrics = make_intake(publisher)
    intake.start(TP, [safe_record(0), safe_record(1), safe_record(2), FakeRecord(3, b"{")])
    assert await intake.drain(1)
    assert await intake.settle() == {TP: 4}
    reasons = {entry["reason"]: entry["ranges"] for entry in publisher.values("results", LEDGER_TYPE)[0]["entries"]}
    assert reasons == {"result_too_large": [[1, 1]], "not_json": [[3, 3]]}
    totals = metrics.totals()
    assert (totals["scored"], totals["dead"], totals["in_flight"]) == (2, 2, 0)


async def test_a_ledger_of_many_ranges_is_cut_into_records_that_fit_the_broker() -> None:
    async def refuse_large(topic: str, messages: Sequence[Message]) -> None:
        assert all(len(message.value or b"") < 200_000 for message in messages)

    publisher = GatedPublisher(refuse_large)
    intake, _ = make_intake(publisher, window_records=100_000)
    records = [FakeRecord(n, b'{"kind":"summary"}' if n % 2 else b"") for n in range(20_000)]
    for begin in range(0, 20_000, 1_000):
        intake.start(TP, records[begin : begin + 1_000])
    assert await intake.drain(10)
    assert await intake.settle() == {TP: 20_000}
    ledger = publisher.values("results", LEDGER_TYPE)
    assert len(ledger) == 10
    assert sum(last - first + 1 for record in ledger for entry in record["entries"] for first, last in entry["ranges"]) == 20_000


async def test_nothing_more_is_taken_up_while_the_ledger_is_far_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.streams.intake.intake.SPANS_MAX", 10)
    intake, _ = make_intake(GatedPublisher())
    intake.start(TP, [FakeRecord(n, b'{"kind":"summary"}' if n % 2 else b"") for n in range(40)])
    assert await intake.drain(1)
    assert not intake.has_room()
    await intake.settle()
    assert intake.has_room()


async def test_what_is_held_in_an_outage_counts_as_in_flight() -> None:
    async def score(case: SafeCase) -> Scorecard:
        raise Unavailable("judge_down")

    intake, metrics = make_intake(GatedPublisher(), StepScorer(score), inline=False)
    intake.start(TP, [safe_record(n) for n in range(20)])
    await until(lambda: not intake.available)
    totals = metrics.totals()
    assert (totals["consumed"], totals["in_flight"]) == (20, 20)
    intake.revoke()
    await asyncio.sleep(0.01)
    assert identity_holds(metrics.totals())
    assert metrics.totals()["released"] == 20


@pytest.mark.parametrize("inline", [True, False])
async def test_what_is_lost_to_this_process_ends_its_worker_and_acknowledges_nothing(inline: bool) -> None:
    async def score(case: SafeCase) -> Scorecard:
        raise Lost("engine_died")

    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, StepScorer(score), inline=inline)
    intake.start(TP, [safe_record(n) for n in range(3)])
    await until(intake.defect.is_set, 60)  # its traceback is laid out first, which takes seconds on a busy machine
    assert publisher.asked == []
    assert await intake.settle() == {}
