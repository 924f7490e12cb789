"""A histogram with fixed buckets, without a metrics library."""

import math
from bisect import bisect_left
from collections.abc import Sequence


class Histogram:
    """Observations in fixed buckets; `observe` costs a bisection and three additions. Not thread-safe by itself."""

    __slots__ = ("_bounds", "_counts", "count", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self.sum = 0.0
        self.count = 0

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value; one equal to a bound falls into that bound's bucket (`le`)."""
        self._counts[bisect_left(self._bounds, value)] += times
        self.sum += value * times
        self.count += times

    def observe_ages(self, stamps: Sequence[float], now: float) -> None:
        """Count `now - stamp` for ascending stamps: one bisection per bucket instead of one per value."""
        upper = len(stamps)
        for index, bound in enumerate(self._bounds):
            lower = bisect_left(stamps, now - bound, 0, upper)
            self._counts[index] += upper - lower
            upper = lower
        self._counts[-1] += upper
        self.sum += now * len(stamps) - sum(stamps)
        self.count += len(stamps)

    def buckets(self) -> tuple[tuple[float, int], ...]:
        """(upper bound, how many up to it), ascending, the last bound infinite."""
        total, out = 0, []
        for bound, count in zip((*self._bounds, math.inf), self._counts, strict=True):
            total += count
            out.append((bound, total))
        return tuple(out)
