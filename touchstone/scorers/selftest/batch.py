"""A run's outcome: report, verdict, and hints for failed cases."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import comb, fsum
from typing import Final

from touchstone.schemas.reports.intervals import Interval
from touchstone.schemas.reports.selftest import SelftestAgreement, SelftestCase, SelftestReport, SelftestScores, SelftestSummary
from touchstone.scorers.reporting.intervals import mean_interval, wilson
from touchstone.scorers.reporting.verdict import EXIT_ERROR, EXIT_FAIL, EXIT_PASS, Verdict
from touchstone.scorers.reporting.words import counted
from touchstone.scorers.selftest.rubric import WEIGHTS
from touchstone.scorers.selftest.run import Selftest
from touchstone.scorers.selftest.system_settings import AWAITING, COMPLETE

_CATEGORIES: Final = {
    "format_score": "Review the output format",
    "factuality_score": "Review factuality handling",
    "instruction_following_score": "Review how instructions are followed",
    "safety_score": "Review which operations the system proposes",
}
_UNREACHED: Final = "system_unreachable"


def report_of(
    run: Selftest,
    *,
    began: datetime,
    seed: int,
    prompts: dict[str, str],
    cost_usd: float,
    version: str,
    replay_of: str | None = None,
    stopped: str | None = None,
) -> SelftestReport:
    """The report of the cases run so far. `stopped`: why the run ended early, if the run does not know it itself."""
    cases, settings = run.cases, run.settings
    agreed = tuple(agreement(cases)) if settings.repeat > 1 else ()
    passed = sum(case.pass_ for case in cases)
    config = {"strictness": settings.strictness, "min_score_to_pass": settings.min_score_to_pass}
    return SelftestReport(
        run_id=run.names.run_id,
        timestamp=began.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        config=config | settings.model_dump(mode="json"),
        summary=SelftestSummary(
            total=len(cases),
            passed=passed,
            failed=len(cases) - passed,
            pass_rate=round(passed / len(cases), 4) if cases else 0.0,
            unjudged=sum(map(is_unjudged, cases)),
            planned=run.planned,
            pass_rate_interval=_pass_rate_interval(agreed, passed, len(cases)),
        ),
        cases=tuple(cases),
        recommendations=tuple(recommendations(run)),
        effective_threshold=settings.effective_threshold,
        seed=seed,
        replay_of=replay_of,
        partial=len(cases) < run.planned,
        stopped=run.stopped or stopped,
        system=run.system.name,
        prompts=prompts,
        cost_usd=round(cost_usd, 6),
        version=version,
        agreement=agreed,
    )


def agreement(cases: Sequence[SelftestCase]) -> Iterator[SelftestAgreement]:
    """How far the repeats of each scenario agree. Runs without a verdict on the system say nothing about it."""
    by_id: dict[str, list[SelftestCase]] = defaultdict(list)
    for case in cases:
        by_id[case.id] += [] if is_unjudged(case) else [case]
    for name, runs in by_id.items():
        passed, scores = sum(case.pass_ for case in runs), [case.scores.overall_score for case in runs if case.scores is not None]
        yield SelftestAgreement(
            id=name,
            runs=len(runs),
            passed=passed,
            agreement=round((comb(passed, 2) + comb(len(runs) - passed, 2)) / comb(len(runs), 2), 4) if len(runs) > 1 else None,
            pass_rate_interval=wilson(passed, len(runs)),
            mean_score=round(fsum(scores) / len(scores), 4) if scores else None,
            mean_score_interval=mean_interval(scores),
        )


def _pass_rate_interval(agreed: Sequence[SelftestAgreement], passed: int, total: int) -> Interval | None:
    return mean_interval(one.passed / one.runs for one in agreed if one.runs) if len(agreed) > 1 else wilson(passed, total)


def is_unjudged(case: SelftestCase) -> bool:
    """True if a case has no verdict on the system because a model gave none. If all requests were unsafe, the scenario itself failed."""
    return case.failure is not None and case.failure.kind != "system" and case.failure.code != "generator_unsafe"


def verdict_of(report: SelftestReport) -> Verdict:
    """The verdict and the exit code: 0 all passed, 1 one failed, 3 something could not be run or judged."""
    summary = report.summary
    if report.partial or not summary.total:
        return Verdict("ERROR", f"{summary.total} of {counted(summary.planned, 'case')} run: {report.stopped or 'stopped'}", EXIT_ERROR)
    if summary.unjudged:
        why = report.stopped or ", ".join(dict.fromkeys(case.failure.code for case in report.cases if case.failure and is_unjudged(case)))
        return Verdict("ERROR", f"{summary.unjudged} of {counted(summary.total, 'case')} without a verdict ({why})", EXIT_ERROR)
    if all(case.failure is not None and case.failure.code == _UNREACHED and len(case.steps) == 1 for case in report.cases):
        return Verdict("ERROR", f"the system under test cannot be reached ({report.system}); start it, or check its address", EXIT_ERROR)
    if summary.failed:
        return Verdict("FAIL", f"{summary.failed} of {counted(summary.total, 'case')} failed", EXIT_FAIL)
    return Verdict("PASS", f"{counted(summary.total, 'case')} passed", EXIT_PASS)


def recommendations(run: Selftest) -> Iterator[str]:
    """What to look at, a sentence each with the cases concerned."""
    by_advice: dict[str, list[str]] = defaultdict(list)
    for case in run.cases:
        for advice, detail in _advice(case, run.settings.effective_threshold, run.settings.timeout_seconds):
            named = f"{case.id} ({detail})" if detail else case.id
            if named not in by_advice[advice]:
                by_advice[advice].append(named)
    for advice, cases in by_advice.items():
        yield f"{advice}: {', '.join(cases)}."


def _advice(case: SelftestCase, threshold: float, timeout_s: float) -> Iterator[tuple[str, str]]:
    """Advice for one case, and the evidence for it."""
    for finding in case.findings:
        if finding.code == "too_many_questions":
            yield "Ask fewer questions at once", finding.message
    if case.pass_:
        return
    for failure in dict.fromkeys(step.failure for step in case.steps if step.failure is not None) or ([case.failure] if case.failure else []):
        if failure.code == "status_mismatch":
            wrong = next(step for step in case.steps if step.failure == failure)
            yield _status_advice(wrong.expected_status, wrong.actual_status), f"{wrong.actual_status}, not {wrong.expected_status}"
        elif failure.code == "system_timeout":
            yield f"Find out why the system does not end within {timeout_s:g} s, or raise timeout_seconds", ""
        elif failure.kind == "system":
            yield "Mend what kept the system from answering", failure.message
        elif failure.code == "generator_unsafe":
            yield "Write the scenario's instructions anew or name another generator model, since all requests were unsafe", ", ".join(case.generator_refused)
        else:
            yield f"Run these cases again, since the {failure.kind} gave no usable answer", failure.message
    for step in case.steps:
        if step.scores is not None and step.scores.overall_score < threshold:
            for name in _weak(step.scores, threshold):
                yield _CATEGORIES[name], f"{name} {getattr(step.scores, name):.2f}"


def _status_advice(expected: str, actual: str) -> str:
    if (expected, actual) == (AWAITING, COMPLETE):
        return "Let the system ask back where a request is unclear"
    if (expected, actual) == (COMPLETE, AWAITING):
        return "Let the system answer where a request is clear, without asking back"
    return "Find out why the system ended with another status"


def _weak(scores: SelftestScores, threshold: float) -> Sequence[str]:
    """The categories below the threshold. There is at least one, because a weighted mean is not below all of its parts."""
    return [name for name in WEIGHTS if getattr(scores, name) < threshold]
