"""Accuracy, balanced accuracy, AUROC and correlations, with bootstrap intervals. Everything is NumPy and deterministic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Measure = Callable[[NDArray[np.intp]], float]

RESAMPLES = 1_000
LEVEL = 0.95
SEED = 20261121


def ranks(values: Vector) -> Vector:
    """Ranks from 1, ties sharing their mean. Shape (n,) → (n,)."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    ends = np.concatenate([starts[1:], [len(values)]])
    out = np.empty(len(values))
    out[order] = np.repeat((starts + ends + 1) / 2, ends - starts)
    return out


def auroc(scores: Vector, positive: Vector) -> float:
    """Area under the ROC curve: the chance that a positive outscores a negative, ties counting half. NaN where a class is absent."""
    yes = positive > 0
    n_yes, n_no = int(yes.sum()), int((~yes).sum())
    if not n_yes or not n_no:
        return float("nan")
    return float((ranks(scores)[yes].sum() - n_yes * (n_yes + 1) / 2) / (n_yes * n_no))


def pearson(one: Vector, two: Vector) -> float:
    """Pearson's r. NaN where either is constant."""
    a, b = one - one.mean(), two - two.mean()
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / scale) if scale > 1e-12 else float("nan")


def spearman(one: Vector, two: Vector) -> float:
    """Spearman's ρ: Pearson's r of the ranks."""
    return pearson(ranks(one), ranks(two))


def balanced_accuracy(predicted: Vector, positive: Vector) -> float:
    """Mean of the recall of both classes. NaN where one is absent."""
    yes, said = positive > 0, predicted > 0
    if not yes.any() or yes.all():
        return float("nan")
    return float((said[yes].mean() + (~said[~yes]).mean()) / 2)


def best_threshold(scores: Vector, positive: Vector) -> float:
    """The threshold (say yes at or above) with the best balanced accuracy; the lowest of several, and −∞ counts too."""
    cuts = np.unique(scores)
    candidates = np.concatenate([[-np.inf], (cuts[1:] + cuts[:-1]) / 2])
    found = [balanced_accuracy((scores >= cut).astype(float), positive) for cut in candidates]
    return float(candidates[int(np.nanargmax(found))])


def interval(measure: Measure, n: int, *, groups: NDArray[np.intp] | None = None) -> tuple[float, float] | None:
    """The bootstrap's central interval of a measure of row indices. Rows of one group (a document) are drawn together. None if it is undefined."""
    chance = np.random.default_rng(SEED)
    members = [np.arange(n)[:, None]][0] if groups is None else None
    by_group = [] if groups is None else [np.flatnonzero(groups == group) for group in np.unique(groups)]
    found = np.empty(RESAMPLES)
    for turn in range(RESAMPLES):
        if members is not None:
            rows = chance.integers(0, n, n)
        else:
            rows = np.concatenate([by_group[index] for index in chance.integers(0, len(by_group), len(by_group))])
        found[turn] = measure(rows)
    found = found[~np.isnan(found)]
    if not len(found):
        return None
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
