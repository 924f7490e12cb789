"""Confidence intervals as reports carry them."""

from pydantic import Field, FiniteFloat

from touchstone.schemas.base import Outbound


class Interval(Outbound):
    """A 95 % confidence interval; both ends belong to it."""

    low: FiniteFloat
    high: FiniteFloat


class Intervals(Outbound):
    """The 95 % confidence intervals of a report.

    `pass_rate`: Wilson's, of the share of Pass labels among the scored cases; null without a case. `means`: by the bootstrap, of each mean over at
    least two cases.
    """

    level: float = 0.95
    pass_rate: Interval | None = None
    means: dict[str, Interval] = Field(default_factory=dict)
