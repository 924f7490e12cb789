"""What a group has committed, asked so that "the coordinator cannot tell yet" is not taken for "nothing".

A coordinator that still loads its group, or is no longer the group's, says so once for its whole answer and names no partition (OffsetFetch from version 2
on). aiokafka looks at the errors of partitions only, so to it such an answer says that nothing is committed: after a restart of the brokers a worker would take
the group for a new one and commit where it begins, past events that nobody has read or at the log's beginning.

A broker that has just started, or that its controller takes for dead, answers without any broker. A client that connects then knows nobody whom it
could ask for the coordinator; aiokafka asserts there, which ends the worker. It asks again instead.
"""

import asyncio
from collections.abc import Collection
from typing import Any

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
    for_code,
)
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.structs import OffsetAndMetadata

#: Nobody can tell at this moment what the group has committed.
MOVING = (GroupCoordinatorNotAvailableError, GroupLoadInProgressError, NotCoordinatorForGroupError)
#: Pause before the next question then.
AGAIN_S = 0.1
_library_send: Any = getattr(GroupCoordinator, "_send_req", None)
_library_lookup: Any = getattr(AIOKafkaClient, "coordinator_lookup", None)


async def committed_offsets(admin: AIOKafkaAdminClient, group: str, partitions: Collection[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
    """Partition → what the group has committed there; offset -1 if nothing. One request, whatever the number of partitions.

    Waits without end for a coordinator that can tell: bound it. Raises `KafkaError`.
    """
    wanted = list(partitions)
    while True:
        try:
            found: dict[TopicPartition, OffsetAndMetadata] = await admin.list_consumer_group_offsets(group, partitions=wanted) if wanted else {}
        except MOVING:
            pass
        else:
            if len(found) >= len(wanted):  # an answer names every partition that was asked for, or has an error that the library drops
                return found
        await asyncio.sleep(AGAIN_S)


def heed_group_errors() -> None:
    """Make every consumer of this process ask again where it would take such an error for an answer, or end. Called wherever a client is made."""
    if _library_send is not None:
        GroupCoordinator._send_req = _send_req  # noqa: SLF001 -- there is no other place between the answer and the one that misreads it
    if _library_lookup is not None:
        AIOKafkaClient.coordinator_lookup = _coordinator_lookup


async def _coordinator_lookup(self: Any, kind: Any, key: str) -> Any:
    """As the library's. Whoever gets this error has the metadata read again, pauses, and asks once more."""
    if self.get_random_node() is None:
        raise GroupCoordinatorNotAvailableError
    return await _library_lookup(self, kind, key)


async def _send_req(self: Any, request: Any) -> Any:
    """As the library's, with the error of the whole answer raised. It takes the errors that it then knows as it does those of a partition."""
    answer = await _library_send(self, request)
    if isinstance(request, OffsetFetchRequest) and (code := getattr(answer, "error_code", 0)):
        kind = for_code(code)
        if kind is NotCoordinatorForGroupError:
            self.coordinator_dead()
        raise kind(self.group_id) if kind is GroupAuthorizationFailedError else kind()
    return answer
