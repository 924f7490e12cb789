"""Bidirectional fact recall (Loss V3 §3.A): are the gold's facts in the summary, and is the summary faithful to the gold."""

from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np

from touchstone.scorers.summary.vectors import Matrix, Vector


def best(support: Matrix) -> Vector:
    """The greatest support of each hypothesis; `support`: one row per hypothesis, one column per premise. 0 without premises."""
    return support.max(axis=1, initial=0.0) if support.size else np.zeros(support.shape[0])


def of_weakest(support: Matrix, owners: Sequence[int]) -> Matrix:
    """Support of sentences, one row each, from that of their clauses (rows, `owners` their sentences, ascending): a sentence has its weakest clause's."""
    if len(set(owners)) == len(owners):
        return support
    by_clause = best(support)
    weakest: dict[int, int] = {}
    for row, sentence in enumerate(owners):
        if sentence not in weakest or by_clause[row] < by_clause[weakest[sentence]]:
            weakest[sentence] = row
    return support[list(weakest.values())]


def of_any(values: Matrix, owners: Sequence[int]) -> Matrix:
    """The greatest values of a sentence's clauses, for contradiction: one row per sentence."""
    if len(set(owners)) == len(owners):
        return values
    return np.array([values[np.equal(owners, sentence)].max(axis=0) for sentence in dict.fromkeys(owners)])


#: Support from which on a sentence counts against conflicts.
FIRM = 0.5
#: Keeps the ratio near 0 for sentences that are neither supported nor contradicted.
RATIO_EDGE = 0.1
Form = Literal["nearest", "ratio", "e", "summac"]


def faithfulness(support: Matrix, entailment: Matrix, contradiction: Matrix, form: Form) -> Vector:
    """Support of each sentence by the units that were asked, within [0, 1]; one row per sentence.

    `nearest`: the greatest support; `ratio`: e / (e + c + 0.1) of the greatest; `e`: the greatest entailment; `summac`: that less the greatest
    contradiction (SummaC-ZS), which punishes true sentences where the units are all of the gold's.
    """
    if form == "nearest":
        return best(support)
    borne = best(entailment)
    if form == "e":
        return borne
    against = best(contradiction)
    return borne / (borne + against + RATIO_EDGE) if form == "ratio" else np.clip(borne - against, 0.0, 1.0)


def precision(faithful: Vector, in_conflict: Collection[int], weight: float) -> float:
    """P: the mean over sentences, one in conflict counting 0, times (b / (b + k)) to the power `weight`: k conflicts against b, the sum of firm support.

    The mean alone makes a wrong dose in a text of eight sentences worth an eighth, less than an honest rewording costs a model's certainty. Only sentences
    borne to `FIRM` are counted, not all that is written, so that made-up sentences with a little support do not thin the conflicts out.
    """
    if not faithful.size:
        return 0.0
    kept = faithful.copy()
    kept[list(in_conflict)] = 0.0
    if not in_conflict:
        return float(kept.mean())
    firm = float(kept[kept >= FIRM].sum())
    held: float = (firm / (firm + len(in_conflict))) ** weight
    return float(kept.mean()) * held


def mean(values: Vector) -> float:
    """The mean; 0 of nothing."""
    return float(values.mean()) if values.size else 0.0


def f_beta(precision: float, recall: float, beta: float = 1.0) -> float:
    """The weighted harmonic mean; recall counts `beta` times as much as precision. 0 if one of them is 0."""
    if precision <= 0 or recall <= 0:
        return 0.0
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def facts_loss(precision: float, recall: float, beta: float = 1.0) -> float:
    """L_facts = 1 − F_β(P, R)."""
    return min(1.0, max(0.0, 1.0 - f_beta(precision, recall, beta)))
