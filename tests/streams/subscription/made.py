"""Events for a hub, made for tests."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from tests.streams.results_topic import Stored
from touchstone.schemas.settings.house import ServeSettings, TopicSettings
from touchstone.streams.subscription.events import Event, EventReader, Filter, Outcomes
from touchstone.streams.subscription.following import Wish, follow
from touchstone.streams.subscription.hub import Hub
from touchstone.streams.subscription.items import Batch, Item
from touchstone.streams.subscription.past import Past
from touchstone.streams.subscription.positions import Place, Positions, position_text, read_positions
from touchstone.streams.subscription.watcher import Outlet, Watcher

R0, R1, P0 = ("r", 0), ("r", 1), ("p", 0)
TOPICS = TopicSettings()
NOW_MS = 1_800_000_000_000


def result_bytes(name: str, **told: Any) -> bytes:
    document: dict[str, Any] = {
        "result_id": f"r-{name}",
        "event_id": name,
        "case_id": None,
        "kind": "safe",
        "suite": "one",
        "suite_version": "1",
        "config_digest": "d",
        "outcome": "scored",
        "label": "Pass",
        "values": {"score": 0.5},
        "findings": [],
        "failures": [],
        "attributes": {"concern_id": "c", "batch_id": "b"},
        "correlation": {},
        "source": {"topic": "touchstone.generations", "partition": 0, "offset": 1},
        "scored_at": "2026-01-01T00:00:00+00:00",
        "duration_ms": {},
    }
    return json.dumps(document | told, separators=(",", ":")).encode()


def report_bytes(batch: str, **told: Any) -> bytes:
    document = {
        "concern_id": "c",
        "batch_id": batch,
        "summary": {"total_cases": 1},
        "timestamp": "2026-01-01T00:00:00Z",
        "report_id": f"p-{batch}",
        "final": False,
    }
    return json.dumps(document | told, separators=(",", ":")).encode()


def record(place: Place, offset: int, value: bytes | None, kind: str = "touchstone.result", **headers: str) -> Stored:
    """A record of the results topic (`r`) or the reports topic (`p`)."""
    topic = TOPICS.results if place[0] == "r" else TOPICS.reports
    pairs = [("ce_type", kind.encode()), *((name, text.encode()) for name, text in headers.items())]
    return Stored(offset, value, pairs, place[1], topic=topic, timestamp=NOW_MS + offset)


def read(stored: Stored, suites: Mapping[str, Any] | None = None) -> Event | Outcomes | None:
    return EventReader(TOPICS, suites or {}).read(stored)


def event(name: str, place: Place = R0, offset: int = 0, **told: Any) -> Event:
    """A result event, or a report where the place is on the reports topic."""
    if place[0] == "p":
        found = read(record(place, offset, report_bytes(name, event_id=name), "one:v1:result"))
    else:
        found = read(record(place, offset, result_bytes(name, **told)))
    assert isinstance(found, Event)
    return found


def make_hub(start: Positions | None = None, **settings: Any) -> Hub:
    hub = Hub(ServeSettings(**settings))
    hub.begin({R0: 0, R1: 0, P0: 0} if start is None else start)
    hub.online()
    return hub


def publish(hub: Hub, *events: Event) -> None:
    hub.publish([(one.place, one.offset, one) for one in events])


def run_of(hub: Hub, count: int, place: Place = R0, **told: Any) -> list[Event]:
    """So many events after each other, published one by one; named by their place and offset."""
    made = []
    for _ in range(count):
        offset = hub.positions[place]
        made.append(event(f"{place[0]}{place[1]}.{offset}", place, offset, **told))
        publish(hub, made[-1])
    return made


class NoKafka(Past):
    """For streams that must do without reading Kafka."""

    def __init__(self, ends: Positions | None = None) -> None:
        self.ends = ends

    async def _bounds(self) -> tuple[Positions, Positions]:
        if self.ends is None:
            raise OSError
        return {}, self.ends

    async def read(self, *_: Any, **__: Any) -> AsyncIterator[Item]:
        raise AssertionError("Kafka was read")
        yield


def stream(hub: Hub, past: Past | None = None, outlet: Outlet | None = None, **wish: Any) -> tuple[AsyncIterator[Item], Watcher]:
    watcher = Watcher(hub.settings, hub.counts, outlet)
    chosen = wish.pop("chosen", Filter())
    return follow(hub, past or NoKafka(), Wish(chosen, **wish), watcher), watcher


def names(item: Item) -> list[str]:
    assert isinstance(item, Batch), item
    return [str(json.loads(seen.event.value)["event_id"]) for seen in item.seen]


async def next_batch(items: AsyncIterator[Item]) -> Batch:
    async for item in items:
        if isinstance(item, Batch):
            return item
    raise AssertionError("the stream has ended")


def compact(text: str) -> str:
    """The id of an event at these positions, written as people can read them."""
    positions = read_positions(text)
    assert positions is not None
    return position_text(positions)
