"""Confidence intervals (95 %): Wilson's for rates, the bootstrap's for means. Seeded, and the same for every order of the values.

Means have the bias-corrected and accelerated bootstrap interval (BCa: Efron 1987), by resampling up to `RESAMPLED_MAX` values. Of more values the
interval is calculated: the same adjustment, on the Cornish-Fisher expansion of the bootstrap distribution (Hall 1992), so that a hundred thousand
values cost milliseconds. Few cases make a rough interval: of two it is their range.

The difference of two rates has Newcombe's interval, made of both Wilson intervals (Statistics in Medicine 17, 1998: pages 873 and, for paired rates,
2635). That of two means is made of their bootstrap intervals in the same way (Zou and Donner 2008), or, where every case is on both sides, is that of the
mean of the cases' differences.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from random import Random
from statistics import NormalDist, StatisticsError, fmean
from statistics import correlation as pearson
from typing import Final

from touchstone.schemas.reports.intervals import Interval

LEVEL: Final = 0.95
RESAMPLES: Final = 2_000
#: Values that are resampled: with the number of resamples it bounds the draws of one interval to 128,000, some 15 ms.
RESAMPLED_MAX: Final = 64
SEED: Final = 1987
#: Means of resamples this near to the mean, in the largest deviation from it, are equal to it but for rounding.
_ROUNDING: Final = 1e-12
_NORMAL: Final = NormalDist()
_Z: Final = _NORMAL.inv_cdf(0.5 + LEVEL / 2)


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of cases: so many of so many."""

    count: int
    total: int

    @property
    def share(self) -> float:
        """The share; 0 of none."""
        return self.count / self.total if self.total else 0.0

    @property
    def interval(self) -> Interval | None:
        """Wilson's interval; None of none."""
        return wilson(self.count, self.total)


def wilson(count: int, total: int) -> Interval | None:
    """Wilson's score interval of a share (Wilson 1927); None of nothing. It never leaves [0, 1], and has a width even where all or none count."""
    if total <= 0:
        return None
    share, square = count / total, _Z * _Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = _Z / (1 + square / total) * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    # The ends at 0 and 1 are exact; rounding would leave a trace of them.
    return Interval(low=max(0.0, middle - half) if count else 0.0, high=min(1.0, middle + half) if count < total else 1.0)


def mean_intervals(values: Mapping[str, Sequence[float]]) -> dict[str, Interval]:
    """The interval of each mean that has one."""
    found = {name: mean_interval(numbers) for name, numbers in values.items()}
    return {name: interval for name, interval in found.items() if interval is not None}


def mean_interval(values: Iterable[float]) -> Interval | None:
    """The BCa interval of the mean of some finite values; None of fewer than two."""
    numbers = list(values)
    if len(numbers) < 2:
        return None
    least, most, count = min(numbers), max(numbers), len(numbers)
    # Halved and divided first, because the sum of two finite values may be infinite.
    mean = min(most, max(least, 2 * math.fsum(number / 2 / count for number in numbers)))
    scale = max(most - mean, mean - least)
    if not 0 < scale < math.inf:
        return Interval(low=least, high=most)
    deviations = [(number - mean) / scale for number in numbers]
    squares = list(map(mul, deviations, deviations))
    square = math.fsum(squares)
    acceleration = math.fsum(map(mul, squares, deviations)) / (6 * square**1.5)
    # A mean lies among its values, however it is rounded and expanded.
    ends = _resampled(tuple(sorted(deviations)), acceleration) if count <= RESAMPLED_MAX else _expanded(math.sqrt(square) / count, acceleration)
    low, high = (min(most, max(least, mean + end * scale)) for end in ends)
    return Interval(low=low, high=high)


@dataclass(frozen=True, slots=True)
class Pairs:
    """How cases that are on both sides of a comparison count: on both, only before, only now, on neither."""

    both: int = 0
    before: int = 0
    now: int = 0
    neither: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.both + self.before + self.now + self.neither

    @property
    def correlation(self) -> float:
        """Their phi coefficient, less a correction for few cases where it is positive (Newcombe's method 10)."""
        square = (self.both + self.before) * (self.now + self.neither) * (self.both + self.now) * (self.before + self.neither)
        excess: float = self.both * self.neither - self.before * self.now
        if excess > 0:
            excess = max(0.0, excess - self.total / 2)
        return excess / math.sqrt(square) if square else 0.0


