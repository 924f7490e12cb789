"""Batched NLI rounds: the questions of a case in one list, each distinct pair once, the answers back as matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from touchstone.scorers.engines.base import CONTRADICTION, ENTAILMENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.summary.vectors import Matrix

#: A pair that was not asked.
NOT_ASKED = -1


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The questions of one component. `numbers`: of each hypothesis (row) and premise (column) its pair's place in the round."""

    premises: Sequence[str]
    hypotheses: Sequence[str]
    numbers: NDArray[np.int64]

    def entailment(self, probabilities: Floats) -> Matrix:
        """e(premise, hypothesis), 0 if it was not asked."""
        return self._column(probabilities, ENTAILMENT)

    def contradiction(self, probabilities: Floats) -> Matrix:
        """c(premise, hypothesis), 0 if it was not asked."""
        return self._column(probabilities, CONTRADICTION)

    def _column(self, probabilities: Floats, column: int) -> Matrix:
        padded = np.append(np.asarray(probabilities, dtype=np.float64)[:, column], 0.0)
        return np.asarray(padded[self.numbers], dtype=np.float64)


class Round:
    """Collects the pairs of a case; a second round goes on with the numbers of the first."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[str, str], int] = {}

    def ask(self, premises: Sequence[str], hypotheses: Sequence[str], kept: NDArray[np.bool_] | None = None) -> Block:
        """Every hypothesis of every premise; `kept`: only those, shape (hypotheses, premises)."""
        numbers = np.full((len(hypotheses), len(premises)), NOT_ASKED, dtype=np.int64)
        for row, hypothesis in enumerate(hypotheses):
            for column, premise in enumerate(premises):
                if kept is None or kept[row, column]:
                    numbers[row, column] = self._pairs.setdefault((premise, hypothesis), len(self._pairs))
        return Block(premises, hypotheses, numbers)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The distinct pairs in the order of their numbers."""
        return list(self._pairs)


def nearest_k(cosines: Matrix, k: int, among: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """Which premises each hypothesis is asked of: the `k` with the greatest cosine; 0: all. `among`: only these premises."""
    allowed = np.ones(cosines.shape[1], dtype=np.bool_) if among is None else among
    if not 0 < k < int(allowed.sum()):
        return np.broadcast_to(allowed, cosines.shape).copy()
    kept = np.zeros(cosines.shape, dtype=np.bool_)
    # Stable, so that equal cosines keep the same windows everywhere.
    places = np.argsort(np.where(allowed, -cosines, np.inf), axis=1, kind="stable")[:, :k]
    np.put_along_axis(kept, places, values=True, axis=1)
    return kept
