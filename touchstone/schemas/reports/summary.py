"""The report of Loss V3 over a batch of generated summaries."""

from collections import Counter
from typing import Annotated, Any, Final, Literal

from pydantic import Field, FiniteFloat

from touchstone.schemas.base import Outbound
from touchstone.schemas.reports.changes import Comparison, Trend
from touchstone.schemas.reports.fields import Count, UtcTime
from touchstone.schemas.reports.intervals import Intervals
from touchstone.schemas.result import Failure, Finding, Label, NotChecked

#: Codes of what a summary leaves out. They cap no label, and are no conflicts.
MISSING_FACT, MISSING_ENTITY, UNCOVERED_POINT = "missing_fact", "missing_entity", "uncovered_point"
OMISSIONS: Final = (MISSING_FACT, MISSING_ENTITY, UNCOVERED_POINT)
#: Codes of what nothing in the gold confirms, and of what it does not contradict either.
DOUBTS: Final = ("unsupported", "altered", "disputed", "unsure")


class LossCase(Outbound):
    """One generated summary. `where`: its file and place; `values`: loss, components and their parts; empty where unscored."""

    where: str
    event_id: str
    case_id: str | None
    category: str | None
    model: str | None
    label: Label
    values: dict[str, FiniteFloat]
    findings: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()
    components_missing: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """Codes of the hard-fail rules that hold: what a hard fail finds is critical, and it has the loss alone."""
        return tuple(finding.code for finding in self.findings if finding.severity == "critical") if self.values.keys() == {"loss"} else ()

    @property
    def conflicts(self) -> tuple[str, ...]:
        """Codes of what it gets wrong or has from nowhere, each once."""
        return tuple(code for code in self._kept if code.startswith("conflict."))

    @property
    def doubts(self) -> tuple[str, ...]:
        """Codes of what the gold neither confirms nor contradicts, each once."""
        return tuple(code for code in self._kept if code in DOUBTS)

    @property
    def others(self) -> tuple[str, ...]:
        """Codes of what lowered its label besides, each once."""
        return tuple(code for code in self._kept if not (code.startswith("conflict.") or code in DOUBTS or code in OMISSIONS))

    @property
    def _kept(self) -> tuple[str, ...]:
        """Every code that is more than information, each once; none of a hard fail, which has rules."""
        kept = (finding.code for finding in self.findings if finding.severity != "info" or finding.code == "label.bound")
        return () if self.rules else tuple(dict.fromkeys(kept))

    @property
    def omissions(self) -> dict[str, int]:
        """What it leaves out: code → how many findings there are of it."""
        counts = Counter(finding.code for finding in self.findings)
        return {code: counts[code] for code in OMISSIONS if counts[code]}

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of why it was not scored."""
        return tuple(failure.code for failure in self.failures)


class LossResult(LossCase):
    """The same with the scorer's own breakdown."""

    not_checked: tuple[NotChecked, ...] = ()
    details: dict[str, Any] = Field(default_factory=dict)


class LossSpread(Outbound):
    """Distribution of the losses of the scored cases; percentiles by linear interpolation."""

    mean: FiniteFloat
    min: FiniteFloat
    p50: FiniteFloat
    p90: FiniteFloat
    p99: FiniteFloat
    max: FiniteFloat


class LossComponent(Outbound):
    """One value over the cases that have it: a hard fail has only its loss, and a dropped component has none."""

    cases: Annotated[int, Field(ge=1)]
    mean: FiniteFloat


class LossLabels(Outbound):
    """Number of cases per label."""

    Pass: Count = 0
    Review: Count = 0
    Fail: Count = 0
    unscored: Count = 0


class LossError(Outbound):
    """A case that could not be read: where it is and what is wrong with it, without its text."""

    where: str
    what: str


class LossReport(Outbound):
    """A batch. `loss` is None where no case was scored; a hard fail counts with its loss of 1.

    `configuration`: the settings that change scores; `config_digest` is made of them. `hard_fails`: rule → cases; `conflicts`, `doubts`, `omissions`,
    `unscored`: code → cases. `worst`: the highest losses, worst first. `results`: every case, in the order of the files.
    `intervals`: of the pass rate, of the mean loss (`loss`) and of the components' means; None in reports of older versions.
    `comparison`: with an earlier batch, where one was named; `trend`: over time, where the store holds more than one point.
    """

    report_type: Literal["summary_loss"] = "summary_loss"
    generated_at: UtcTime
    suite_version: str
    config_digest: str
    configuration: dict[str, Any]
    models: dict[str, str]
    total_cases: Count
    scored_cases: Count
    repeated_cases: Count
    label_distribution: LossLabels
    loss: LossSpread | None
    components: dict[str, LossComponent]
    hard_fails: dict[str, Count]
    conflicts: dict[str, Count] = Field(default_factory=dict)
    doubts: dict[str, Count] = Field(default_factory=dict)
    omissions: dict[str, Count] = Field(default_factory=dict)
    unscored: dict[str, Count]
    worst: tuple[LossCase, ...]
    results: tuple[LossResult, ...]
    errors: tuple[LossError, ...]
    intervals: Intervals | None = None
    comparison: Comparison | None = None
    trend: Trend | None = None
