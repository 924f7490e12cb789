"""The report of `touchstone eval validate`: an entry per file, and a summary."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, FiniteFloat

from touchstone.schemas.base import Outbound
from touchstone.schemas.reports.fields import Count, Ratio
from touchstone.schemas.reports.intervals import Interval
from touchstone.schemas.result import Finding, Label, NotChecked, Severity
from touchstone.schemas.trace import ClinicalFormat

#: What a file can be: a document of one format, or a trace that holds documents of several.
FileFormat = ClinicalFormat | Literal["trace"]
#: How a file counts. `validated`: by its label. `unvalidated`: keeps the whole from passing. `problem`: could not be read; the run ends
#: with an error. `passed_over`: listed and not counted (another format than asked for; in a directory, no clinical file at all).
Outcome = Literal["validated", "unvalidated", "problem", "passed_over"]


#: Why an entry of the list of known issues suppressed nothing.
Idle = Literal["expired", "unmatched"]


class ClinicalEntry(Outbound):
    """One file. `format` is None where none was recognised; `scores` (0–100) is empty where nothing was validated.

    `valid`: whether it keeps every rule of its standard that a conformant document must keep, whatever its score; None where no rule
    was applied. `rules_fired`: group of rules → how many times one was evaluated. `checks`: check → score. In a trace, the names of both
    begin with the place of the document (`outputs.fhir/structure`), as the paths of its findings do. `findings_dropped`: findings
    beyond the bound of one file. `finding_counts`: code → severity → findings, those beyond the bound too.
    `must_support`: profile that a resource claims → must-support element → whether any document populates it; null if it cannot be decided.
    `suppressed`: entry of the list of known issues → findings that it suppressed, which count nowhere else. `suppress_idle`: entry that suppressed nothing in
    the whole run → why; the same in each file.
    """

    file: str
    format: FileFormat | None
    label: Label
    valid: bool | None
    scores: dict[str, FiniteFloat] = Field(default_factory=dict)
    components_missing: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    rules_fired: dict[str, Count] = Field(default_factory=dict)
    not_checked: tuple[NotChecked, ...] = ()
    checks: dict[str, FiniteFloat] = Field(default_factory=dict)
    findings_dropped: Count = 0
    finding_counts: dict[str, dict[Severity, Count]] = Field(default_factory=dict)
    must_support: dict[str, dict[str, bool | None]] = Field(default_factory=dict)
    suppressed: dict[str, Count] = Field(default_factory=dict)
    suppress_idle: dict[str, Idle] = Field(default_factory=dict)


class WrittenFinding(Finding):
    """A finding; one without a suggestion, line or column has no such key."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)


class WrittenEntry(ClinicalEntry):
    """One file, as the JSON report has it."""

    findings: tuple[WrittenFinding, ...] = ()


class ClinicalCounts(Outbound):
    """How many traces have which label. `total_cases`: those that were scored; `overall_pass_rate`: the share of `pass` among them."""

    total_cases: Count
    pass_: Count = Field(alias="pass")
    warn: Count
    review: Count
    fail: Count
    unscored: Count
    overall_pass_rate: Ratio


class ClinicalEvent(Outbound):
    """Counts of a batch of traces, with Warn apart. `mean_scores`: score → mean, 0 to 100, over the traces that have it."""

    summary: ClinicalCounts
    mean_scores: dict[str, FiniteFloat]


class JudgedFile(Outbound):
    """An entry, how it counts, and how long it took."""

    entry: ClinicalEntry
    outcome: Outcome
    duration_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class ClinicalSummary(Outbound):
    """Summary of the files of a run. `total` counts what was asked for: all but those passed over.

    `average_score`: mean overall score of the `scored` files, those that have one. `invalid`: files that break a rule of their standard, whatever their label.
    """

    total: Count
    passed: Count
    warned: Count
    failed: Count
    unvalidated: Count
    problems: Count
    passed_over: Count
    invalid: Count
    scored: Count | None = None
    average_score: FiniteFloat | None
    duration_s: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    average_score_interval: Interval | None = None

    @property
    def pass_rate(self) -> float:
        """Share of the files asked for that passed; 0 without one."""
        return self.passed / self.total if self.total else 0.0
