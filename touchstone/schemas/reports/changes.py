"""How a batch compares with an earlier one, and how batches went over time, as every report carries it."""

from typing import Literal

from pydantic import Field, FiniteFloat

from touchstone.schemas.base import Outbound
from touchstone.schemas.reports.fields import Count, Ratio, UtcTime
from touchstone.schemas.reports.intervals import Interval
from touchstone.schemas.result import Label

#: Which way a figure went. `unclear`: the interval of its difference holds 0, or there is none. `changed`: it went somewhere, and neither way is better.
Direction = Literal["better", "worse", "changed", "unclear"]


class Side(Outbound):
    """One of two batches that are compared. `name`: a batch, or the file of a report. `suite_version`, `config_digest`: empty where it does not say them.

    `passed` of the `scored` cases are Pass.
    """

    name: str
    suite_version: str
    config_digest: str
    cases: Count
    scored: Count
    passed: Count


class Difference(Outbound):
    """A figure before and now. `difference`: now less before, with its 95 % `interval`; None where a side does not have the figure, or too few cases.

    `pairs`: cases that have it on both sides, as far as the interval uses that they are the same.
    """

    before: FiniteFloat | None
    now: FiniteFloat | None
    difference: FiniteFloat | None
    interval: Interval | None
    direction: Direction
    pairs: Count


class ValueDifference(Difference):
    """The mean of one value. `heading`, `places`: how it is shown. `better`: which way is good, where one is."""

    name: str
    heading: str
    places: Count
    better: Literal["higher", "lower"] | None


class CodeDifference(Outbound):
    """Cases that a code of findings was found in."""

    code: str
    before: Count
    now: Count


class CaseChange(Outbound):
    """A case whose label changed."""

    case: str
    before: Label
    now: Label


class Comparison(Outbound):
    """A batch and an earlier one, by what their reports say of each case.

    `alike`: whether the same version and configuration scored both; None where that is not known. `pairs`: cases that are on both sides. Of these,
    `improved` have a better label than before, `worsened` a worse one, and `no_longer_scored` had a label and have none. `worse`: the first of these
    two, the gravest first. `codes`: those whose cases changed most.
    """

    level: float = 0.95
    before: Side
    now: Side
    alike: bool | None
    pairs: Count
    improved: Count
    worsened: Count
    no_longer_scored: Count
    pass_rate: Difference
    values: tuple[ValueDifference, ...]
    codes: tuple[CodeDifference, ...]
    worse: tuple[CaseChange, ...]

    @property
    def drop(self) -> float:
        """By how much the pass rate fell; 0 where it did not."""
        return max(0.0, -(self.pass_rate.difference or 0.0))


class TrendPoint(Outbound):
    """One batch, or one span of time. `begun`: when its first case was scored (for a span: when the span begins).

    `pass_rate`: of the `scored` cases, with Wilson's interval; None without one. `means`: listed value → mean, `intervals`: → its bootstrap interval,
    of at least two cases. `changed`: another version or configuration than that of the point before it.
    """

    name: str
    begun: UtcTime
    cases: Count
    scored: Count
    passed: Count
    pass_rate: Ratio | None
    pass_rate_interval: Interval | None
    means: dict[str, FiniteFloat] = Field(default_factory=dict)
    intervals: dict[str, Interval] = Field(default_factory=dict)
    suite_version: str
    config_digest: str
    changed: bool


class TrendValue(Outbound):
    """A value that the points list, and how it is shown."""

    name: str
    heading: str
    places: Count
    better: Literal["higher", "lower"] | None


class Trend(Outbound):
    """Points in the order of time. `by`: `batch`, or the length of a span (`10 minutes`). `left_out`: earlier batches that are not among them."""

    level: float = 0.95
    by: str
    values: tuple[TrendValue, ...]
    points: tuple[TrendPoint, ...]
    left_out: Count
