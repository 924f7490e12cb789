"""What the projector asks of the store about judges: verdicts of a span, labels of people, and the states that it keeps.

`touchstone.ops` implements it. Calls block, so an event loop makes them in a thread.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.calibration import ReviewAs
from touchstone.schemas.prevalence import JudgeStatus

#: Version and configuration digest of a suite: what its results were scored with.
Way = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How some results of one suite came out. `labels`: label → results. `values`: value → how many have it at 0, a failure, of how many that have it."""

    labels: Counter[str] = field(default_factory=Counter)
    values: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, other: "Verdicts") -> None:
        """Count another's results, too."""
        self.labels.update(other.labels)
        for name, (failed, total) in other.values.items():
            before = self.values.get(name, (0, 0))
            self.values[name] = (before[0] + failed, before[1] + total)

    def of(self, value: str | None, review_as: ReviewAs = "pass") -> tuple[int, int]:
        """How many failed, of how many that were judged: by a value, or by their label, which judges where it is not `unscored`.

        `review_as`: what the labels Review and Warn counted as when the suite was measured.
        """
        if value is not None:
            return self.values.get(value, (0, 0))
        failed, between = self.labels["Fail"], self.labels["Review"] + self.labels["Warn"]
        judged = self.labels.total() - self.labels["unscored"]
        return failed + (between if review_as == "fail" else 0), judged - (between if review_as == "leave-out" else 0)


class JudgeSource(Protocol):
    """The store, for judges. Raises `StoreUnavailable`. Spans are in microseconds since the epoch; the end lies outside."""

    def verdicts(self, suite: str, values: Sequence[str], since: int, until: int) -> dict[Way, Verdicts]:
        """Verdicts of a suite's results in a span, by what they were scored with; those of values only for these."""
        ...

    def newest(self, suite: str, way: Way, value: str | None, since: int, until: int) -> Mapping[str, Any]:
        """The newest result event in a span that was scored so, and has the value; empty if there is none."""
        ...

    def annotations_state(self) -> tuple[int, int]:
        """What changes whenever an annotation is added or removed."""
        ...

    def annotations(self) -> list[AnnotationRecord]:
        """All annotations, in the order in which they were written. Raises `ConfigError` for one that cannot be read."""
        ...

    def guidelines(self) -> Mapping[str, int]:
        """Name of each guideline → its newest version."""
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
