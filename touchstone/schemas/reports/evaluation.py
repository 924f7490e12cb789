"""The report of an evaluation run: one entry per test, and what they come to."""

from datetime import datetime
from typing import Literal

from pydantic import Field, FiniteFloat

from touchstone.schemas.base import Outbound
from touchstone.schemas.reports.fields import Count
from touchstone.schemas.result import Failure, Finding, Label, NotChecked


class StepTold(Outbound):
    """One step of a test. `attempts`: how often the system under test was asked. `failed`: why it gave nothing; None where it did."""

    step: str
    duration_ms: FiniteFloat
    attempts: Count = 1
    failed: str | None = None


class Expectation(Outbound):
    """One thing that a test expects. `expected`: its place in the test; `found_in`: persona and formats that have it, empty where it is missing."""

    expected: str
    name: str
    found_in: tuple[str, ...] = ()


class Expectations(Outbound):
    """What a test expects and what of it was found. They stand beside the scores and change none."""

    asked: Count = 0
    met: Count = 0
    expected: tuple[Expectation, ...] = ()
    findings: tuple[Finding, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()


class AddedCode(Outbound):
    """A code that enrichment found for a term of the persona. `written`: it was added there; false where the term is plain text, which has no place for one."""

    path: str
    system: str
    code: str
    written: bool


class Conformance(Outbound):
    """An external validator's verdict on one document.

    `valid`: None if it was not asked, for the `reason`. `errors`: number of issues that break a rule. `not_checked`: what the validator could not look up.
    """

    format: str
    validator: str
    valid: bool | None = None
    reason: str | None = None
    errors: Count = 0
    warnings: Count = 0
    findings: tuple[Finding, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()


class BelowMinimum(Outbound):
    """A score that is below what the test asks."""

    score: str
    value: FiniteFloat
    minimum: FiniteFloat


class ModeTold(Outbound):
    """A failure mode that a test's outcome must not have. `state`: `absent`, `persists`, or `unchecked` for want of a check. `by`: what told."""

    mode: str
    state: Literal["absent", "persists", "unchecked"]
    by: str = ""


class SuiteTold(Outbound):
    """A suite that scored, its version, and the digest of its configuration."""

    suite: str
    version: str
    config_digest: str


class EvaluatedCase(Outbound):
    """One test.

    `status`: what it counts as: `label`, the suites' own, unless a score is below the test's minimum (Fail), a failure mode of `modes` persists (Fail) or is
    unchecked (Warn at best), or the system gave nothing (`unscored`).
    `result_ids`: suite → id of its result, which is the same when the trace is scored from a file or a topic. `place`: where the prompt comes from.
    `enriched`: codes found for the persona's terms. `trace_file`: inside the output directory, where the trace was saved.
    """

    case_id: str
    category: str | None
    place: str
    trace_id: str
    status: Label
    label: Label
    result_ids: dict[str, str] = Field(default_factory=dict)
    scores: dict[str, FiniteFloat] = Field(default_factory=dict)
    components_missing: tuple[str, ...] = ()
    below_minimum: tuple[BelowMinimum, ...] = ()
    modes: tuple[ModeTold, ...] = ()
    findings: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    expectations: Expectations | None = None
    enriched: tuple[AddedCode, ...] = ()
    conformance: tuple[Conformance, ...] = ()
    steps: tuple[StepTold, ...] = ()
    duration_ms: FiniteFloat = 0.0
    trace_file: str | None = None


class EvaluationSummary(Outbound):
    """The counts of a run. `pass_rate`: of all tests; `average_score`: of those that have an overall score. `duration_s`: of the tests of this call.

    `incomplete`: tests that were evaluated without a part that failed, such as the judge.
    """

    total: Count
    passed: Count
    warned: Count
    failed: Count
    not_evaluated: Count
    scored: Count
    pass_rate: FiniteFloat
    average_score: FiniteFloat | None
    expectations_asked: Count
    expectations_met: Count
    duration_s: FiniteFloat
    incomplete: Count = 0


class EvaluationReport(Outbound):
    """A whole run. `system`: host or directory that was evaluated. `suites`: those that scored; the last one's label counts.

    `judge`: whether a judge was wanted. `resumed`: tests that an earlier call had finished. `notes`: what was left out, and why.
    """

    run_id: str
    started_at: datetime
    generated_at: datetime
    system: str
    suites: tuple[SuiteTold, ...]
    formats: tuple[str, ...]
    judge: bool
    resumed: Count = 0
    notes: tuple[str, ...] = ()
    summary: EvaluationSummary
    cases: tuple[EvaluatedCase, ...]
