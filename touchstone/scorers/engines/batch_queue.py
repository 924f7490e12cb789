"""A queue that hands out batches of similar length, each with the oldest item in it."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Generic, Protocol, TypeVar

#: Padding may be this share of a batch, or this share of the budget if that is more: splitting a batch costs another forward pass.
PADDING_SHARE_MAX = 0.08
PADDING_FREE_SHARE = 1 / 32


class Queued(Protocol):
    """Something with a length in tokens. `taken`: set by the queue."""

    length: int
    taken: bool


QueuedT = TypeVar("QueuedT", bound=Queued)
_length = attrgetter("length")


def rounded(length: int, step: int) -> int:
    """The next multiple of `step`."""
    return -(-length // step) * step


def spread(lengths: Sequence[int], at: int, *, budget: int, step: int = 1) -> tuple[int, int]:
    """The range [low, high) of ascending `lengths` to run together with the one at `at`.

    It grows to the side that adds less padding until the next item would break the budget of padded tokens or the bound on padding.
    """
    low, high, real = at, at + 1, lengths[at]
    free = budget * PADDING_FREE_SHARE
    longest = rounded(lengths[at], step)
    while True:
        count = high - low + 1
        best: tuple[int, bool, int, int] | None = None
        for up, neighbour in ((True, high), (False, low - 1)):
            if not 0 <= neighbour < len(lengths):
                continue
            length = lengths[neighbour]
            top = max(longest, rounded(length, step))
            padded = top * count
            padding = padded - real - length
            if padded <= budget and padding <= max(free, PADDING_SHARE_MAX * padded) and (best is None or padding < best[0]):
                best = (padding, up, top, length)
        if best is None:
            return low, high
        _, up, longest, length = best
        real += length
        low, high = (low, high + 1) if up else (low - 1, high)


class LookAhead(Generic[QueuedT]):
    """Items in arrival order, of which the first `items_max` are sorted by length.

    Every batch contains the oldest item, so an item waits for at most as many batches as there were items before it, whatever arrives later.
    """

    def __init__(self, items_max: int, *, step: int = 1) -> None:
        self._items_max = items_max
        self._step = step
        self._window: list[QueuedT] = []  # ascending by length; equals in arrival order
        self._sorted = True
        self._order: deque[QueuedT] = deque()  # the window by arrival; taken items are removed later
        self._beyond: deque[QueuedT] = deque()
        self.tokens = 0

    def __len__(self) -> int:
        return len(self._window) + len(self._beyond)

    def __iter__(self) -> Iterator[QueuedT]:
        yield from self._window
        yield from self._beyond

    def add(self, item: QueuedT) -> None:
        """Queue one item."""
        self.tokens += item.length
        self._beyond.append(item)
        if len(self._window) < self._items_max:
            self._fill()

    def oldest(self) -> QueuedT:
        """The item that has waited longest. Raises: IndexError if the queue is empty."""
        while self._order[0].taken:
            self._order.popleft()
        return self._order[0]

    def take(self, budget: int) -> list[QueuedT]:
        """Remove and return a batch around the oldest item: ascending lengths, at most `budget` padded tokens unless it is one item."""
        oldest = self.oldest()
        if not self._sorted:
            self._window.sort(key=_length)
            self._sorted = True
        lengths = [item.length for item in self._window]
        low, high = spread(lengths, bisect_left(lengths, oldest.length), budget=budget, step=self._step)
        batch = self._window[low:high]
        del self._window[low:high]
        for item in batch:
            item.taken = True
            self.tokens -= item.length
        self._fill()
        return batch

    def purge(self, unwanted: Callable[[QueuedT], bool]) -> list[QueuedT]:
        """Remove and return items that no call waits for any more."""
        gone = [item for item in self if unwanted(item)]
        if gone:
            for item in gone:
                item.taken = True
                self.tokens -= item.length
            self._window = [item for item in self._window if not item.taken]
            self._beyond = deque(item for item in self._beyond if not item.taken)
            self._fill()
        return gone

    def _fill(self) -> None:
        while self._beyond and len(self._window) < self._items_max:
            item = self._beyond.popleft()
            self._window.append(item)
            self._order.append(item)
            self._sorted = False
        if len(self._order) > 2 * len(self._window) + 1024:
            self._order = deque(item for item in self._order if not item.taken)
