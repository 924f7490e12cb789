"""From scored cases to the batch report (SAFE v0 §4.2). Pure, and independent of the order in which cases arrive."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from touchstone.schemas.reports.safe import (
    SafeV0Archetype,
    SafeV0BatchReport,
    SafeV0CaseError,
    SafeV0Intervals,
    SafeV0Judged,
    SafeV0JudgeFinding,
    SafeV0LabelDistribution,
    SafeV0PassRates,
    SafeV0PhraseMisses,
    SafeV0Result,
    SafeV0Scores,
    SafeV0SignalMisses,
    SafeV0Summary,
    SafeV0TermViolations,
    SafeV0Thresholds,
)
from touchstone.schemas.result import Finding, Scorecard, ScoreResult
from touchstone.scorers.judges.ask.tally import STATES, JudgeTally
from touchstone.scorers.reporting import Table
from touchstone.scorers.reporting.intervals import mean_intervals, wilson
from touchstone.scorers.safe.judging import CODES
from touchstone.scorers.safe.matching import fold
from touchstone.scorers.safe.settings import METRICS, SafeSettings

WORST_PERFORMERS_MAX = 5
#: What became of a case that a judge was to see → its row.
JUDGE_STATES = {**STATES, "no_questions": "without a question"}


def result_of(scored: Scorecard | ScoreResult) -> SafeV0Result:
    """The specification's result of a case, from a scorecard or from a result event that was stored."""
    return SafeV0Result.model_validate(
        {
            "test_id": scored.attributes["test_id"],
            "archetype": scored.attributes["archetype"],
            "scores": scored.values,
            "details": {metric: scored.details[metric] for metric in METRICS if metric in scored.details},
            "label": scored.label,
        }
    )


def build_report(
    results: Iterable[SafeV0Result],
    *,
    concern_id: str,
    batch_id: str,
    settings: SafeSettings | None = None,
    errors: Iterable[SafeV0CaseError] = (),
    judge: SafeV0Judged | None = None,
) -> SafeV0BatchReport:
    """Aggregate a batch. Rates and means are ratios in [0, 1], and 0 for a batch without cases (§4.3).

    `settings` give the thresholds behind the pass rates, an archetype's own where it has them. Equal results in any
    order give an equal report: sums are exactly rounded, and results are ordered by test id, then by their content.
    """
    settings = settings or SafeSettings()
    ordered = in_order(results)
    labels = Counter(result.label for result in ordered)
    return SafeV0BatchReport(
        batch_id=batch_id,
        concern_id=concern_id,
        total_cases=len(ordered),
        mean_scores=SafeV0Scores(**{name: mean(getattr(result.scores, name) for result in ordered) for name in (*METRICS, "composite")}),
        pass_rates=_pass_rates(ordered, settings),
        label_distribution=SafeV0LabelDistribution(Pass=labels["Pass"], Review=labels["Review"], Fail=labels["Fail"]),
        by_archetype=_by_archetype(ordered),
        worst_performers=tuple(sorted(ordered, key=lambda result: (result.scores.composite, result.test_id))[:WORST_PERFORMERS_MAX]),
        common_CR_misses=tuple(SafeV0SignalMisses(signal=text, miss_count=count) for text, count in common(result.details.CR.missing for result in ordered)),
        common_AH_violations=tuple(SafeV0TermViolations(term=text, count=count) for text, count in common(result.details.AH.violations for result in ordered)),
        common_AC_misses=tuple(SafeV0PhraseMisses(phrase=text, miss_count=count) for text, count in common(result.details.AC.missing for result in ordered)),
        thresholds=settings.thresholds,
        results=tuple(ordered),
        errors=tuple(errors),
        judge=judge,
    )


def summary_of(report: SafeV0BatchReport) -> SafeV0Summary:
    """The counts that the JSON report and the event `safe:v0:result` carry."""
    labels = report.label_distribution
    counts: Mapping[str, Any] = {"pass": labels.Pass, "review": labels.Review, "fail": labels.Fail}
    return SafeV0Summary.model_validate({"total_cases": report.total_cases, **counts, "overall_pass_rate": report.pass_rates.overall})


def intervals_of(report: SafeV0BatchReport) -> SafeV0Intervals:
    """The 95 % intervals of the batch's rates and means."""
    total, rates = report.total_cases, report.pass_rates
    found = {name: wilson(round(getattr(rates, name) * total), total) for name in METRICS}
    values = {name: [getattr(result.scores, name) for result in report.results] for name in (*METRICS, "composite")}
    return SafeV0Intervals(
        pass_rate=wilson(report.label_distribution.Pass, total),
        pass_rates={name: interval for name, interval in found.items() if interval is not None},
        means=mean_intervals(values),
    )


