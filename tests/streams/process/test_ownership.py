"""Which input partitions a worker calls unread."""

import asyncio
from typing import Any

from tests.streams.fakes import GatedPublisher, make_intake
from touchstone.schemas.settings.house import Settings
from touchstone.streams.process.ownership import Ownership
from touchstone.streams.runners.base import Job
from touchstone.streams.topics.identity import Topic


class Cluster:
    """The topics, and what the members of the group have; None: a rebalance is under way."""

    def __init__(self, partitions: int, owned: set[tuple[str, int]] | None) -> None:
        self.topics = {"events": Topic("id", partitions)}
        self.owned = owned

    async def read(self, names: Any) -> dict[str, Topic]:
        return self.topics

    async def members(self) -> set[tuple[str, int]] | None:
        return self.owned


def make(cluster: Cluster, mine: set[tuple[str, int]]) -> tuple[Ownership, Job]:
    intake, metrics = make_intake(GatedPublisher())
    job = Job(Settings(), intake, metrics, ("events",), "group", asyncio.Event())
    job.on_assigned(mine)
    ownership = Ownership(job)
    ownership._metadata, ownership._owned = cluster, cluster.members  # type: ignore[assignment, method-assign]
    return ownership, job


async def test_what_other_members_read_is_not_unread_and_one_member_reports_the_rest() -> None:
    cluster = Cluster(4, {("events", 0), ("events", 1), ("events", 2)})
    (first, _), (second, _) = make(cluster, {("events", 0)}), make(cluster, {("events", 1), ("events", 2)})
    for ownership in (first, second):
        await ownership.look()
        assert ownership.unread.why() == "no worker of the group reads events[3]"
    assert (first.unread.ours, second.unread.ours) == (True, False)
    cluster.owned = {("events", number) for number in range(4)}
    await first.look()
    assert first.unread.why() == ""


async def test_while_a_rebalance_is_under_way_nobody_is_blamed_anew_and_nothing_is_forgiven() -> None:
    cluster = Cluster(2, None)
    ownership, job = make(cluster, {("events", 0)})
    await ownership.look()
    assert ownership.unread.why() == ""
    cluster.owned = {("events", 0)}
    await ownership.look()
    assert ownership.unread.why() == "no worker of the group reads events[1]"
    job.on_revoked()
    cluster.owned = set()
    await ownership.look()
    assert ownership.unread.why() == "no worker of the group reads events[1]"


async def test_a_topic_that_does_not_exist_is_named() -> None:
    cluster = Cluster(2, set())
    cluster.topics = {}
    ownership, _ = make(cluster, {("events", 0), ("events", 1)})
    await ownership.look()
    assert ownership.unread.why() == "missing topic events"


async def test_many_partitions_are_counted() -> None:
    ownership, _ = make(Cluster(9, {("events", 0)}), {("events", 0)})
    await ownership.look()
    assert ownership.unread.why() == "no worker of the group reads events[1], events[2], events[3], events[4], events[5] and 3 more"
