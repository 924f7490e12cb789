"""The result store as the projector and the reconciliation use it: its interface, its errors, and the check of positions.

`touchstone.ops.store` implements it. Calls block, so an event loop makes them in a thread.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from touchstone.scorers.base import ConfigError, Unavailable
from touchstone.streams.account.batch_reports import BatchState, Emitted, Summary
from touchstone.streams.account.intervals import Interval, Span
from touchstone.streams.account.projection import AccountKey, Projection


class StoreUnavailable(Unavailable):
    """The store cannot be used now (down, locked, full). The operation may or may not have been done: continue from the store's positions."""


class StoreRefused(ConfigError):
    """The store cannot be used as it is: another projector writes to it, or its schema or positions do not fit."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What one transaction did with its results. `repeats` and `replays` changed no report.

    `replaced`: an event id at a lower offset took the row, with other content. `repeats`: the event id is known from
    another offset, or takes over the row with the same content. `replays`: the same event again. `contradicted`: the place is another event's.
    """

    new: int = 0
    replaced: int = 0
    repeats: int = 0
    replays: int = 0
    contradicted: int = 0


class StoreAway(ConfigError):
    """The store's server does not answer, or takes no connections now: waiting may help, but so may another URL."""


class ProjectionStore(Protocol):
    """What the projector writes to. Raises `StoreUnavailable` or `StoreRefused`."""

    def positions(self, topic: str) -> dict[int, int]:
        """Partition of the results topic → next offset to read."""
        ...

    def topic_id(self, topic: str) -> str:
        """The id of the topic that the positions belong to; empty if it is not known."""
        ...

    def forget_positions(self, topic: str) -> None:
        """Read the topic from its beginning next time; all else is kept."""
        ...

    def apply(self, projection: Projection, now: float) -> Applied:
        """Write results, outcomes and positions in one transaction; `StoreRefused` where the positions are not as expected."""
        ...

    def check_writable(self) -> None:
        """Write something and take it back, in one transaction: a store on a full disk can be read, but not written."""
        ...

    def due(self, now: float, limit: int) -> list[BatchState]:
        """Batches that may be due for a report, longest waiting first."""
        ...

    def summary(self, report_id: str) -> Summary:
        """Count the results of one batch."""
        ...

    def mark_emitted(self, emitted: Sequence[Emitted]) -> None:
        """Remember acknowledged reports."""
        ...


@dataclass(frozen=True, slots=True)
class Account:
    """Outcomes of one account, and the offsets that its result rows and repeats name: both ascending and disjoint."""

    intervals: tuple[Interval, ...]
    rows: tuple[Span, ...]


class AccountStore(Protocol):
    """What the reconciliation reads. Raises `StoreUnavailable` or `StoreRefused`."""

    def positions(self, topic: str) -> dict[int, int]:
        """Partition of the results topic → next offset that the projector reads."""
        ...

    def topic_id(self, topic: str) -> str:
        """The id of the topic that the positions belong to; empty if it is not known."""
        ...

    def accounts(self, suite: str, topic: str) -> list[AccountKey]:
        """Every account of the suite on this topic, in order."""
        ...

    def contradictions(self, suite: str, topic: str) -> list[tuple[str, int, int]]:
        """Offsets at which the suite's results name two different events: (topic id, partition, offset), in order."""
        ...

    def account(self, key: AccountKey) -> Account:
        """One account, read in one transaction."""
        ...


def check_topic(topic: str, stored: str, current: str) -> None:
    """Compare the id of the topic that the store has read with that of the topic now. Raises `StoreRefused`, whose message says how to fix it."""
    if stored and current and stored != current:
        raise StoreRefused(f"the store has read another topic {topic} (id {stored}; it is {current} now): {_RECREATED}")


def check_positions(topic: str, stored: Mapping[int, int], log: Mapping[int, tuple[int, int]]) -> None:
    """Compare stored positions with the log. `log`: partition → (start, end). Raises `StoreRefused`, whose message says how to fix it."""
    for partition, position in sorted(stored.items()):
        if partition not in log:
            raise StoreRefused(f"the store has read partition {partition} of {topic}, which the topic does not have: {_RECREATED}")
        start, end = log[partition]
        if position > end:
            raise StoreRefused(f"the store has read partition {partition} of {topic} up to offset {position}, but it ends at {end}: {_RECREATED}")
        if position < start:
            gone = f"offsets {position} to {start - 1} of partition {partition} of {topic}"
            raise StoreRefused(f"{gone} were deleted by retention before the store had read them: {_EXPIRED}")


_RECREATED = (
    "the topic was recreated. Read it from its beginning with `touchstone projector --from-start` (what the store has is kept), "
    "or give the new topic a new store with --store"
)
_EXPIRED = (
    "read on from what is left with `touchstone projector --from-start` (`touchstone reconcile` then shows what is missing), "
    "and give the topic a longer retention"
)
