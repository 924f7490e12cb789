"""Which topic a name means now: its id (KIP-516) and its partitions, from the brokers' metadata.

A topic that is deleted and made anew keeps its name and starts again at offset 0; only its id is another one. aiokafka asks for metadata in
versions without ids, so the request of version 10, the first with ids, is defined here. Brokers before Apache Kafka 2.8, and some that only
speak its protocol, have no ids: theirs is empty.
"""

import asyncio
import random
import time
from base64 import urlsafe_b64encode
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError, NodeNotReadyError, for_code
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.types import AbstractType, Boolean, CompactArray, CompactString, Int16, Int32, Schema, TaggedFields

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.streams.topics.cluster_clock import ClusterClock
from touchstone.streams.wire.clients import Unreachable, client_options, unreachable
from touchstone.streams.wire.closing import close_client

#: Kafka's error code of a topic that does not exist.
_UNKNOWN_TOPIC = 3
#: Transient states of a topic that exists: no leader, no listener, too few replicas.
_EXISTS = frozenset({0, 5, 9, 72})
_NO_ID = bytes(16)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the cluster has it now. `topic_id`: as Kafka's own tools write it (22 characters); empty where the broker has none."""

    topic_id: str
    partitions: int


class TopicMetadata:
    """Asks the cluster for topics, and now and then for its time, over a connection of its own. Not for several tasks at once."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._kafka = kafka
        self._client: AIOKafkaClient = None
        #: Broker → when it was asked and did not answer.
        self._silent: dict[int, float] = {}
        #: Broker → its rank, drawn once: many workers do not all ask the same one.
        self._rank: defaultdict[int, float] = defaultdict(random.random)
        self.clock = ClusterClock()

    async def read(self, names: Iterable[str]) -> dict[str, Topic]:
        """Name → topic, without those that do not exist; none is created. Raises `KafkaError`, `OSError` or `TimeoutError`.

        A broker that hangs takes the whole time; the next call asks another one first.
        """
        async with asyncio.timeout(self._kafka.probe_timeout_s):
            client = await self._connected()
            wanted, refused = sorted(set(names)), None
            nodes = [broker.nodeId for broker in client.cluster.brokers()]
            for node in sorted(nodes, key=lambda node: (self._silent.get(node, 0.0), self._rank[node])):
                self._silent[node] = time.monotonic()
                try:
                    answer = await self._ask(client, node, wanted)
                except NodeNotReadyError as error:
                    refused = error
                else:
                    del self._silent[node]
                    return _topics_of(answer)
            raise refused or NodeNotReadyError("the cluster names no broker")

    async def _ask(self, client: AIOKafkaClient, node: int, wanted: list[str]) -> Response:
        """One broker's answer."""
        await self.clock.look(client, node)
        try:
            return await client.send(node, _ById(wanted))
        except NotImplementedError:  # aiokafka's word for a broker without that version
            return await client.send(node, MetadataRequest(wanted, allow_auto_topic_creation=False))

    async def _connected(self) -> AIOKafkaClient:
        if self._client is None:
            client = AIOKafkaClient(**client_options(self._kafka))
            try:
                await client.bootstrap()
            except BaseException:
                await close_client(client.close)
                raise
            self._client = client
        return self._client

    async def close(self) -> None:
        """Disconnect, within a bound. It connects again if it is asked again."""
        client, self._client = self._client, None
        if client is not None:
            await close_client(client.close)


async def ids_of(kafka: KafkaSettings, names: Iterable[str]) -> dict[str, str]:
    """Name → its topic's id, of all these names; empty where the broker gives none. Raises `Unreachable`, also while a broker does not know one of them."""
    wanted = list(names)
    metadata = TopicMetadata(kafka)
    try:
        found = await metadata.read(wanted)
    except (KafkaError, OSError, TimeoutError) as error:
        raise Unreachable(unreachable(kafka, error)) from None
    finally:
        await metadata.close()
    missing = [name for name in wanted if name not in found]
    if missing:
        raise Unreachable(f"Kafka at {kafka.bootstrap_servers} does not know topic {missing[0]} (yet); check that it exists, and try again")
    return {name: found[name].topic_id for name in wanted}


def _topics_of(answer: Response) -> dict[str, Topic]:
    """The topics of an answer of either version. Raises `KafkaError` for a topic that may not be described."""
    topics: dict[str, Topic] = {}
    for entry in answer.to_object()["topics"]:
        if entry["error_code"] in _EXISTS:
            raw = entry.get("topic_id", _NO_ID)
            topics[entry["topic"]] = Topic("" if raw == _NO_ID else urlsafe_b64encode(raw).rstrip(b"=").decode(), len(entry["partitions"]))
        elif entry["error_code"] != _UNKNOWN_TOPIC:
            raise for_code(entry["error_code"])
    return topics


class _Uuid(AbstractType[bytes]):  # type: ignore[misc]
    """Sixteen bytes."""

    @classmethod
    def encode(cls, value: bytes) -> bytes:
        return value

    @classmethod
    def decode(cls, data: BytesIO) -> bytes:
        return data.read(16)


_text = CompactString("utf-8")
_numbers = CompactArray(Int32)


class _Answer(Response):  # type: ignore[misc]
    """Metadata, version 10."""

    API_KEY = 3
    API_VERSION = 10
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("brokers", CompactArray(("node_id", Int32), ("host", _text), ("port", Int32), ("rack", _text), ("tags", TaggedFields))),
        ("cluster_id", _text),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16),
                ("topic", _text),
                ("topic_id", _Uuid),
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", _numbers),
                        ("isr", _numbers),
                        ("offline_replicas", _numbers),
                        ("tags", TaggedFields),
                    ),
                ),
                ("authorized_operations", Int32),
                ("tags", TaggedFields),
            ),
        ),
        ("authorized_operations", Int32),
        ("tags", TaggedFields),
    )


class _Question(RequestStruct):  # type: ignore[misc]
    """Asks for metadata in version 10."""

    FLEXIBLE_VERSION = True
    API_KEY = 3
    API_VERSION = 10
    RESPONSE_TYPE = _Answer
    SCHEMA = Schema(
        ("topics", CompactArray(("topic_id", _Uuid), ("topic", _text), ("tags", TaggedFields))),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_authorized_operations", Boolean),
        ("include_topic_authorized_operations", Boolean),
        ("tags", TaggedFields),
    )


class _ById(Request[_Question]):  # type: ignore[misc]
    """The request as aiokafka's client takes it."""

    API_KEY = 3

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def build(self, request_struct_class: type[_Question]) -> _Question:
        return request_struct_class([(_NO_ID, name, {}) for name in self._names], False, False, False, {})
