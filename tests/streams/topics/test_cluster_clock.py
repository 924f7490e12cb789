import time
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import ClusterAuthorizationFailedError, KafkaError

from touchstone.streams.topics.cluster_clock import INTERVAL_S, ClusterClock


class Cluster:
    """A client of a cluster whose clock is ahead of this machine's by so much, or that answers with an error."""

    def __init__(self, ahead_s: float = 0, error: Exception | None = None) -> None:
        self.ahead_s, self.error, self.asked = ahead_s, error, 0

    async def send(self, node: int, request: Any) -> Any:
        self.asked += 1
        if self.error is not None:
            raise self.error
        now_ms = int((time.time() + self.ahead_s) * 1000)
        # A follower's is when it had caught up, which may be long ago.
        voters = [{"replica_id": 2, "caught_up_ms": now_ms - 10**8}, {"replica_id": 1, "caught_up_ms": now_ms}]
        return SimpleNamespace(to_object=lambda: {"topics": [{"partitions": [{"leader_id": 1, "voters": voters}]}]})


@pytest.mark.parametrize(
    ("ahead_s", "said"),
    [
        (0, ""),
        (200, ""),
        (-200, ""),
        (7200, "2.0 h behind"),
        (-600, "10 min ahead of"),
    ],
)
async def test_a_clock_that_is_off_is_said(ahead_s: float, said: str) -> None:
    clock = ClusterClock()
    await clock.look(Cluster(ahead_s), 1)
    assert clock.why() == (said and f"this machine's clock is {said} the cluster's: correct the one that is wrong")


@pytest.mark.parametrize("error", [NotImplementedError(), ClusterAuthorizationFailedError(), KafkaError()])
async def test_a_cluster_that_does_not_tell_its_time_says_nothing_about_ours(error: Exception) -> None:
    clock = ClusterClock()
    clock.lead_s = 9_000
    await clock.look(Cluster(error=error), 1)
    assert clock.why() == ""


async def test_the_cluster_is_asked_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, cluster = ClusterClock(), Cluster()
    for _ in range(3):
        await clock.look(cluster, 1)
    assert cluster.asked == 1
    later = time.monotonic() + INTERVAL_S
    monkeypatch.setattr(time, "monotonic", lambda: later)
    await clock.look(cluster, 1)
    assert cluster.asked == 2
