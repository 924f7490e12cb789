"""The latest events in memory, bounded in number and bytes: for summaries, for snapshots, and for watchers who come back soon."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from touchstone.streams.subscription.events import Event, Outcomes
from touchstone.streams.subscription.positions import Place, Positions

#: Batches whose reports are kept, and reports kept of each.
BATCHES_MAX = 1_000
REPORTS_MAX = 20
OUTCOMES_MAX = 50_000
#: What an event takes besides its bytes, roughly.
EVENT_BYTES = 1_500


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """An event with its id: the positions right after it, in this process's order."""

    id: str
    event: Event


class Window:
    """A ring of events. `start`: per partition, the offset from which on every event is in it. Numbers count events since the process started."""

    def __init__(self, start: Mapping[Place, int], events_max: int, bytes_max: int) -> None:
        self.start: Positions = dict(start)
        self._slots: list[Seen | None] = [None] * events_max
        self._bytes_max = bytes_max
        self._bytes = 0
        self.first = 0
        self.next = 0
        #: True if there were events before the first one: the log's own beginning may be later than what was asked for.
        self.is_cut = any(self.start.values())
        self.results: dict[str, Seen] = {}
        self.batches: OrderedDict[str, deque[Seen]] = OrderedDict()
        self.outcomes: deque[Outcomes] = deque(maxlen=OUTCOMES_MAX)

    def __len__(self) -> int:
        return self.next - self.first

    @property
    def bytes(self) -> int:
        """Roughly what it takes of memory."""
        return self._bytes

    def add(self, seen: Seen) -> None:
        """Add the latest event; the oldest give way."""
        size = len(seen.event.value) + EVENT_BYTES
        while len(self) and (len(self) == len(self._slots) or self._bytes + size > self._bytes_max):
            self._drop()
        self._slots[self.next % len(self._slots)] = seen
        self.next += 1
        self._bytes += size
        event = seen.event
        if event.is_result:
            self.results[event.key] = seen
        elif event.is_report:
            self.batches.setdefault(event.key, deque(maxlen=REPORTS_MAX)).append(seen)
            self.batches.move_to_end(event.key)
            if len(self.batches) > BATCHES_MAX:
                self.batches.popitem(last=False)

    def _drop(self) -> None:
        slot = self.first % len(self._slots)
        seen = self._slots[slot]
        assert seen is not None
        self._slots[slot] = None
        self.first += 1
        event = seen.event
        self._bytes -= len(event.value) + EVENT_BYTES
        self.start[event.place] = event.offset + 1
        self.is_cut = True
        if self.results.get(event.key) is seen:
            del self.results[event.key]

    def page(self, number: int, most: int) -> list[Seen]:
        """Up to `most` events from one number on, in order."""
        found = (self._slots[place % len(self._slots)] for place in range(max(number, self.first), min(number + most, self.next)))
        return [seen for seen in found if seen is not None]

    def backwards(self) -> Iterator[Seen]:
        """The events, the latest first."""
        for number in range(self.next - 1, self.first - 1, -1):
            seen = self._slots[number % len(self._slots)]
            if seen is not None:
                yield seen

    def last(self, most: int, admits: Callable[[Event], bool]) -> list[Seen]:
        """The last events that are wanted, in order."""
        found: list[Seen] = []
        for seen in self.backwards():
            if len(found) >= most:
                break
            if admits(seen.event):
                found.append(seen)
        return found[::-1]

    def current(self, since_ms: float, admits: Callable[[Event], bool]) -> list[Seen]:
        """The results of the last time, each once as it was scored last; the latest first."""
        kept = self.results
        return [seen for seen in self.backwards() if seen.event.at_ms >= since_ms and kept.get(seen.event.key) is seen and admits(seen.event)]
