"""The rate of failures, corrected for a judge's own errors (Rogan and Gladen, American Journal of Epidemiology 107, 1978).

A judge that misses failures reports too few, and one that fails good cases reports too many. With both recalls known from labels,
rate = (rate seen + pass_recall - 1) / (fail_recall + pass_recall - 1).

The interval is a bootstrap of all three shares: those of the labelled set and that of the live one. An interval of the labels alone, or of the live
rate alone, is too narrow. Shares are drawn from their Beta distributions with Jeffreys' prior (a Bayesian bootstrap, Rubin 1981), because resampling
cases gives no variance to a judge that made no error on few labels.
"""

from dataclasses import dataclass
from random import Random
from typing import Final

from touchstone.schemas.reports.intervals import Interval
from touchstone.scorers.calibration.recalls import Recalls
from touchstone.scorers.reporting.intervals import LEVEL, Rate

DRAWS: Final = 2_000
SEED: Final = 1978


class UncorrectableError(ValueError):
    """A rate that these labels cannot correct. The message says why."""


@dataclass(frozen=True, slots=True)
class Prevalence:
    """The share of failing cases. `seen`: as the judge reports it; `corrected`: what it comes to, from 0 to 1."""

    seen: Rate
    corrected: float
    interval: Interval


def corrected(seen: Rate, recalls: Recalls, seed: int = SEED) -> Prevalence:
    """Correct the rate at which a judge fails cases. `seen`: cases that it failed, of those that it judged.

    Raises `UncorrectableError` without cases or labels of both classes, and where the judge knows no more than chance: recalls that sum to 1 or less.
    """
    fails, passes = recalls.fail_recall, recalls.pass_recall
    if not seen.total:
        raise UncorrectableError("the judge has judged no case yet")
    if not fails.total or not passes.total:
        raise UncorrectableError("the labels need failed and passed cases; one of the two is missing")
    if fails.share + passes.share <= 1:
        raise UncorrectableError(
            f"fail_recall {fails.share:.3f} and pass_recall {passes.share:.3f} sum to 1 or less: the judge knows no more than chance, and cannot be corrected"
        )
    drawn = _drawn(seen, fails, passes, Random(seed))  # noqa: S311  # no secret is drawn
    tail = (1 - LEVEL) / 2
    return Prevalence(
        seen=seen,
        corrected=_rate(seen.share, fails.share, passes.share),
        interval=Interval(low=drawn[int(tail * len(drawn))], high=drawn[min(len(drawn) - 1, int((1 - tail) * len(drawn)))]),
    )


def _drawn(seen: Rate, fails: Rate, passes: Rate, draw: Random) -> list[float]:
    """Rates of the bootstrap, ascending. A draw of a judge no better than chance says nothing: it stands for both ends in turn."""
    rates = []
    for index in range(DRAWS):
        shares = tuple(draw.betavariate(rate.count + 0.5, rate.total - rate.count + 0.5) for rate in (seen, fails, passes))
        rates.append(_rate(*shares) if shares[1] + shares[2] > 1 else float(index % 2))
    return sorted(rates)


def _rate(seen: float, fails: float, passes: float) -> float:
    return min(1.0, max(0.0, (seen + passes - 1) / (fails + passes - 1)))
