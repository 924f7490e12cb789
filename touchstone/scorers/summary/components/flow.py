"""Structural monotonicity (Loss V3 §3.C): which outline points the summary visits, and whether in their order."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from touchstone.scorers.summary.vectors import Matrix

#: Sentences this close to the best are equally good for a point, and the first of them is its place: rounding on another device moves no point.
TIE = 0.01


def places(support: Matrix, closeness: Matrix | None = None) -> list[int]:
    """The column of each row's best single sentence; `support`, `closeness`: outline points × sentences, in [0, 1].

    The best has the greatest mean of both: where a model entails a point from several sentences, or from none for certain, the shared words tell which
    of them the point is about. Equal sentences have one place, the first.
    """
    if not support.shape[1]:
        return []
    likeness = support if closeness is None else (support + closeness) / 2
    return [int(np.argmax(row >= row.max() - TIE)) for row in likeness]


#: Windows whose support is this close to the best are equally good evidence; the shortest and earliest of them is named. A longer window around the
#: relevant sentence supports as much, and rounding on another device changes no name.
WINDOW_TIE = 0.01


def nearest(support: Matrix) -> list[int]:
    """The column of each row's best window: the first within `WINDOW_TIE` of the greatest (windows come shortest first, then in order)."""
    if not support.shape[1]:
        return []
    return [int(np.argmax(row >= row.max() - WINDOW_TIE)) for row in support]


def covered(support: Matrix, threshold: float, by_facts: Mapping[int, float] | None = None) -> list[int]:
    """Indices of the outline points that some window supports to the threshold, or, of headings, the facts (`by_facts`)."""
    otherwise = by_facts or {}
    return [index for index, row in enumerate(support) if row.size and max(float(row.max()), otherwise.get(index, 0.0)) >= threshold]


def inversions(places: Sequence[int]) -> int:
    """How many pairs of points come in the wrong order; two in the same place are none."""
    return sum(first > second for first, second in combinations(places, 2))


def order(places: Sequence[int], coverage: float) -> float:
    """Order = 1 − inversions / (q(q−1)/2) of q covered points by their places; with fewer than two, Order = Coverage."""
    q = len(places)
    return 1.0 - inversions(places) / (q * (q - 1) / 2) if q > 1 else coverage


def flow_loss(coverage: float, in_order: float, order_weight: float = 0.3) -> float:
    """L_flow = 1 − (0.7·Coverage + 0.3·Order)."""
    return min(1.0, max(0.0, 1.0 - ((1 - order_weight) * coverage + order_weight * in_order)))
