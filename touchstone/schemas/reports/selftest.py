"""The report of a self-test, as `reports/selftest/<run_id>.json` holds it. The specification's fields come first; the rest is added."""

from typing import Any

from pydantic import ConfigDict, Field

from touchstone.schemas.base import Outbound
from touchstone.schemas.reports.intervals import Interval


class SelftestScores(Outbound):
    """The judge's four scores and their weighted sum, each 0 to 1."""

    format_score: float
    factuality_score: float
    instruction_following_score: float
    safety_score: float
    overall_score: float


class SelftestJudge(Outbound):
    """What the judge said besides the scores. Its own `overall_score` and `pass` are recorded and count for nothing."""

    model_config = ConfigDict(populate_by_name=True)

    model: str
    overall_score: float | None
    pass_: bool | None = Field(alias="pass")
    reasoning: str
    cached: bool


class SelftestFinding(Outbound):
    """What a fixed check found. It changes no score and no verdict."""

    severity: str
    code: str
    message: str


class SelftestFailure(Outbound):
    """Why a case did not pass, other than by its scores. `kind`: whose fault it is (`system`, `generator`, `judge`)."""

    kind: str
    code: str
    message: str


class SelftestStep(Outbound):
    """One answer of the system and the verdict on it. `sent`: the request, or the reply that came before it. `scores` is null where there is no verdict."""

    model_config = ConfigDict(populate_by_name=True)

    sent: str
    output: str
    expected_status: str
    actual_status: str
    scores: SelftestScores | None
    pass_: bool = Field(alias="pass")
    duration_ms: int
    failure: SelftestFailure | None
    findings: tuple[SelftestFinding, ...]
    judge: SelftestJudge | None


class SelftestCase(Outbound):
    """One run of a scenario. `repeat`: its number among those of the same request, from 1.

    Output and status are those of the last step, scores those of the weakest one; a case passes where every step does.
    """

    model_config = ConfigDict(populate_by_name=True)

    id: str
    prompt: str
    output: str
    expected_status: str
    actual_status: str
    scores: SelftestScores | None
    pass_: bool = Field(alias="pass")
    duration_ms: int
    description: str
    hints: str
    session_id: str
    generator_attempts: int
    generator_refused: tuple[str, ...]
    failure: SelftestFailure | None
    findings: tuple[SelftestFinding, ...]
    steps: tuple[SelftestStep, ...]
    repeat: int = 1


class SelftestAgreement(Outbound):
    """How far the repeats of one request agree.

    `runs`: those with a verdict on the system. `agreement`: the share of pairs of them with the same verdict; null below two. `pass_rate_interval`:
    Wilson's, 95 %. `mean_score` and its interval: of the runs that have a score.
    """

    id: str
    runs: int
    passed: int
    agreement: float | None
    pass_rate_interval: Interval | None
    mean_score: float | None
    mean_score_interval: Interval | None


class SelftestSummary(Outbound):
    """Counts of the cases that were run.

    `unjudged`: those among the failed without a verdict on the system. `planned`: cases that should have been run. `pass_rate_interval`: 95 %; Wilson's,
    and with repeats the bootstrap's over the scenarios, because repeats of a request resemble each other.
    """

    total: int
    passed: int
    failed: int
    pass_rate: float
    unjudged: int
    planned: int
    pass_rate_interval: Interval | None = None


class SelftestReport(Outbound):
    """A whole run. `config`: the configuration it was made with, so that it can be replayed.

    `partial`: it ended before its last case; `stopped` says why. `agreement`: per scenario, where requests were repeated.
    """

    run_id: str
    timestamp: str
    config: dict[str, Any]
    summary: SelftestSummary
    cases: tuple[SelftestCase, ...]
    recommendations: tuple[str, ...]
    effective_threshold: float
    seed: int
    replay_of: str | None
    partial: bool
    stopped: str | None
    system: str
    prompts: dict[str, str]
    cost_usd: float
    version: str
    agreement: tuple[SelftestAgreement, ...] = ()
