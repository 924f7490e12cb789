"""A self-test's report for people: Markdown, as the specification shows it, and lines for a terminal."""

import re
from collections.abc import Iterator
from typing import Final

from touchstone.schemas.reports.selftest import SelftestAgreement, SelftestCase, SelftestReport
from touchstone.schemas.result import Finding
from touchstone.scorers.reporting.intervals import Rate
from touchstone.scorers.reporting.view import CaseView, View
from touchstone.scorers.reporting.words import counted, number_span, percent, percent_span, visible
from touchstone.scorers.selftest.batch import is_unjudged

#: Characters shown of a text by a model or system; the JSON has all of it.
QUOTE_CHARS_MAX: Final = 300
_MARKS: Final = re.compile(r"([\\`*_{}\[\]<>|#~&])")


def markdown(report: SelftestReport) -> Iterator[str]:
    """The report as lines with line ends."""
    summary = report.summary
    yield f"# Selftest Report: {report.run_id}\n\n"
    yield f"**Date:** {report.timestamp.replace('T', ' ').rstrip('Z')}\n"
    yield f"**Strictness:** {report.config['strictness']:g}\n"
    yield f"**Pass Rate:** {summary.passed}/{summary.total} ({percent(summary.passed / summary.total) if summary.total else '0%'})\n"
    if report.agreement and summary.pass_rate_interval is not None:
        yield f"**95% Interval:** {percent_span(summary.pass_rate_interval)}\n"
    if report.partial:
        yield f"**Partial:** {summary.total} of {counted(summary.planned, 'case')} run ({_quoted(report.stopped or 'stopped')})\n"
    if report.replay_of:
        yield f"**Replay of:** {report.replay_of}\n"
    yield "\n## Results\n\n| Case | Status | Score | Pass |\n|------|--------|-------|------|\n"
    for case in report.cases:
        yield f"| {name(case, report)} | {case.actual_status} | {score(case)} | {_word(case)} |\n"
    if report.agreement:
        yield "\n## Repeats\n\n| Case | Passed | 95% Interval | Agreement | Mean Score | 95% Interval |\n"
        yield "|------|--------|--------------|-----------|------------|--------------|\n"
    for one in report.agreement:
        yield f"| {' | '.join((one.id, *_agreement(one)))} |\n"
    failed = [case for case in report.cases if not case.pass_]
    if failed:
        yield "\n## Failed Cases\n"
    for case in failed:
        yield f"\n### {name(case, report)}\n"
        yield from (f"- {line}\n" for line in _failed_lines(case, report.effective_threshold))
    if any(case.findings for case in report.cases):
        yield "\n## Findings\n\n"
    for case in report.cases:
        for finding in case.findings:
            yield f"- {case.id}: {_quoted(finding.message)} ({finding.severity}, `{finding.code}`)\n"
    yield "\n## Recommendations\n"
    for line in report.recommendations or ("None: every case passed.",):
        yield f"- {_escaped(visible(line))}\n"


def line(case: SelftestCase, repeats: int = 1) -> str:
    """One case, for a terminal. `repeats`: of its request in the run."""
    why = f"  {case.failure.message}" if case.failure is not None else ""
    number = f" ({case.repeat} of {repeats})" if repeats > 1 else ""
    return visible(f"{_word(case):4}  {score(case):>5}  {case.id}{number}  {case.actual_status}  {case.duration_ms / 1000:.1f} s{why}")


def agreement_line(one: SelftestAgreement) -> str:
    """The agreement of one scenario's repeats, for a terminal."""
    passed, rate, agreed, mean, span = _agreement(one)
    return visible(f"{one.id}: {passed} passed (95% interval {rate}), agreement {agreed}, mean score {mean} (95% interval {span})")


