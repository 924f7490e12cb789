"""How far this machine's clock is from the cluster's.

Kafka tells its time in one answer only: DescribeQuorum, in which the leader of the metadata log (KRaft, since 3.3) says for itself "caught up at", and
that is its clock at this moment. Timestamps of records will not do: they are those of producers, and a backfill's are as old as its events.
"""

import time
from typing import Any

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import CompactArray, CompactString, Int16, Int32, Int64, Schema, TaggedFields

#: A smaller difference is of no consequence here.
TOLERANCE_S = 300.0
#: How often the cluster is asked.
INTERVAL_S = 60.0
_TOPIC, _PARTITION = "__cluster_metadata", 0


class ClusterClock:
    """Compares the clocks once a minute. `lead_s`: how far this machine is ahead, negative if behind; None where the cluster does not tell."""

    def __init__(self) -> None:
        self.lead_s: float | None = None
        self._asked_at = float("-inf")

    @property
    def off_s(self) -> float:
        """By how much this machine's clock is ahead of the cluster's (negative: behind), if that matters; else 0."""
        lead_s = self.lead_s
        return 0.0 if lead_s is None or abs(lead_s) <= TOLERANCE_S else lead_s

    def why(self) -> str:
        """As a reason for not being ready; empty if the clocks agree. Read from another thread."""
        lead_s = self.off_s
        if not lead_s:
            return ""
        side = "ahead of" if lead_s > 0 else "behind"
        return f"this machine's clock is {_spoken(abs(lead_s))} {side} the cluster's: correct the one that is wrong"

    async def look(self, client: AIOKafkaClient, node: int) -> None:
        """Ask a broker, if it is time to. Raises `OSError` or `TimeoutError`."""
        if time.monotonic() - self._asked_at < INTERVAL_S:
            return
        self._asked_at = time.monotonic()
        try:
            answer = await client.send(node, _Quorum())
        except (KafkaError, NotImplementedError):  # ZooKeeper, a cluster that only speaks Kafka's protocol, or one that does not allow the question
            self.lead_s = None
            return
        told_ms = _leaders_time_ms(answer.to_object())
        # The answer's way takes far less than the tolerance.
        self.lead_s = None if told_ms is None else time.time() - told_ms / 1000


def _leaders_time_ms(answer: dict[str, Any]) -> int | None:
    """The leader's clock; None if the answer does not hold it."""
    for topic in answer["topics"]:
        for partition in topic["partitions"]:
            for voter in partition["voters"]:
                if voter["replica_id"] == partition["leader_id"] and voter["caught_up_ms"] > 0:
                    return int(voter["caught_up_ms"])
    return None


def _spoken(seconds: float) -> str:
    """A duration in the unit that people would use."""
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"


_text = CompactString("utf-8")
_replicas = CompactArray(("replica_id", Int32), ("log_end_offset", Int64), ("fetched_ms", Int64), ("caught_up_ms", Int64), ("tags", TaggedFields))


class _Answer(Response):  # type: ignore[misc]
    """DescribeQuorum, version 1, the first with timestamps."""

    API_KEY = 55
    API_VERSION = 1
    SCHEMA = Schema(
        ("error_code", Int16),
        (
            "topics",
            CompactArray(
                ("topic", _text),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("error_code", Int16),
                        ("leader_id", Int32),
                        ("leader_epoch", Int32),
                        ("high_watermark", Int64),
                        ("voters", _replicas),
                        ("observers", _replicas),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class _Question(RequestStruct):  # type: ignore[misc]
    """Asks for the state of the metadata log, version 1."""

    FLEXIBLE_VERSION = True
    API_KEY = 55
    API_VERSION = 1
    RESPONSE_TYPE = _Answer
    SCHEMA = Schema(
        (
            "topics",
            CompactArray(("topic", _text), ("partitions", CompactArray(("partition", Int32), ("tags", TaggedFields))), ("tags", TaggedFields)),
        ),
        ("tags", TaggedFields),
    )


class _Quorum(Request[_Question]):  # type: ignore[misc]
    """The request as aiokafka's client takes it."""

    API_KEY = 55

    def build(self, request_struct_class: type[_Question]) -> _Question:
        return request_struct_class([(_TOPIC, [(_PARTITION, {})], {})], {})
