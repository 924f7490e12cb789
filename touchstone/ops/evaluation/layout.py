"""A run for a terminal: a block per test and the summary, as in the specification's sample output."""

from collections.abc import Iterator, Sequence
from typing import Final

from touchstone.schemas.reports.evaluation import EvaluatedCase, EvaluationReport
from touchstone.schemas.result import Finding, Label
from touchstone.scorers.reporting.drawing import RULE_CELLS, findings_block, result_lines
from touchstone.scorers.reporting.findings import BOLD, GREEN, RED, YELLOW, painted
from touchstone.scorers.reporting.folding import folded
from touchstone.scorers.reporting.view import LayoutOptions
from touchstone.scorers.reporting.words import counted, score_text, visible

#: Findings of one test that are shown without --verbose.
FINDINGS_SHOWN_MAX: Final = 10
_MARKS: Final[dict[Label, tuple[str, str, str]]] = {
    "Pass": ("✓", "PASS", GREEN),
    "Warn": ("!", "WARN", YELLOW),
    "Review": ("!", "WARN", YELLOW),
    "Fail": ("✗", "FAIL", RED),
    "unscored": ("-", "NOT EVALUATED", YELLOW),
}
_CODES: Final = {
    "timeout": "no answer in time",
    "connection": "the connection failed or broke off",
    "too_large": "the answer is larger than is read",
    "not_json": "the answer is not JSON",
    "not_an_object": "the answer is no object",
    "no_content": "the answer holds no document",
    "no_output": "the directory has no such output",
    "unreadable": "the file cannot be read",
    "redirected": "the system redirects; configure the address it redirects to",
    "too_deep": "the answer is nested too deep",
    "not_a_trace": "the answer is beyond what a trace may hold",
    # Codes of a judge: docs/judges.md.
    "judge_key": "the judge's server refused the key",
    "judge_forbidden": "the judge's key may not use its model",
    "judge_not_found": "the judge's server knows no such model or path",
    "judge_timeout": "the judge did not answer in time",
    "judge_connection": "there is no connection to the judge, or it broke off",
    "judge_5xx": "the judge's server failed",
    "judge_429": "the judge's server takes no more requests",
    "judge_quota": "the account behind the judge's key is used up",
    "budget": "the judge's budget is spent",
    "refused": "the judge declined to answer",
    "truncated": "the judge's answer was cut off; raise TOUCHSTONE_JUDGE_MAX_TOKENS",
    **dict.fromkeys(("empty", "no_json", "wrong_tool", "wrong_form"), "the judge gave no usable verdict"),
    "too_long": "the test is longer than the judge takes",
    "rejected": "the judge's server took the request for a mistake",
    "failing": "the judge's server fails at this test, while it answers others",
    "incomplete": "the judge left out a part of what it was asked",
    "no_dimension": "the judge scored none of its dimensions",
}


def console_pieces(report: EvaluationReport, options: LayoutOptions, parts: Sequence[tuple[str, str]]) -> Iterator[str]:
    """A block per test, and the summary. `parts`: the scores that the overall one is made of, with their headings."""
    console = _Console(options, parts)
    for case in report.cases:
        yield "\n".join([*console.block(case), "", ""])
    yield "\n".join([*console.end(report), ""])


