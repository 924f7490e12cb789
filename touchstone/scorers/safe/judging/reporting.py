"""What a judge did for a batch and what it found, in every report; it is in no score and no label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from touchstone.schemas.reports.safe import SafeV0Judged, SafeV0JudgeFinding
from touchstone.schemas.result import Finding, ScoreResult
from touchstone.scorers.judges.ask.tally import STATES, JudgeTally
from touchstone.scorers.reporting import Table, counted
from touchstone.scorers.reporting.words import visible
from touchstone.scorers.safe.judging import CODES

#: Findings that the console lists without --verbose.
SHOWN_MAX: Final = 10
_STATES: Final = {**STATES, "no_questions": "without a question"}


class JudgedBatch:
    """Counts results one by one. Equal results in any order give an equal report."""

    def __init__(self) -> None:
        self._tally = JudgeTally()
        self._findings: list[SafeV0JudgeFinding] = []

    def add(self, test_id: str, result: ScoreResult) -> None:
        """Count one result."""
        self._tally.add(result.details)
        for one in result.findings:
            if one.code in CODES:
                self._findings.append(SafeV0JudgeFinding(test_id=test_id, severity=one.severity, code=one.code, path=one.path, message=one.message))

    def told(self) -> SafeV0Judged | None:
        """What the reports say; None where no judge was to be asked."""
        tally = self._tally
        if not tally.states:
            return None
        spent = {name: tally.spent[name] for name in ("calls", "calls_wasted", "tokens_in", "tokens_out")}
        ordered = sorted(self._findings, key=lambda one: (one.test_id, one.model_dump_json()))
        return SafeV0Judged(states=dict(sorted(tally.states.items())), **spent, cost_usd=tally.cost_usd, findings=tuple(ordered))

    def tables(self) -> tuple[Table, ...]:
        """What the judge was asked and what that cost; none where no judge was to be asked."""
        return (self._tally.table("cases", _STATES),) if self._tally.states else ()


def by_test(judge: SafeV0Judged | None) -> dict[str, list[Finding]]:
    """Test id → what a judge found."""
    found: dict[str, list[Finding]] = {}
    for one in judge.findings if judge is not None else ():
        found.setdefault(one.test_id, []).append(Finding(severity=one.severity, code=one.code, path=one.path, message=one.message))
    return found


def console_lines(judge: SafeV0Judged, *, verbose: bool) -> Iterator[str]:
    """What goes below the drawing."""
    judged, found = counted(judge.states.get("answered", 0), "case"), counted(len(judge.findings), "finding")
    spent = f"{counted(judge.calls, 'request')}, {judge.tokens_in} tokens in, {judge.tokens_out} out, USD {judge.cost_usd:.4f}"
    yield f"Judge: {judged} judged, {found} (in no score); {spent}"
    if others := [f"{visible(_STATES.get(state, state))} {count}" for state, count in judge.states.items() if state != "answered"]:
        yield f"  Cases not judged: {', '.join(others)}"
    shown = judge.findings if verbose else judge.findings[:SHOWN_MAX]
    yield from (f"  {visible(one.test_id)}: {one.severity}: {visible(one.path)}: {visible(one.message)}" for one in shown)
    if rest := len(judge.findings) - len(shown):
        yield f"  and {rest} more; --verbose and the JSON report show them"
