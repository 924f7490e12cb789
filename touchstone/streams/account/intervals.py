"""Offsets of one partition as intervals, each with its outcome: an algebra in which order and repetition do not matter.

At every offset the strongest claim wins, so `fold` is commutative, associative and idempotent: results and ledger
records may arrive in any order, twice, or from a replay after a change of code, and the account is the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from touchstone.schemas.result import Outcome

#: The stronger outcome wins where two claim an offset. An event that was scored once has its result, whatever a replay
#: says later; a dead letter outranks a shed event, and a skipped event that. An event that
#: any worker has read has not expired, so that is the weakest claim.
STRENGTH: dict[Outcome, int] = {"expired": 0, "skipped": 1, "shed": 2, "dead": 3, "scored": 4}

#: First and last offset, both included.
Span = tuple[int, int]


class Interval(NamedTuple):
    """Consecutive offsets, `first` to `last` inclusive, that ended in the same outcome for the same reason."""

    first: int
    last: int
    outcome: Outcome
    reason: str = ""

    @property
    def length(self) -> int:
        """How many offsets it covers."""
        return self.last - self.first + 1


def runs(offsets: Iterable[int]) -> list[Span]:
    """Group offsets, in any order and with repeats, into maximal consecutive spans, ascending."""
    return runs_of_ascending(sorted(offsets))


def runs_of_ascending(offsets: Iterable[int]) -> list[Span]:
    """The same for offsets that ascend already, held one at a time."""
    spans: list[Span] = []
    first = last = -2
    for offset in offsets:
        if offset <= last + 1 and last >= 0:
            last = offset
            continue
        if last >= 0:
            spans.append((first, last))
        first = last = offset
    if last >= 0:
        spans.append((first, last))
    return spans


def fold(intervals: Iterable[Interval]) -> list[Interval]:
    """Resolve overlaps by strength, then by the smaller reason, and join neighbours with the same outcome and reason.

    Returns ascending disjoint intervals that cover exactly the offsets of the input. n log n in the number of intervals.
    """
    pending = sorted(intervals)
    folded: list[Interval] = []
    active: list[tuple[int, str, int, Interval]] = []
    index = at = 0
    while True:
        while active and active[0][2] < at:
            heappop(active)
        if not active:
            if index == len(pending):
                return folded
            at = pending[index].first
        while index < len(pending) and pending[index].first <= at:
            claim = pending[index]
            heappush(active, (-STRENGTH[claim.outcome], claim.reason, claim.last, claim))
            index += 1
        # A weaker claim may end below `at` after a stronger one hid it: drop those that surface.
        while active and active[0][2] < at:
            heappop(active)
        best = active[0][3]
        stop = best.last
        if index < len(pending):
            stop = min(stop, pending[index].first - 1)
        _append(folded, Interval(at, stop, best.outcome, best.reason))
        at = stop + 1


def _append(folded: list[Interval], piece: Interval) -> None:
    """Add the next piece, joined to the last one where outcome and reason agree."""
    if folded:
        last = folded[-1]
        if last.last + 1 == piece.first and last.outcome == piece.outcome and last.reason == piece.reason:
            folded[-1] = last._replace(last=piece.last)
            return
    folded.append(piece)


def clip(intervals: Iterable[Interval], first: int, end: int) -> list[Interval]:
    """The part within [first, end)."""
    return [
        interval._replace(first=max(interval.first, first), last=min(interval.last, end - 1))
        for interval in intervals
        if interval.last >= first and interval.first < end
    ]


def spans_of(intervals: Iterable[Interval], outcome: Outcome) -> list[Span]:
    """Offsets with this outcome, whatever the reason, as maximal spans. The intervals are ascending and disjoint."""
    return join((interval.first, interval.last) for interval in intervals if interval.outcome == outcome)


def join(spans: Iterable[Span]) -> list[Span]:
    """Union of spans: ascending, disjoint, and with a gap between any two."""
    joined: list[Span] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def subtract(spans: Sequence[Span], taken: Sequence[Span]) -> list[Span]:
    """Offsets of `spans` that are not in `taken`; both ascending and disjoint."""
    left: list[Span] = []
    index = 0
    for first, last in spans:
        at = first
        while index < len(taken) and taken[index][1] < at:
            index += 1
        probe = index
        while probe < len(taken) and taken[probe][0] <= last:
            if taken[probe][0] > at:
                left.append((at, taken[probe][0] - 1))
            at = max(at, taken[probe][1] + 1)
            probe += 1
        if at <= last:
            left.append((at, last))
    return left


def gaps(intervals: Iterable[Interval], first: int, end: int) -> list[Span]:
    """Offsets of [first, end) without an outcome."""
    if first >= end:
        return []
    return subtract([(first, end - 1)], join((interval.first, interval.last) for interval in intervals))


def size(spans: Iterable[Span]) -> int:
    """How many offsets the spans cover."""
    return sum(last - first + 1 for first, last in spans)


def offsets(spans: Iterable[Span]) -> Iterator[int]:
    """Every offset of the spans, ascending where the spans are."""
    for first, last in spans:
        yield from range(first, last + 1)


def show(spans: Sequence[Span], most: int = 10) -> str:
    """Spans as people write them: `3, 7-9`, the rest counted."""
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans[:most])
    more = size(spans[most:])
    return f"{shown} and {more} more" if more else shown
