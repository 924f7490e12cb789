"""All tests of a run: counts, rates, verdict and exit code."""

import math
from collections import Counter
from collections.abc import Sequence

from touchstone.schemas.reports.evaluation import EvaluatedCase, EvaluationSummary
from touchstone.scorers.reporting import EXIT_ERROR, EXIT_FAIL, EXIT_PASS, EXIT_REVIEW, Gate, Rate, Verdict, counted
from touchstone.scorers.reporting.verdict import verdict_by_rate


def summarise(cases: Sequence[EvaluatedCase], duration_s: float) -> EvaluationSummary:
    """The counts of a run. The pass rate is of all tests, including those that could not be evaluated."""
    statuses = Counter(case.status for case in cases)
    scores = [score for case in cases if case.status != "unscored" and (score := case.scores.get("overall")) is not None]
    expectations = [case.expectations for case in cases if case.expectations is not None]
    return EvaluationSummary(
        total=len(cases),
        passed=statuses["Pass"],
        warned=statuses["Warn"] + statuses["Review"],
        failed=statuses["Fail"],
        not_evaluated=statuses["unscored"],
        scored=len(scores),
        pass_rate=statuses["Pass"] / len(cases) if cases else 0.0,
        average_score=math.fsum(scores) / len(scores) if scores else None,
        expectations_asked=sum(one.asked for one in expectations),
        expectations_met=sum(one.met for one in expectations),
        duration_s=round(duration_s, 3),
        incomplete=sum(bool(case.failures) for case in cases if case.status != "unscored"),
    )


def verdict_on(summary: EvaluationSummary, gate: Gate | None = None) -> Verdict:
    """Judge a run.

    Exit code 3: a test could not be evaluated, unless the gate allows it, or none could. With `gate.min_pass_rate`: 0 if the share of passed tests
    reaches it, 1 if not. Otherwise 1 with a failed test, 2 with a warned one (or one that was not evaluated, or with a failed part), 0 if all passed.
    """
    gate = gate or Gate()
    tests = counted(summary.total, "test")
    if summary.not_evaluated == summary.total or (summary.not_evaluated and not gate.allow_unscored):
        return Verdict("ERROR", f"{summary.not_evaluated} of {tests} could not be evaluated", EXIT_ERROR)
    if gate.min_pass_rate is not None:
        return verdict_by_rate(Rate(summary.passed, summary.total), gate.min_pass_rate, "test")
    if summary.failed:
        return Verdict("FAIL", f"{summary.failed} of {tests} failed", EXIT_FAIL)
    if summary.warned or summary.not_evaluated:
        rest = f", {summary.not_evaluated} not evaluated" if summary.not_evaluated else ""
        return Verdict("WARN", f"{summary.warned} of {tests} warned{rest}, none failed", EXIT_REVIEW)
    if summary.incomplete:
        return Verdict("WARN", f"{tests} passed, {summary.incomplete} without a part that failed", EXIT_REVIEW)
    return Verdict("PASS", f"{tests} passed", EXIT_PASS)
