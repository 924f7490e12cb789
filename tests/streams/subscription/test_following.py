import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.streams.subscription.made import P0, R0, R1, NoKafka, compact, event, make_hub, names, next_batch, publish, run_of, stream
from touchstone.streams.subscription.events import Event, Filter
from touchstone.streams.subscription.hub import Hub, pieces
from touchstone.streams.subscription.items import Batch, Beat, Item, Reset
from touchstone.streams.subscription.positions import Place, Positions, position_text, read_positions, read_topic_ids
from touchstone.streams.subscription.window import Seen


class Log(NoKafka):
    """Every event that a hub ever had, in place of Kafka; `begins`: what retention has left."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []
        self.begins: Positions = {}

    async def read(self, hub: Hub, reached: Positions, target: Any, chosen: Filter) -> AsyncIterator[Item]:
        """The range, as `Past.read` gives it."""
        from touchstone.streams.subscription.past import PositionLost

        if any(reached.get(place, 0) < begin for place, begin in self.begins.items()):
            raise PositionLost("expired")
        for one in self.events:
            if reached.get(one.place, 0) <= one.offset < target.get(one.place, 0):
                reached[one.place] = one.offset + 1
                if chosen.admits(one):
                    yield Batch([Seen(position_text(reached), one)])
                await asyncio.sleep(0)
        for place, offset in target.items():
            reached[place] = max(reached.get(place, 0), offset)


async def test_without_a_wish_a_stream_begins_now() -> None:
    hub = make_hub()
    run_of(hub, 3)
    items = stream(hub)[0]
    assert await anext(items) == Beat(compact("r0.3-r1.0-p0.0"))
    run_of(hub, 1)
    assert names(await anext(items)) == ["r0.3"]


async def test_a_snapshot_is_the_last_events_that_the_watcher_wants() -> None:
    hub = make_hub()
    for label in ("Fail", "Pass", "Fail", "Pass", "Fail"):
        run_of(hub, 1, label=label)
    items = stream(hub, chosen=Filter(labels=frozenset({"Fail"})), snapshot=2)[0]
    assert names(await anext(items)) == ["r0.2", "r0.4"]
    assert await anext(items) == Beat(compact("r0.5-r1.0-p0.0"))


async def test_events_that_come_while_a_snapshot_is_sent_follow_it() -> None:
    hub = make_hub()
    run_of(hub, 3)
    items = stream(hub, snapshot=2)[0]
    assert names(await anext(items)) == ["r0.1", "r0.2"]
    run_of(hub, 2)
    await anext(items)
    assert [names(await anext(items))[0] for _ in range(2)] == ["r0.3", "r0.4"]


@pytest.mark.parametrize(("since", "reason"), [({R0: 99, R1: 0, P0: 0}, "future"), ({R0: 1, ("r", 7): 0}, "unknown")])
async def test_a_position_that_means_nothing_here_gives_a_reset_and_a_snapshot(since: Positions, reason: Any) -> None:
    hub = make_hub()
    run_of(hub, 2)
    items = stream(hub, NoKafka({R0: 2, R1: 0, P0: 0}), since=since)[0]
    assert await anext(items) == Reset(reason)
    assert names(await anext(items)) == ["r0.0", "r0.1"]


async def test_a_position_that_kafka_no_longer_has_gives_a_reset() -> None:
    hub, log = make_hub(window_events=2), Log()
    log.events += run_of(hub, 6)
    log.begins = {R0: 3}
    assert await anext(stream(hub, log, since={R0: 1, R1: 0, P0: 0})[0]) == Reset("expired")


async def test_a_position_within_the_window_is_continued_without_kafka() -> None:
    hub = make_hub()
    run_of(hub, 5)
    items = stream(hub, since={R0: 3, R1: 0, P0: 0})[0]
    assert names(await anext(items)) == ["r0.3", "r0.4"]
    run_of(hub, 1)
    assert names(await next_batch(items)) == ["r0.5"]


async def test_what_has_left_the_window_is_read_from_kafka() -> None:
    hub, log = make_hub(window_events=2), Log()
    log.events += run_of(hub, 6)
    items = stream(hub, log, since={R0: 1, R1: 0, P0: 0})[0]
    found: list[str] = []
    while len(found) < 5:
        found += names(await next_batch(items))
    assert found == [f"r0.{number}" for number in range(1, 6)]


async def test_a_watcher_that_has_seen_more_than_this_instance_gets_nothing_twice() -> None:
    hub = make_hub()
    publish(hub, event("r0.0", R0, 0))
    items = stream(hub, NoKafka({R0: 3, R1: 3, P0: 0}), since={R0: 0, R1: 2, P0: 0})[0]
    first = await anext(items)
    assert names(first) == ["r0.0"]
    assert isinstance(first, Batch)
    assert first.seen[0].id == compact("r0.1-r1.2-p0.0")  # never back behind what it came with
    waiting = asyncio.ensure_future(next_batch(items))
    await asyncio.sleep(0)
    run_of(hub, 3, R1)
    assert names(await asyncio.wait_for(waiting, 30)) == ["r1.2"]


MOVES = st.lists(st.sampled_from([R0, R1, P0]), min_size=1, max_size=60)


@given(order=MOVES, other=st.randoms(use_true_random=False), cut=st.integers(0, 60), size=st.integers(1, 40), live=st.integers(0, 20), piece=st.integers(1, 7))
def test_from_any_position_of_another_instance_everything_comes_exactly_once(
    order: list[Place], other: Any, cut: int, size: int, live: int, piece: int
) -> None:
    """Two instances meet the same partitions in different orders; a watcher goes from one to the other at any of its ids."""
    counts: dict[Place, int] = {}
    events: list[Event] = []
    for place in order:
        offset = counts.get(place, 0)
        counts[place] = offset + 1
        events.append(event(f"{place[0]}{place[1]}.{offset}", place, offset))
    seen_before = events[: min(cut, len(events))]
    since: Positions = dict.fromkeys((R0, R1, P0), 0)
    for one in seen_before:
        since[one.place] = one.offset + 1

    async def main() -> list[str]:
        hub, log = make_hub(window_events=size), Log()
        log.ends = counts | dict.fromkeys({R0, R1, P0} - counts.keys(), 0)
        queues = {place: [one for one in events if one.place == place] for place in counts}
        shuffled: list[Event] = []
        while any(queues.values()):
            shuffled.append(queues[other.choice([place for place, queue in queues.items() if queue])].pop(0))
        log.events = shuffled
        split = max(0, len(shuffled) - live)
        early, late = shuffled[:split], shuffled[split:]
        publish(hub, *early)
        items = stream(hub, log, since=since)[0]
        found: list[str] = []
        last = since

        async def watch() -> None:
            nonlocal last
            async for item in items:
                if isinstance(item, Batch):
                    for one in item.seen:
                        found.append(f"{one.event.place[0]}{one.event.place[1]}.{one.event.offset}")
                        positions = read_positions(one.id)
                        assert positions is not None
                        assert all(positions[place] >= offset for place, offset in last.items())
                        last = positions
                assert not isinstance(item, Reset)

        watching = asyncio.ensure_future(watch())
        for start in range(0, len(late), piece):
            await asyncio.sleep(0)
            publish(hub, *late[start : start + piece])
        while not watching.done() and len(found) < len(events) - len(seen_before):  # noqa: ASYNC110
            await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        assert not hub.counts._queued
        return found

    found = asyncio.run(main())
    missing = {f"{one.place[0]}{one.place[1]}.{one.offset}" for one in events} - {f"{one.place[0]}{one.place[1]}.{one.offset}" for one in seen_before}
    assert sorted(found) == sorted(missing)
    for place in counts:
        of_place = [int(name.split(".")[1]) for name in found if name.startswith(f"{place[0]}{place[1]}.")]
        assert of_place == sorted(of_place)


def test_pieces_of_nothing_are_none() -> None:
    assert list(pieces([])) == []


@pytest.mark.parametrize(("topics", "is_lost"), [({"r": b"a" * 16}, True), ({"r": b"b" * 16}, False), ({}, False)])
async def test_a_position_in_another_topic_of_the_name_is_not_continued(topics: dict[str, bytes], is_lost: bool) -> None:
    hub = make_hub()
    hub.begin({R0: 0, R1: 0, P0: 0}, topics={"r": b"b" * 16})
    run_of(hub, 3)
    first = await anext(stream(hub, since={R0: 1, R1: 0, P0: 0}, topics=topics)[0])
    assert isinstance(first, Reset) is is_lost
    if not is_lost:
        assert isinstance(first, Batch)
        assert {read_topic_ids(seen.id)["r"] for seen in first.seen} == {b"b" * 16}