def in_order(results: Iterable[SafeV0Result]) -> list[SafeV0Result]:
    """Results by test id; where a test id recurs, by content, so that the order of arrival never shows."""
    ordered = sorted(results, key=lambda result: result.test_id)
    if any(first.test_id == second.test_id for first, second in pairwise(ordered)):
        ordered.sort(key=lambda result: (result.test_id, result.model_dump_json()))
    return ordered


def mean(values: Iterable[float]) -> float:
    """The mean, 0 of nothing (§4.3). `fsum` makes it the same for every order."""
    numbers = list(values)
    return min(1.0, math.fsum(numbers) / len(numbers)) if numbers else 0.0


def share(flags: Iterable[bool]) -> float:
    """The share of true ones, 0 of nothing (§4.3)."""
    listed = list(flags)
    return sum(listed) / len(listed) if listed else 0.0


def common(lists: Iterable[tuple[str, ...]]) -> list[tuple[str, int]]:
    """How many cases name each string, most first, then by text.

    Spellings that fold alike are one string, shown in the spelling that sorts first.
    """
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for texts in lists:
        for text in texts:
            folded = fold(text)
            counts[folded] += 1
            shown[folded] = min(text, shown.get(folded, text))
    return sorted(((shown[folded], count) for folded, count in counts.items()), key=lambda pair: (-pair[1], pair[0]))


def _pass_rates(ordered: list[SafeV0Result], settings: SafeSettings) -> SafeV0PassRates:
    """Per metric by the thresholds that hold for each case; overall by label."""
    thresholds: dict[str, SafeV0Thresholds] = {name: settings.rules_of(name).thresholds for name in {result.archetype for result in ordered}}
    rates = {metric: share(getattr(result.scores, metric) >= getattr(thresholds[result.archetype], metric).pass_ for result in ordered) for metric in METRICS}
    return SafeV0PassRates(**rates, overall=share(result.label == "Pass" for result in ordered))


def _by_archetype(ordered: list[SafeV0Result]) -> dict[str, SafeV0Archetype]:
    """The breakdown, archetypes in name order."""
    groups: dict[str, list[SafeV0Result]] = {}
    for result in ordered:
        groups.setdefault(result.archetype, []).append(result)
    return {
        name: SafeV0Archetype(
            count=len(group),
            mean_CR=mean(result.scores.CR for result in group),
            mean_AH=mean(result.scores.AH for result in group),
            mean_AC=mean(result.scores.AC for result in group),
            pass_rate=share(result.label == "Pass" for result in group),
        )
        for name, group in sorted(groups.items())
    }


class JudgedBatch:
    """Counts what a judge did and found, result by result. Equal results in any order give an equal report."""

    def __init__(self) -> None:
        self._tally = JudgeTally()
        self._findings: list[SafeV0JudgeFinding] = []

    def add(self, test_id: str, result: ScoreResult) -> None:
        """Count one result."""
        self._tally.add(result.details)
        for one in result.findings:
            if one.code in CODES:
                self._findings.append(SafeV0JudgeFinding(test_id=test_id, severity=one.severity, code=one.code, path=one.path, message=one.message))

    def summary(self) -> SafeV0Judged | None:
        """What the reports say; None if no judge was to be asked."""
        tally = self._tally
        if not tally.states:
            return None
        spent = {name: tally.spent[name] for name in ("calls", "calls_wasted", "tokens_in", "tokens_out")}
        ordered = sorted(self._findings, key=lambda one: (one.test_id, one.model_dump_json()))
        return SafeV0Judged(states=dict(sorted(tally.states.items())), **spent, cost_usd=tally.cost_usd, findings=tuple(ordered))

    def tables(self) -> tuple[Table, ...]:
        """What the judge was asked and what that cost; none where no judge was to be asked."""
        return (self._tally.table("cases", JUDGE_STATES),) if self._tally.states else ()


def by_test(judge: SafeV0Judged | None) -> dict[str, list[Finding]]:
    """Test id → what a judge found."""
    found: dict[str, list[Finding]] = {}
    for one in judge.findings if judge is not None else ():
        found.setdefault(one.test_id, []).append(Finding(severity=one.severity, code=one.code, path=one.path, message=one.message))
    return found
