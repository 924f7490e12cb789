"""One watcher's stream: from a snapshot or from an earlier position to the present, and then live. Nothing is missed, and nothing comes twice.

Ids are positions in all partitions, so a watcher may come back to any instance. An instance that meets the partitions in another order
goes by the positions alone: until it is ahead of them in every partition, each event is compared with them.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

from touchstone.streams.subscription.events import Filter
from touchstone.streams.subscription.hub import CAUGHT_UP, PROGRESS_S, SNAPSHOT_AFTER_RESET, Hub, pieces
from touchstone.streams.subscription.items import Beat, Closing, Item, Reset, ResetReason
from touchstone.streams.subscription.past import Past, PositionLost
from touchstone.streams.subscription.positions import Clock, Positions, TopicIds, covers
from touchstone.streams.subscription.watcher import Watcher
from touchstone.streams.subscription.window import Seen
from touchstone.streams.telemetry.metric_list import Way

PAGE_EVENTS = 500


@dataclass(frozen=True, slots=True)
class Wish:
    """What a watcher asks for. `since`: positions to continue from; `lost`: why its position cannot be continued here.

    `snapshot`: how many of the latest matching events come first, if there is no position. `note`: for the first message.
    """

    chosen: Filter
    since: Positions | None = None
    topics: TopicIds = field(default_factory=dict)
    snapshot: int = 0
    lost: ResetReason | None = None
    note: str = ""


async def follow(hub: Hub, past: Past, wish: Wish, watcher: Watcher) -> AsyncGenerator[Item, None]:
    """The items of one stream, without end. `Closing` is the last one. The caller is done with `watcher` when this is closed."""
    if wish.note:
        yield Beat(note=wish.note)
    while not hub.live.is_set():
        yield Beat(note=hub.progress or "waiting for kafka")
        await _either(hub.live.wait(), min(PROGRESS_S, hub.settings.heartbeat_s))
    generation, reason = hub.generation, wish.lost
    if wish.since is not None and reason is None and not hub.closing:
        try:
            async with aclosing(_from(hub, past, wish)) as items:
                async for item in items:
                    yield item
        except PositionLost as lost:
            reason = lost.reason
    if hub.closing:
        yield Closing()
        return
    if hub.generation != generation:
        reason = hub.lost
    try:
        # No pause between the last look at the window and joining: what comes next comes through the queue.
        if reason is not None:
            hub.counts.resume("reset")
            watcher.add_notice(Reset(reason))
        if reason is not None or wish.since is None:
            hub.snapshot(watcher, wish.chosen, max(wish.snapshot, SNAPSHOT_AFTER_RESET) if reason is not None else wish.snapshot)
        else:
            watcher.add_notice(Beat(hub.id, CAUGHT_UP))
        hub.join(watcher, wish.chosen)
        while True:
            item = await watcher.take()
            yield item
            if isinstance(item, Closing):
                return
    finally:
        hub.leave(watcher, wish.chosen)


async def _from(hub: Hub, past: Past, wish: Wish) -> AsyncGenerator[Item, None]:
    """Everything from the positions to the present; after it, the watcher continues from its queue without a gap."""
    assert wish.since is not None
    reached = dict(wish.since)
    generation = hub.generation
    await past.check(hub, reached, wish.topics)
    way: Way = "memory"
    while hub.generation == generation and not hub.closing:
        behind = {place: offset for place, offset in hub.window.start.items() if reached.get(place, 0) < offset}
        if behind:
            way = "kafka"
            async with aclosing(past.read(hub, reached, behind, wish.chosen)) as items:
                noted = False
                async for item in items:
                    if not noted:
                        noted = True
                        yield Beat(note="catching up")
                    yield item
            continue
        number = hub.window.first
        while number >= hub.window.first and hub.generation == generation and not hub.closing:
            page = hub.window.page(number, PAGE_EVENTS)
            number += len(page)
            for batch in pieces(_wanted(page, reached, wish.chosen, hub.topics)):
                yield batch
            if number < hub.window.next:
                await asyncio.sleep(0)
            elif covers(hub.positions, reached):
                hub.counts.resume(way)
                return
            else:  # the watcher has seen more than this instance
                await _either(hub.published(), hub.settings.heartbeat_s)


def _wanted(page: list[Seen], reached: Positions, chosen: Filter, topics: TopicIds) -> list[Seen]:
    """The events of a page that the watcher has not seen and wants, with ids of its own; `reached` moves along."""
    found: list[Seen] = []
    clock = Clock(reached, topics)
    for seen in page:
        event = seen.event
        if event.offset >= reached.get(event.place, 0):
            reached[event.place] = event.offset + 1
            clock.advance(event.place, event.offset + 1)
            if chosen.admits(event):
                found.append(Seen(clock.text, event))
    return found


async def _either(coming: Coroutine[Any, Any, Any], seconds: float) -> None:
    """Wait for something, but no longer than this."""
    with suppress(TimeoutError):
        await asyncio.wait_for(coming, seconds)
