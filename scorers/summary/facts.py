"""Bidirectional fact recall (Loss V3 §3.A): are the gold's facts in the summary, and is the summary faithful to the gold."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


def best(support: Matrix) -> Vector:
    """The greatest support of each hypothesis; `support`: one row per hypothesis, one column per premise. 0 without premises."""
    return support.max(axis=1, initial=0.0) if support.size else np.zeros(support.shape[0])


def faithfulness(support: Matrix, contradiction: Matrix, form: Literal["e-c", "e"]) -> Vector:
    """How far the gold bears each sentence: its greatest support less its greatest contradiction, within [0, 1] (SummaC-ZS); `e`: support alone."""
    borne = best(support)
    return np.clip(borne - best(contradiction), 0.0, 1.0) if form == "e-c" else borne


def mean(values: Vector) -> float:
    """The mean; 0 of nothing."""
    return float(values.mean()) if values.size else 0.0


def f_beta(precision: float, recall: float, beta: float = 1.0) -> float:
    """The weighted harmonic mean; recall counts `beta` times as much as precision. 0 where one of them is 0."""
    if precision <= 0 or recall <= 0:
        return 0.0
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def facts_loss(precision: float, recall: float, beta: float = 1.0) -> float:
    """L_facts = 1 − F_β(P, R)."""
    return min(1.0, max(0.0, 1.0 - f_beta(precision, recall, beta)))