def _agreement(one: SelftestAgreement) -> tuple[str, str, str, str, str]:
    return (
        f"{one.passed} of {one.runs}",
        "–" if one.pass_rate_interval is None else percent_span(one.pass_rate_interval),
        "–" if one.agreement is None else f"{one.agreement:.2f}",
        "–" if one.mean_score is None else f"{one.mean_score:.2f}",
        "–" if one.mean_score_interval is None else number_span(one.mean_score_interval),
    )


def name(case: SelftestCase, report: SelftestReport) -> str:
    """The case's id, with its number where requests were repeated."""
    return f"{case.id} ({case.repeat})" if report.agreement else case.id


def view(report: SelftestReport) -> View:
    """The report for the generic layouts: with each scenario's repeats as a group, which JUnit shows as a suite with its rate and interval."""
    summary = report.summary
    return View(
        title=f"Selftest {report.run_id}",
        suite="selftest",
        suite_version=report.version,
        config_digest="",
        generated_at=report.timestamp,
        total=summary.total,
        labels={"Pass": summary.passed, "Fail": summary.failed - summary.unjudged},
        rate=Rate(summary.passed, summary.total - summary.unjudged),
        cases=[_case_view(case, report) for case in report.cases],
    )


def _case_view(case: SelftestCase, report: SelftestReport) -> CaseView:
    unjudged = is_unjudged(case)
    return CaseView(
        name=name(case, report),
        label="Pass" if case.pass_ else "unscored" if unjudged else "Fail",
        status="pass" if case.pass_ else "unscored" if unjudged else "fail",
        group=case.id if report.agreement else "",
        class_name="selftest",
        summary=f"score {score(case)}, at least {report.effective_threshold:.2f} asked",
        why=case.failure.message if case.failure is not None else "",
        findings=[Finding(severity=found.severity, code=found.code, path="", message=found.message) for found in case.findings],
        duration_s=case.duration_ms / 1000,
    )


def score(case: SelftestCase) -> str:
    """The overall score; a missing one is a dash, never a zero."""
    return "–" if case.scores is None else f"{case.scores.overall_score:.2f}"


def _word(case: SelftestCase) -> str:
    return "PASS" if case.pass_ else "FAIL"


def _failed_lines(case: SelftestCase, threshold: float) -> Iterator[str]:
    """Expected, got and score of a failed case, at the first step that failed."""
    step = next((step for step in case.steps if not step.pass_), None)
    if step is None:
        yield f"Expected: {case.expected_status}, {_quoted(case.description)}"
        yield f"Got: {case.actual_status}, {_quoted(case.failure.message if case.failure else '')}"
        yield "Score: none; the system was not asked"
        return
    yield f"Expected: {step.expected_status}, {_quoted(case.hints or case.description)}"
    told = step.failure.message if step.failure is not None else step.judge.reasoning if step.judge is not None else ""
    yield f"Got: {step.actual_status}" + (f", {_quoted(told)}" if told else "")
    if step.scores is None:
        yield "Score: none; the answer was not judged"
        return
    overall = step.scores.overall_score
    is_below = overall < threshold
    places = 2 if f"{overall:.2f}" != f"{threshold:.2f}" or not is_below else 4
    yield f"Score: {overall:.{places}f} ({'below' if is_below else 'reaches'} threshold {threshold:.{places}f})"
    if step.failure is not None and step.judge is not None and step.judge.reasoning:
        yield f"Judge: {_quoted(step.judge.reasoning)}"


def _quoted(text: str) -> str:
    """An untrusted text in one line, shortened, with everything escaped that Markdown, HTML or a terminal would interpret."""
    flat = " ".join(text.split())
    return _escaped(visible(flat if len(flat) <= QUOTE_CHARS_MAX else f"{flat[: QUOTE_CHARS_MAX - 1]}…"))


def _escaped(text: str) -> str:
    # Inside a word `_` has no meaning, so status names and ids stay readable.
    return re.sub(r"(?<=\w)\\_(?=\w)", "_", _MARKS.sub(r"\\\1", text))
