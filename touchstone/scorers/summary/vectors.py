"""Texts with their vectors, and the arrays that the components compute with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from touchstone.scorers.engines.base import Floats

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Texts with their vectors."""

    rows: Mapping[str, int]
    values: Floats

    def of(self, texts: Sequence[str]) -> Floats:
        """Their vectors, one row each."""
        return self.values[[self.rows[text] for text in texts]]

    def cosines(self, premises: Sequence[str], hypotheses: Sequence[str]) -> Matrix:
        """The cosine of each hypothesis (row) with each premise (column); vectors have length 1."""
        if not premises or not hypotheses:
            return np.zeros((len(hypotheses), len(premises)))
        return np.asarray(np.clip(self.of(hypotheses) @ self.of(premises).T, -1, 1), dtype=np.float64)
