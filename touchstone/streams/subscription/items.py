"""What a watcher's stream is made of, whatever carries it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from touchstone.streams.subscription.window import Seen

#: Why a stream starts again from a snapshot: the position is older than what Kafka keeps, beyond the end, or names other partitions.
ResetReason = Literal["expired", "future", "unknown"]


@dataclass(slots=True, eq=False)
class Batch:
    """Consecutive events for one or many watchers. Each carrier encodes it once, for all watchers that share it. `size`: in bytes."""

    seen: Sequence[Seen]
    size: int = 0
    _encoded: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Add up the bytes."""
        self.size = sum(len(one.event.value) + len(one.id) for one in self.seen)

    def __len__(self) -> int:
        return len(self.seen)

    def encoded(self, carrier: str, encode: Callable[[Sequence[Seen]], bytes]) -> bytes:
        """Its bytes on a carrier."""
        found = self._encoded.get(carrier)
        if found is None:
            found = self._encoded[carrier] = encode(self.seen)
        return found


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that were dropped because the watcher was too slow. `resume`: the position before the first of them."""

    dropped: int
    resume: str


@dataclass(frozen=True, slots=True)
class Reset:
    """The position that the watcher came with cannot be continued; a snapshot follows."""

    reason: ResetReason


@dataclass(frozen=True, slots=True)
class Beat:
    """A sign of life. `id`: where the watcher is, when everything before it has been sent; None while that is not known."""

    id: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Closing:
    """The service ends; the watcher comes back with `id`."""

    id: str | None = None


Item = Batch | Gap | Reset | Beat | Closing
