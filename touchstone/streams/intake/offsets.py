"""Ordered acknowledgement: an offset may be committed only when it and every earlier one of its partition are done."""

import time
from collections import deque
from dataclasses import dataclass, field

from touchstone.schemas.ledger import LedgerEntry

TopicPartition = tuple[str, int]

#: (outcome, reason, first offset, last offset)
Span = tuple[str, str, int, int]


@dataclass(slots=True, eq=False)
class Slice:
    """Consecutive records of one partition that are scored and produced together.

    `after`: the offset that follows the last record. Offsets between `first` and `after` that hold no record
    (transaction markers, compacted records) belong to the slice and need no outcome. `held`: it will not be done in this process.
    `stage`: what it waits for. `first_ms`, `last_ms`: timestamps of its first and its last record, in milliseconds since the epoch; -1: unknown.
    """

    first: int
    after: int
    records: int
    payload_bytes: int
    first_ms: int = -1
    last_ms: int = -1
    spans: list[Span] = field(default_factory=list)
    done: bool = False
    held: bool = False
    stage: str = "queue"


class PartitionProgress:
    """What is in flight on one partition since it was assigned; dropped, and never reused, when it is revoked.

    `topic_id`: its topic's id. `moved_at`: monotonic time at which the done prefix grew last, or at which work began where there was none.
    `done_ms`: timestamp of the latest record of that prefix, in milliseconds since the epoch; -1: unknown.
    """

    __slots__ = ("_ready_after", "_slices", "_spans", "done_ms", "moved_at", "topic_id")

    def __init__(self, topic_id: str = "") -> None:
        self.topic_id = topic_id
        self._slices: deque[Slice] = deque()
        self._ready_after: int | None = None
        self._spans: list[Span] = []
        self.moved_at = time.monotonic()
        self.done_ms = -1

    def begin(self, piece: Slice) -> None:
        """Take a slice up, in the order of the partition."""
        if self._slices and piece.first < self._slices[-1].after:
            raise ValueError(f"offset {piece.first} comes after {self._slices[-1].after}: slices must ascend")
        if not self._slices:
            self.moved_at = time.monotonic()
        self._slices.append(piece)

    def finish(self, piece: Slice) -> list[Slice]:
        """Mark a slice done; return the slices that this makes part of the contiguous done prefix, in order."""
        piece.done = True
        released: list[Slice] = []
        while self._slices and self._slices[0].done:
            head = self._slices.popleft()
            self._ready_after, self.done_ms = head.after, head.last_ms
            for span in head.spans:
                append_span(self._spans, span)
            released.append(head)
        if released:
            self.moved_at = time.monotonic()
        return released

    @property
    def is_ready(self) -> bool:
        """True if there is something to take."""
        return self._ready_after is not None

    def take_ready(self) -> tuple[int | None, list[Span]]:
        """The offset that may be committed once the returned spans are in the ledger; None if nothing is new."""
        ready, spans = self._ready_after, self._spans
        self._ready_after, self._spans = None, []
        return ready, spans

    def give_back(self, ready: int | None, spans: list[Span]) -> None:
        """Undo `take_ready` after a failed ledger write; what became ready meanwhile is kept behind it."""
        later, self._spans = self._spans, spans
        for span in later:
            append_span(self._spans, span)
        if self._ready_after is None:
            self._ready_after = ready

    @property
    def spans_waiting(self) -> int:
        """Offset ranges that wait for the ledger."""
        return len(self._spans)

    def unwritten(self) -> int:
        """Records that are done but whose ledger record is still to be written."""
        waiting = [self._spans, *(piece.spans for piece in self._slices if piece.done)]
        return sum(map(records_of, waiting))

    @property
    def in_flight(self) -> tuple[Slice, ...]:
        """Slices not yet part of the done prefix."""
        return tuple(self._slices)

    @property
    def oldest(self) -> Slice | None:
        """The slice that the prefix waits for; None if nothing is in flight."""
        return next(iter(self.in_flight), None)


def records_of(spans: list[Span]) -> int:
    """Records that the spans cover; expired offsets are not among them, because nobody has read a record there."""
    return sum(last - first + 1 for outcome, _, first, last in spans if outcome != "expired")


def append_span(spans: list[Span], span: Span) -> None:
    """Append in ascending order, joining neighbours of equal outcome and reason."""
    if spans:
        outcome, reason, first, last = spans[-1]
        if outcome == span[0] and reason == span[1] and last + 1 == span[2]:
            spans[-1] = (outcome, reason, first, span[3])
            return
    spans.append(span)


def ledger_entries(spans: list[Span]) -> tuple[LedgerEntry, ...]:
    """Group spans by outcome and reason, for one ledger record."""
    grouped: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for outcome, reason, first, last in spans:
        grouped.setdefault((outcome, reason), []).append((first, last))
    return tuple(LedgerEntry(outcome=outcome, reason=reason, ranges=tuple(ranges)) for (outcome, reason), ranges in grouped.items())
