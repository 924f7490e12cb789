"""An answer with an error is not one that says that nothing is committed."""

import asyncio
from typing import Any
from unittest.mock import AsyncMock

import pytest
from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
    TopicAuthorizationFailedError,
)
from aiokafka.protocol.commit import OffsetFetchResponse_v3
from aiokafka.structs import OffsetAndMetadata

from touchstone.streams.wire import group_offsets
from touchstone.streams.wire.group_offsets import committed_offsets, heed_group_errors

PARTS = [TopicPartition("t", 0), TopicPartition("t", 1)]
FOUND = {PARTS[0]: OffsetAndMetadata(7, ""), PARTS[1]: OffsetAndMetadata(-1, "")}


class Admin:
    """Answers in turn, or raises."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    async def list_consumer_group_offsets(self, group: str, partitions: list[TopicPartition]) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_offsets, "AGAIN_S", 0.0)


@pytest.mark.parametrize(
    "late", [{}, {PARTS[0]: FOUND[PARTS[0]]}, GroupCoordinatorNotAvailableError(), GroupLoadInProgressError(), NotCoordinatorForGroupError()]
)
async def test_a_coordinator_that_cannot_tell_is_asked_again(late: Any) -> None:
    admin: Any = Admin(late, FOUND)
    assert await committed_offsets(admin, "g", PARTS) == FOUND
    assert not admin.answers


async def test_what_waiting_does_not_change_is_raised_and_nobody_is_asked_for_nothing() -> None:
    refusing: Any = Admin(TopicAuthorizationFailedError())
    with pytest.raises(TopicAuthorizationFailedError):
        await committed_offsets(refusing, "g", PARTS)
    assert await committed_offsets(refusing, "g", []) == {}


def coordinator(monkeypatch: pytest.MonkeyPatch, *codes: int) -> tuple[GroupCoordinator, list[int]]:
    """The library's, over a broker that gives these errors for its whole answer, then none; and how often it was taken for dead."""
    left, dead = list(codes), list[int]()

    async def answer(self: Any, request: Any) -> Any:
        if left:
            return OffsetFetchResponse_v3(0, [], left.pop(0))
        return OffsetFetchResponse_v3(0, [("t", [(0, 7, "", 0), (1, -1, "", 0)])], 0)

    async def known() -> None:
        return None

    monkeypatch.setattr(group_offsets, "_library_send", answer)
    heed_group_errors()
    one: Any = GroupCoordinator.__new__(GroupCoordinator)
    one.group_id, one._retry_backoff_ms, one.ensure_coordinator_known = "g", 0, known
    one.coordinator_dead = lambda: dead.append(1)
    return one, dead


async def test_a_consumer_asks_again_where_its_library_took_the_error_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    loading, moved = GroupLoadInProgressError.errno, NotCoordinatorForGroupError.errno
    one, dead = coordinator(monkeypatch, loading, moved, loading)
    assert await one.fetch_committed_offsets(PARTS) == {PARTS[0]: FOUND[PARTS[0]]}
    assert len(dead) == 1


async def test_a_consumer_that_may_not_ask_says_for_which_group(monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = coordinator(monkeypatch, GroupAuthorizationFailedError.errno)
    with pytest.raises(GroupAuthorizationFailedError, match="g"):
        await one.fetch_committed_offsets(PARTS)


async def test_a_consumer_that_knows_no_broker_yet_asks_again_and_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = coordinator(monkeypatch)
    client = AIOKafkaClient(bootstrap_servers="127.0.0.1:1")
    updates: list[int] = []

    async def update() -> None:
        updates.append(1)
        if len(updates) == 2:
            monkeypatch.setattr(client, "get_random_node", lambda: 4)

    async def found(*_: Any) -> int:
        return 4

    monkeypatch.setattr(group_offsets, "_library_lookup", found)
    monkeypatch.setattr(client, "force_metadata_update", update)
    monkeypatch.setattr(client, "ready", AsyncMock(return_value=True))
    one._client, one.coordinator_id, one._closing = client, None, asyncio.get_running_loop().create_future()
    one._coordinator_lookup_lock = asyncio.Lock()
    await GroupCoordinator.ensure_coordinator_known(one)
    assert (one.coordinator_id, len(updates)) == (4, 2)


def test_the_library_s_places_for_it_are_still_there() -> None:
    assert group_offsets._library_send is not None
    assert group_offsets._library_lookup is not None
