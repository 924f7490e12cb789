"""What every suite's reports look like to programs: report events, and the JSON documents of suites that have no form of their own."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat
from pydantic.json_schema import WithJsonSchema

from touchstone.schemas.base import Outbound
from touchstone.schemas.reports.changes import Comparison, Trend
from touchstone.schemas.reports.fields import Count, Ratio
from touchstone.schemas.reports.intervals import Intervals
from touchstone.schemas.result import Problem, ScoreResult

#: A moment that is written as it is, in UTC.
Moment = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]


class ReportEvent(Outbound):
    """The report of a batch of live results; the event's type names the suite.

    `timestamp`: when the latest result of the batch was scored. `report_id`: the same for every report of the batch. `final`: whether nothing more is
    expected: the declared size is reached, or no case has come for a while.
    """

    concern_id: str
    batch_id: str
    timestamp: datetime
    report_id: str
    final: bool


class SuiteCounts(Outbound):
    """How many cases have which label. `total_cases`: those that were scored; `overall_pass_rate`: the share of `pass` among them."""

    total_cases: Count
    pass_: Count = Field(alias="pass")
    review: Count
    fail: Count
    unscored: Count
    overall_pass_rate: Ratio


class SuiteEvent(Outbound):
    """Counts and means of a batch. `mean_scores`: value → mean over the cases that have it."""

    summary: SuiteCounts
    mean_scores: dict[str, FiniteFloat]


class VerdictDocument(Outbound):
    """The verdict, and the exit code that says the same: 0 pass, 1 fail, 2 review, 3 error."""

    word: str
    reason: str
    exit_code: Literal[0, 1, 2, 3]


class DistributionDocument(Outbound):
    """One value over the cases. `counts`: cases in equal bins between `low` and `high`."""

    name: str
    low: FiniteFloat
    high: FiniteFloat
    counts: tuple[Count, ...]


class ProblemDocument(Problem):
    """Part of the input that got no score. `where`: its place, for people."""

    where_: str = Field(alias="where")


class SuiteReportDocument(Outbound):
    """The report of a batch of any suite, its results last.

    `total`: cases, of which `scored` could be scored; `labels`, `codes`, `unscored` (why not): name → cases. `means`: value → mean over the `counts` cases
    that have it. `problems`: the first of the inputs that could not be read; `problem_count` counts all. `comparison`: with an earlier batch, where one was
    named; `trend`: over time, where the store holds more than one point. Both are null elsewhere.
    """

    suite: str
    suite_version: str
    config_digest: str
    generated_at: Moment
    concern_id: str
    batch_id: str
    verdict: VerdictDocument
    total: Count
    scored: Count
    pass_rate: Ratio
    labels: dict[str, Count]
    means: dict[str, FiniteFloat]
    intervals: Intervals
    counts: dict[str, Count]
    codes: dict[str, Count]
    unscored: dict[str, Count]
    models: dict[str, str]
    distributions: tuple[DistributionDocument, ...]
    passed_over: Count
    problem_count: Count
    problems: tuple[ProblemDocument, ...]
    comparison: Comparison | None = None
    trend: Trend | None = None
    results: tuple[ScoreResult, ...]