def rate_difference(before: Rate, now: Rate, pairs: Pairs | None = None) -> Interval | None:
    """The interval of the difference of two rates, now less before; None if one is of nothing.

    `pairs`: cases that are on both sides. Where only some are, their correlation weighs as much as their share.
    """
    one, other = before.interval, now.interval
    if one is None or other is None:
        return None
    correlation = _weighed(pairs.correlation, pairs.total, before.total, now.total) if pairs is not None else 0.0
    low, high = _combined((before.share, one), (now.share, other), correlation)
    return Interval(low=max(-1.0, low), high=min(1.0, high))


def mean_difference(before: Sequence[float], now: Sequence[float], pairs: Sequence[tuple[float, float]] = ()) -> Interval | None:
    """The interval of the difference of two means, now less before; None if one is of fewer than two values.

    `pairs`: both values of the cases that are on both sides. Where that is every case, it is the interval of the mean of their differences.
    """
    if len(pairs) == len(before) == len(now):
        changes = [other - one for one, other in pairs]
        return mean_interval(changes) if all(map(math.isfinite, changes)) else None
    one, other = mean_interval(before), mean_interval(now)
    if one is None or other is None:
        return None
    correlation = _weighed(_correlation(pairs), len(pairs), len(before), len(now))
    try:
        low, high = _combined((fmean(before), one), (fmean(now), other), correlation)
    except OverflowError:  # of a sum of finite values
        return None
    return Interval(low=low, high=high) if math.isfinite(low) and math.isfinite(high) else None


def _correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Pearson's; 0 where one side does not vary."""
    try:
        return pearson(*zip(*pairs, strict=True))
    except (StatisticsError, OverflowError, TypeError):
        return 0.0


def _weighed(correlation: float, pairs: int, before: int, now: int) -> float:
    """The correlation of two means of which so many values are pairs."""
    return correlation * pairs / math.sqrt(before * now)


def _combined(before: tuple[float, Interval], now: tuple[float, Interval], correlation: float) -> tuple[float, float]:
    """Both ends for a difference, from either side's figure and interval."""
    (one, around), (other, about) = before, now
    low = _joint(other - about.low, around.high - one, correlation)
    high = _joint(about.high - other, one - around.low, correlation)
    return other - one - low, other - one + high


def _joint(one: float, other: float, correlation: float) -> float:
    """The margin of a difference, from those of its parts."""
    return math.sqrt(max(0.0, one * one - 2 * correlation * one * other + other * other))


@lru_cache(maxsize=8)
def _resampled(ordered: tuple[float, ...], acceleration: float) -> tuple[float, float]:
    """Both ends, as deviations from the mean: percentiles of the means of resamples, adjusted for bias and skewness.

    `ordered`: the deviations in order, so that the draws do not depend on the order in which the values came. Several figures of a report often have the same.
    """
    draw, count = Random(SEED), len(ordered)  # noqa: S311  # no secret is drawn
    means = sorted(math.fsum(draw.choices(ordered, k=count)) / count for _ in range(RESAMPLES))
    below = (bisect_left(means, -_ROUNDING) + bisect_right(means, _ROUNDING)) / 2 / RESAMPLES
    bias = _NORMAL.inv_cdf(min(1 - 1 / RESAMPLES, max(1 / RESAMPLES, below)))
    low, high = (_percentile(means, _NORMAL.cdf(place)) for place in _adjusted(bias, acceleration))
    return low, high


def _expanded(error: float, acceleration: float) -> tuple[float, float]:
    """The same without resampling. `error`: standard error of the mean. The bias of a mean's bootstrap distribution equals its acceleration."""
    low, high = (error * (place + acceleration * (place * place - 1)) for place in _adjusted(acceleration, acceleration))
    return low, high


def _adjusted(bias: float, acceleration: float) -> tuple[float, float]:
    """The normal quantiles at which the bootstrap distribution is read (Efron and Tibshirani 1993, equation 14.10)."""
    low, high = (bias + (bias + z) / (1 - acceleration * (bias + z)) for z in (-_Z, _Z))
    return low, high


def _percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of the ascending values lies, interpolated linearly."""
    place = share * (len(ordered) - 1)
    below = min(int(place), len(ordered) - 2)
    return ordered[below] + (ordered[below + 1] - ordered[below]) * (place - below)
