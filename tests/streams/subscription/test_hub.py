import asyncio

from tests.streams.subscription.made import P0, R0, R1, compact, event, make_hub, names, next_batch, publish, run_of, stream
from touchstone.streams.subscription.events import Filter
from touchstone.streams.subscription.hub import PIECE_BYTES, pieces
from touchstone.streams.subscription.items import Batch, Beat, Closing, Gap, Item, Reset


async def test_every_watcher_gets_every_event_in_order() -> None:
    hub = make_hub()
    first, second = stream(hub)[0], stream(hub)[0]
    assert isinstance(await anext(first), Beat)
    assert isinstance(await anext(second), Beat)
    made = run_of(hub, 3)
    for items in (first, second):
        assert [names(await anext(items))[0] for _ in made] == ["r0.0", "r0.1", "r0.2"]


async def test_watchers_with_the_same_filter_share_what_is_encoded() -> None:
    hub = make_hub()
    first, second = stream(hub)[0], stream(hub)[0]
    await anext(first)
    await anext(second)
    run_of(hub, 1)
    assert await anext(first) is await anext(second)


async def test_each_watcher_gets_what_its_filter_admits() -> None:
    hub = make_hub()
    passes, all_of_two = stream(hub, chosen=Filter(labels=frozenset({"Pass"})))[0], stream(hub, chosen=Filter(scope=frozenset({"two"})))[0]
    await anext(passes)
    await anext(all_of_two)
    publish(hub, event("a", offset=0, label="Fail"), event("b", offset=1), event("c", offset=2, suite="two", label="Fail"))
    assert names(await anext(passes)) == ["b"]
    assert names(await anext(all_of_two)) == ["c"]


async def test_an_id_is_the_position_after_its_event_in_every_partition() -> None:
    hub = make_hub()
    items = stream(hub)[0]
    await anext(items)
    publish(hub, event("a", R0, 0), event("b", R1, 0), event("c", R0, 1))
    batch = await anext(items)
    assert isinstance(batch, Batch)
    assert [seen.id for seen in batch.seen] == [compact("r0.1-r1.0-p0.0"), compact("r0.1-r1.1-p0.0"), compact("r0.2-r1.1-p0.0")]


async def test_records_that_are_not_sent_move_the_position() -> None:
    hub = make_hub()
    hub.publish([(R0, 0, None), (R0, 1, event("a", R0, 1))])
    assert hub.id == compact("r0.2-r1.0-p0.0")


async def test_a_full_queue_gives_a_gap_between_what_came_before_and_after_it() -> None:
    hub = make_hub(queue_events=2)
    items, watcher = stream(hub)
    await anext(items)
    run_of(hub, 5)
    assert names(await anext(items)) == ["r0.0"]
    run_of(hub, 1)  # the queue has room, but order is kept: it belongs to the gap
    assert names(await anext(items)) == ["r0.1"]
    assert await anext(items) == Gap(4, compact("r0.2-r1.0-p0.0"))
    run_of(hub, 1)
    assert names(await anext(items)) == ["r0.6"]
    assert watcher.is_idle


async def test_a_gap_counts_only_what_the_watcher_wants() -> None:
    hub = make_hub(queue_events=1)
    items = stream(hub, chosen=Filter(labels=frozenset({"Fail"})))[0]
    await anext(items)
    run_of(hub, 1, label="Fail")
    run_of(hub, 7)
    run_of(hub, 2, label="Fail")
    assert names(await anext(items)) == ["r0.0"]
    # Where the gap begins, nothing that the watcher wants has been passed over.
    assert await anext(items) == Gap(2, compact("r0.8-r1.0-p0.0"))


async def test_from_where_a_gap_begins_everything_dropped_can_be_had() -> None:
    hub = make_hub(queue_events=2)
    items = stream(hub)[0]
    await anext(items)
    run_of(hub, 6)
    gap = [await anext(items) for _ in range(3)][-1]
    assert isinstance(gap, Gap)
    from touchstone.streams.subscription.positions import read_positions

    again = stream(hub, since=read_positions(gap.resume))[0]
    assert names(await next_batch(again)) == ["r0.2", "r0.3", "r0.4", "r0.5"]


async def test_a_watcher_that_takes_nothing_delays_and_costs_nobody() -> None:
    hub = make_hub(queue_events=10)
    stalled, quick = stream(hub)[0], stream(hub)[0]
    await anext(stalled)
    await anext(quick)
    for round_ in range(100):
        run_of(hub, 1)
        assert names(await asyncio.wait_for(anext(quick), 5)) == [f"r0.{round_}"]
    assert [names(await anext(stalled))[0] for _ in range(10)] == [f"r0.{number}" for number in range(10)]
    assert await anext(stalled) == Gap(90, compact("r0.10-r1.0-p0.0"))


