"""Latency against offered load: events arrive when they are due, whether or not the suite has answered the earlier ones."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from touchstone.ops.lab.bench.nli.suite import DRAIN_S, NotAllScored, Published, check_scored
from touchstone.ops.lab.bench.nli.workload import note_events, values_of
from touchstone.ops.lab.bench.streams.in_process import Record
from touchstone.scorers.summary.batch import percentile

if TYPE_CHECKING:
    from touchstone.ops.lab.bench.nli.suite import LiveSuite

#: Offered load as shares of the rate that the suite has with a backlog.
LOADS = (0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.2, 1.5)
#: Saturated: fewer events a second leave than this share of those that come.
KEEPS_UP = 0.9
EVENTS_MIN = 8


@dataclass(frozen=True, slots=True)
class Level:
    """One offered load. Milliseconds run from the moment an event was due, so that waiting for a busy suite counts (no coordinated omission)."""

    offered_per_s: float
    share: float
    events: int
    done_per_s: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    saturated: bool


async def climb(suite: LiveSuite, seconds: float, *, loads: Sequence[float] = LOADS, seed: str = "load") -> list[Level]:
    """Raise the load until the suite no longer keeps up."""
    backlog = 4 * EVENTS_MIN if seconds > 5 else EVENTS_MIN
    took, _ = await suite.run(values_of(note_events(backlog, f"{seed}-capacity")))
    most = backlog / took
    levels: list[Level] = []
    for load in loads:
        levels.append(await level(suite, load, load * most, seconds, f"{seed}-{load}"))
        if levels[-1].saturated:
            break
    return levels


async def level(suite: LiveSuite, share: float, rate: float, seconds: float, seed: str) -> Level:
    """Offer events at random moments, `rate` a second on average, and wait for the last result."""
    count = max(EVENTS_MIN, round(rate * seconds))
    due = arrivals(count, rate, seed)
    events = note_events(count, seed)
    published = Published()
    intake = suite.intake(published)
    begun = time.perf_counter()
    for number, (moment, value) in enumerate(zip(due, values_of(events), strict=True)):
        # Late or not: the next event is due when it is due, and its clock runs from then.
        if (ahead := begun + moment - time.perf_counter()) > 0:
            await asyncio.sleep(ahead)
        await intake.room()
        intake.start(("touchstone.generations", 0), [Record(number, value)])
    if not await intake.drain(DRAIN_S):
        raise NotAllScored("a load level did not drain")
    await intake.settle()
    check_scored(published, count)
    waits = sorted((published.at[event["id"]] - begun - moment) * 1000 for event, moment in zip(events, due, strict=True))
    # From the first to the last of each, so that the latency of a single event does not count.
    offered = (count - 1) / (due[-1] - due[0])
    done = (count - 1) / max(1e-9, max(published.at.values()) - min(published.at.values()))
    return Level(offered, share, count, done, percentile(waits, 0.5), percentile(waits, 0.99), waits[-1], saturated=done < KEEPS_UP * offered)


def arrivals(count: int, rate: float, seed: str) -> list[float]:
    """Seconds at which events are due: random gaps, the last event exactly when `rate` wants it."""
    chance = random.Random(seed)
    moment, moments = 0.0, []
    for _ in range(count):
        moment += chance.expovariate(1.0)
        moments.append(moment)
    return [each * count / rate / moment for each in moments]
