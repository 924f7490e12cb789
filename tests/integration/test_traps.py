"""The traps of the streaming libraries that our use could meet, one test each, the naive form beside ours where it can be shown."""

import asyncio
from collections.abc import Sequence

import pytest

from streams.codec import LEDGER_TYPE
from streams.outbox import Message
from tests.streams.fakes import FakeRecord, GatedPublisher, make_intake, safe_record

TP = ("generations", 0)


def is_ledger(messages: Sequence[Message]) -> bool:
    return dict(messages[0].headers).get("ce_type") == LEDGER_TYPE.encode()


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
