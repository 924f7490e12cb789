"""Faust's consumer seeks all its partitions to what is committed, and asks for that once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.structs import OffsetAndMetadata

from tests.streams.fakes import GatedPublisher, make_intake
from touchstone.schemas.settings.house import Settings
from touchstone.streams.runners import faust_agents
from touchstone.streams.runners.base import Job

PARTITIONS = [TopicPartition("generations", number) for number in range(40)]


class Thread:
    """Faust's consumer thread, with a consumer of aiokafka that has these commits."""

    def __init__(self, committed: Mapping[TopicPartition, int], assigned: list[TopicPartition]) -> None:
        self.asked: list[list[TopicPartition]] = []
        self.sought: dict[TopicPartition, int] = {}

        async def ask(partitions: list[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
            self.asked.append(partitions)
            return {tp: OffsetAndMetadata(offset, "") for tp, offset in committed.items()}

        coordinator = SimpleNamespace(fetch_committed_offsets=ask)
        self._consumer = SimpleNamespace(_coordinator=coordinator, assignment=lambda: set(assigned), seek=self.sought.__setitem__)

    async def call_thread(self, act: Callable[[], Awaitable[Any]]) -> Any:
        return await act()


def consumer_of(folder: Path, thread: Thread) -> Any:
    intake, metrics = make_intake(GatedPublisher())
    job = Job(Settings(), intake, metrics, ("generations",), "seek.step", asyncio.Event(), begins={("generations", 7): 70})
    app = faust_agents.make_app(job, str(folder))
    faust_agents.attach(app, job)
    consumer = app.consumer
    consumer._thread = thread
    return consumer


async def test_what_is_committed_on_all_partitions_is_asked_for_once(tmp_path: Path) -> None:
    thread = Thread({tp: 100 + tp.partition for tp in PARTITIONS if tp.partition != 7}, PARTITIONS)
    consumer = consumer_of(tmp_path, thread)
    waited: dict[Any, int] = {}

    async def seek_wait(partitions: Mapping[Any, int]) -> None:
        waited.update(partitions)

    consumer.seek_wait = seek_wait
    await consumer.perform_seek()
    assert len(thread.asked) == 1
    assert sorted(thread.asked[0]) == PARTITIONS
    assert thread.sought == {tp: 100 + tp.partition for tp in PARTITIONS if tp.partition != 7}
    assert waited == {PARTITIONS[7]: 70}  # nothing is committed there: where the group begins
    assert consumer._committed_offset[PARTITIONS[3]] == 103


async def test_without_partitions_nothing_is_sought(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no partitions"):
        await consumer_of(tmp_path, Thread({}, [])).perform_seek()


def test_the_name_that_asks_for_all_is_aiokafkas() -> None:
    assert callable(GroupCoordinator.fetch_committed_offsets)  # without it each partition is asked for on its own