async def test_a_queue_is_bounded_in_bytes_but_takes_one_event_of_any_size() -> None:
    hub = make_hub(queue_bytes=65_536)
    items = stream(hub)[0]
    await anext(items)
    run_of(hub, 2, details={"long": "x" * 100_000})
    assert names(await anext(items)) == ["r0.0"]
    assert isinstance(await anext(items), Gap)


async def test_large_events_are_sent_in_pieces() -> None:
    hub = make_hub()
    made = run_of(hub, 10, details={"long": "x" * 20_000})
    batches = list(pieces(hub.window.last(10, lambda _: True)))
    assert len(batches) == 4
    assert all(sum(len(seen.event.value) for seen in batch.seen) <= PIECE_BYTES for batch in batches)
    assert [seen.event for batch in batches for seen in batch.seen] == made


async def test_a_quiet_stream_carries_signs_of_life_with_its_position() -> None:
    hub = make_hub(heartbeat_s=0.1)
    items = stream(hub, chosen=Filter(labels=frozenset({"Fail"})))[0]
    await anext(items)
    ticking = asyncio.create_task(hub.tick())
    run_of(hub, 3)  # which this watcher does not want
    beat = await asyncio.wait_for(anext(items), 30)
    ticking.cancel()
    assert beat == Beat(compact("r0.3-r1.0-p0.0"))


async def test_an_outage_is_told_and_events_go_on_after_it() -> None:
    hub = make_hub()
    items = stream(hub)[0]
    await anext(items)
    hub.offline("the broker does not answer")
    hub.offline("the broker does not answer")
    hub.online()
    run_of(hub, 1)
    told: list[Item] = [await anext(items) for _ in range(3)]
    assert told[:2] == [Beat(note="kafka is away"), Beat(note="kafka is back")]
    assert names(told[2]) == ["r0.0"]


async def test_topics_that_were_replaced_give_everyone_a_reset_and_what_is_there_now() -> None:
    hub = make_hub()
    items = stream(hub, chosen=Filter(labels=frozenset({"Pass"})))[0]
    await anext(items)
    run_of(hub, 5)
    new = [event("n0", R0, 0), event("n1", R0, 1, label="Fail"), event("n2", R0, 2)]
    hub.begin({R0: 0, P0: 0}, [(one.place, one.offset, one) for one in new], "future")
    assert await anext(items) == Reset("future")
    assert names(await anext(items)) == ["n0", "n2"]
    assert await anext(items) == Beat(compact("r0.3-p0.0"))


async def test_closing_is_the_last_item_and_comes_after_what_is_queued() -> None:
    hub = make_hub()
    items = stream(hub)[0]
    await anext(items)
    run_of(hub, 1)
    hub.close()
    rest = [item async for item in items]
    assert names(rest[0]) == ["r0.0"]
    assert rest[1] == Closing(None)
    assert [item async for item in stream(hub)[0]] == [Closing()]


async def test_a_watcher_that_leaves_is_forgotten() -> None:
    hub = make_hub()
    items = stream(hub)[0]
    await anext(items)
    assert hub.watchers == 1
    run_of(hub, 3)
    await items.aclose()  # type: ignore[attr-defined]
    assert hub.watchers == 0
    assert hub.counts._queued == 0


async def test_a_client_that_has_taken_everything_is_handed_events_without_its_task() -> None:
    hub = make_hub()
    handed: list[Batch] = []
    items, watcher = stream(hub, outlet=lambda batch: handed.append(batch) is None)
    await anext(items)
    waits = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0)
    run_of(hub, 2)
    assert [names(batch) for batch in handed] == [["r0.0"], ["r0.1"]]
    await asyncio.sleep(0)
    assert not waits.done()
    assert watcher.is_idle
    waits.cancel()


async def test_nothing_overtakes_what_a_task_still_has_to_send() -> None:
    hub = make_hub()
    handed: list[Batch] = []
    takes = iter([True, False])
    items = stream(hub, outlet=lambda batch: next(takes) and handed.append(batch) is None)[0]
    await anext(items)
    waits = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0)
    run_of(hub, 3)  # the connection takes the first; the others are the task's, though it would take them again
    assert [names(batch) for batch in handed] == [["r0.0"]]
    assert names(await waits) == ["r0.1"]
    run_of(hub, 1)
    assert [names(await anext(items)) for _ in range(2)] == [["r0.2"], ["r0.3"]]


async def test_a_sign_of_life_is_sent_before_the_events_after_it() -> None:
    hub = make_hub()
    handed: list[Batch] = []
    items = stream(hub, outlet=lambda batch: handed.append(batch) is None)[0]
    await anext(items)
    waits = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0)
    hub.offline("the broker does not answer")
    run_of(hub, 1)
    assert await waits == Beat(note="kafka is away")
    assert names(await anext(items)) == ["r0.0"]
    assert not handed
