"""Whether reviewing more cases would find more kinds of failure.

The Chao1 estimate of kinds not seen yet (Chao, Scandinavian Journal of Statistics 11, 1984; bias-corrected form) uses the kinds met once and twice:
where many kinds were met only once, more are out there.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

STEP: Final = 10


@dataclass(frozen=True, slots=True)
class Saturation:
    """`new_kinds`: how many kinds each ten cases brought that those before had not. `unseen`: estimated kinds that no case showed yet."""

    cases: int
    kinds: int
    new_kinds: tuple[int, ...]
    once: int
    twice: int

    @property
    def unseen(self) -> float:
        """Chao1, bias-corrected: (n - 1) / n · f1 (f1 - 1) / (2 (f2 + 1)). A lower bound."""
        return (self.cases - 1) / self.cases * self.once * (self.once - 1) / (2 * (self.twice + 1)) if self.cases else 0.0


def saturation(reviewed: Iterable[Sequence[str]]) -> Saturation:
    """Count kinds of failure in cases in the order in which they were reviewed; a case that passed has none."""
    met: Counter[str] = Counter()
    new: list[int] = []
    count = 0
    for count, kinds in enumerate(reviewed, 1):
        if (count - 1) % STEP == 0:
            new.append(0)
        own = set(kinds)
        new[-1] += sum(kind not in met for kind in own)
        met.update(own)
    times = Counter(met.values())
    return Saturation(count, len(met), tuple(new), times[1], times[2])