class _Console:
    """Writes plain text; with `colour`, what matters is coloured. `verbose`: every finding, what was found where, steps, codes, and what was not checked."""

    def __init__(self, options: LayoutOptions, parts: Sequence[tuple[str, str]]) -> None:
        self._verbose, self._colour, self._parts = options.verbose, options.colour, parts

    def block(self, case: EvaluatedCase) -> Iterator[str]:
        """One test."""
        mark, word, colour = _MARKS[case.status]
        category = f" ({visible(case.category)})" if case.category else ""
        yield f"{self._paint(f'{mark} {word}', colour)}  {self._paint(visible(case.case_id), BOLD)}{category}"
        for failure in case.failures:
            yield self._paint(f"  {visible(failure.component)}: {_code_words(failure.code)}", YELLOW)
        if case.status == "unscored" and not case.failures:
            yield from (f"  {visible(one.check)}: {visible(one.reason)}" for one in case.not_checked[:FINDINGS_SHOWN_MAX])
        if case.scores:
            yield from self._scores(case)
        yield from self._expectations(case)
        yield from self._findings(case.findings)
        yield from self._conformance(case)
        if self._verbose:
            yield from self._details(case)

    def end(self, report: EvaluationReport) -> Iterator[str]:
        """The summary."""
        summary = report.summary
        counts = (summary.total, summary.passed, summary.warned, summary.failed)
        yield from result_lines(self._paint, counts, [("Not evaluated", summary.not_evaluated)], (), (summary.average_score, summary.scored))
        if summary.expectations_asked:
            yield f"  Expectations Met: {summary.expectations_met} of {summary.expectations_asked}"
        yield from ("", f"  Duration: {summary.duration_s:.1f}s")
        if report.resumed:
            yield f"  Finished by an earlier call: {report.resumed}"
        yield from (f"  {visible(note)}" for note in report.notes)
        yield from ("", "─" * RULE_CELLS)

    def _scores(self, case: EvaluatedCase) -> Iterator[str]:
        yield f"Overall: {score_text(case.scores.get('overall'))}"
        for name, heading in self._parts:
            if name in case.scores:
                yield f"  {heading}: {score_text(case.scores[name])}"
        for below in case.below_minimum:
            yield self._paint(f"  Below its minimum: {below.score} {score_text(below.value)}, at least {score_text(below.minimum)} asked", RED)
        for mode in case.modes:
            if mode.state == "persists":
                yield self._paint(f"  The failure persists: {mode.mode} ({mode.by})", RED)
            elif mode.state == "unchecked":
                yield f"  Nothing checks: {mode.mode}; name its check or what is expected in the file of cases"
            elif self._verbose:
                yield f"  The failure is gone: {mode.mode} ({mode.by})"
        if self._verbose and case.components_missing:
            yield f"  Without: {', '.join(case.components_missing)}"

    def _expectations(self, case: EvaluatedCase) -> Iterator[str]:
        expectations = case.expectations
        if expectations is None or not expectations.asked:
            return
        yield from ("", f"Expectations: {expectations.met} of {expectations.asked} met")
        for finding in expectations.findings:
            yield f"    • {visible(finding.message)}"
        if self._verbose:
            yield from (f"  {visible(one.name)}: {', '.join(one.found_in) or 'not found'}" for one in expectations.expected)

    def _findings(self, findings: Sequence[Finding]) -> Iterator[str]:
        """Findings by severity; without `verbose` only the most severe ones."""
        lines = folded(findings, with_info=self._verbose)
        most = None if self._verbose else FINDINGS_SHOWN_MAX
        yield from findings_block(lines, most, self._paint, hint="--verbose and the JSON report show them")

    def _conformance(self, case: EvaluatedCase) -> Iterator[str]:
        if case.conformance:
            yield from ("", "Conformance:")
        for one in case.conformance:
            if one.valid is None:
                yield f"  {one.format}: not checked: {visible(one.reason or '')}"
            else:
                counts = f"{counted(one.errors, 'error')}, {counted(one.warnings, 'warning')}"
                yield self._paint(
                    f"  {one.format}: {'conforms' if one.valid else 'does not conform'} ({visible(one.validator)}: {counts})", GREEN if one.valid else RED
                )
            yield from (f"    not checked: {visible(skipped.check)} ({visible(skipped.reason)})" for skipped in one.not_checked)

    def _details(self, case: EvaluatedCase) -> Iterator[str]:
        if case.enriched:
            yield from ("", "Codes found for the persona:")
            yield from (f"  {visible(one.path)}: {one.code} ({one.system}){'' if one.written else ', told only'}" for one in case.enriched)
        if case.not_checked:
            yield from ("", "Not checked:", *(f"  {visible(one.check)}: {visible(one.reason)}" for one in case.not_checked))
        if case.steps:
            steps = (f"{step.step} {step.duration_ms:.0f} ms{f' ({step.attempts} attempts)' if step.attempts > 1 else ''}" for step in case.steps)
            yield from ("", f"Steps: {', '.join(steps)}")
        if case.trace_file:
            yield f"Trace: {visible(case.trace_file)}"

    def _paint(self, text: str, colour: str) -> str:
        return painted(text, colour if self._colour else "")


def _code_words(code: str) -> str:
    return f"the system answered {code.removeprefix('status_')}" if code.startswith("status_") else _CODES.get(code, visible(code))
