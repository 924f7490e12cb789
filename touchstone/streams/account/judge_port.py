"""What the projector asks of the store about judges: verdicts of a span, labels of people, and the states that it keeps.

`touchstone.ops` implements it. Calls block, so an event loop makes them in a thread.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.prevalence import JudgeStatus


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How one configuration judged some results. `counts`: value (None: the label) → how many it failed, of how many that it judged."""

    counts: dict[str | None, tuple[int, int]] = field(default_factory=dict)

    def add(self, other: "Verdicts") -> None:
        """Count another's results, too."""
        for name, (failed, total) in other.counts.items():
            before = self.counts.get(name, (0, 0))
            self.counts[name] = (before[0] + failed, before[1] + total)


class JudgeSource(Protocol):
    """The store, for judges. Raises `StoreUnavailable`. Spans are in microseconds since the epoch; the end lies outside."""

    def verdicts(self, suite: str, values: Sequence[str], since: int, until: int) -> dict[str, Verdicts]:
        """Configuration digest → verdicts of a suite's results in a span, by label and by these values."""
        ...

    def newest(self, suite: str, config_digest: str, since: int, until: int) -> Mapping[str, Any]:
        """The newest result event of a configuration in a span; empty if there is none."""
        ...

    def annotations_state(self) -> tuple[int, int]:
        """What changes whenever an annotation is added or removed."""
        ...

    def annotations(self) -> list[AnnotationRecord]:
        """All annotations, in the order in which they were written. Raises `ConfigError` for one that cannot be read."""
        ...

    def keep_states(self, states: Iterable[JudgeStatus], now: float) -> None:
        """Write the states of some judges."""
        ...

    def drop_states(self, subjects: Iterable[str]) -> None:
        """Remove the states of judges that are no longer there."""
        ...

    def states(self) -> list[tuple[JudgeStatus, datetime]]:
        """The state of each judge and when it was written, by subject."""
        ...
