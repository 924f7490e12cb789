"""The archive as the archiver uses it: its interface and its errors.

`touchstone.ops.store.archive` implements it. Calls block, so an event loop makes them in a thread.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from touchstone.scorers.base import Unavailable
from touchstone.streams.account.projection import Position, ResultRow


class ArchiveAway(Unavailable):
    """The store of objects does not answer, or refuses. `code`: the kind of error, without the address and without text of a case."""


#: What became of a wanted event. `known`: it was kept, removed or forgotten before. `made_anew`: another event is at its place.
Outcome = Literal["kept", "known", "source_expired", "made_anew", "too_large", "unreadable"]
OUTCOMES: tuple[Outcome, ...] = ("kept", "known", "source_expired", "made_anew", "too_large", "unreadable")


@dataclass(frozen=True, slots=True)
class Wanted:
    """An event to keep, with its results of this batch; the first one says where it is. `data`: its JSON, or `gone`: why there is none.

    `kind`: of the event, where it is another than that of its results here.
    """

    event_id: str
    results: tuple[ResultRow, ...]
    place: Position
    checksum: int
    data: bytes = b""
    gone: Outcome | None = None
    kind: str = ""


class CaseArchive(Protocol):
    """What the archiver writes to. Raises `StoreUnavailable` or `ArchiveAway`."""

    def sort(self, rows: Sequence[ResultRow]) -> tuple[list[ResultRow], list[Wanted]]:
        """The results of a batch to keep: those of events that the archive has, and events that it does not have yet, by what the policy names."""
        ...

    def keep_results(self, rows: Iterable[ResultRow]) -> int:
        """Keep results of events that are kept already; returns how many are new."""
        ...

    def keep_cases(self, cases: Sequence[Wanted]) -> Mapping[Outcome, int]:
        """Keep events with all their results, objects first, rows after them. What cannot be kept gets a row, too."""
        ...

    def check_writable(self) -> None:
        """Write to objects and index and take it back."""
        ...

    def check_readable(self) -> None:
        """Ask objects and index for next to nothing."""
        ...

    def waits(self) -> tuple[float | None, float]:
        """Moments of the monotonic clock: since when the store of objects has been asked in vain (None: it is not asked), and when it answered last."""
        ...
