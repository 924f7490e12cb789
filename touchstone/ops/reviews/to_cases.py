"""Step 7 of the methodology: failures that people agree on become cases of evaluation runs, and the cycle is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from touchstone.ops.evaluation.prompts import PROMPT_CHARS_MAX
from touchstone.ops.evaluation.regressions import RegressionCase, RegressionCases, case_id, merged, read_cases, write_cases
from touchstone.ops.reviews.cycles import Cycle, count_cycle, first_cycle
from touchstone.ops.reviews.prompts_of_traces import Prompts
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.failure_analysis import Analysis, agreed_failures, analysed


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to become cases. `categories`: only these kinds of failure; all, if empty. `checks`: failure mode → the check that finds it."""

    output: Path
    cycles: Path
    categories: frozenset[str] = frozenset()
    checks: Mapping[str, str] = ()  # type: ignore[assignment]  # read-only


@dataclass(frozen=True, slots=True)
class Made:
    """What was written. `left_out`: reason → failed traces that became no case. `cycle`: None where nothing has changed since the last one."""

    total: int
    added: int
    changed: int
    left_out: Mapping[str, int]
    cycle: Cycle | None


def to_cases(records: Sequence[AnnotationRecord], wanted: Wanted, prompts: Callable[[frozenset[str]], Prompts], at: datetime) -> Made:
    """Add the failures that were settled, or that nobody passed, to the file of cases. Raises `ConfigError`.

    Failures without a category are left out, since nobody knows what to look for, and so are those whose prompt is not at hand.
    """
    found = analysed(records)
    modes, left_out = _coded(found, records, wanted.categories)
    if unknown := sorted(set(wanted.checks) - {name for names in modes.values() for name in names}):
        raise ConfigError(f"--check: no failure is in the category {', '.join(unknown)}")
    before = read_cases(wanted.output) if wanted.output.exists() else RegressionCases()
    known = {one.trace_id: one.prompt for one in before.cases}
    at_hand = {**known, **prompts(frozenset(modes.keys() - known.keys()))}
    made = []
    for trace, names in modes.items():
        if trace not in at_hand:
            left_out["their prompt is not at hand"] += 1
        elif len(at_hand[trace]) > PROMPT_CHARS_MAX:
            left_out["their prompt is too long"] += 1
        else:
            made.append(RegressionCase(id=case_id(trace), trace_id=trace, prompt=at_hand[trace], modes=names, added_at=at))
    cases, added, changed = merged(before, made, dict(wanted.checks))
    if added or changed:
        write_cases(wanted.output, cases)
    counts = {one.name: len(one.traces) for one in found.kinds}
    review_pass = max((one.number for one in found.passes), default=0)
    cycle = first_cycle(at, review_pass, len(found.reviewed), len(found.failures), counts, (wanted.output, len(cases.cases), added))
    return Made(len(cases.cases), added, changed, dict(left_out), count_cycle(wanted.cycles, cycle) if cases.cases else None)


def _coded(found: Analysis, records: Sequence[AnnotationRecord], categories: frozenset[str]) -> tuple[dict[str, tuple[str, ...]], Counter[str]]:
    """Trace → its failure modes, and why other failed traces are left out."""
    agreed = agreed_failures(found, records)
    left_out: Counter[str] = Counter()
    if disputed := len(found.failures) - len(agreed):
        left_out["reviewers disagree, and no verdict is settled"] = disputed
    modes: dict[str, tuple[str, ...]] = {}
    for trace, said in agreed.items():
        names = tuple(sorted({one.failure_mode for one in said if one.failure_mode is not None}))
        if not names:
            left_out["they have no category"] += 1
        elif categories and not categories & set(names):
            left_out["they are of other categories"] += 1
        else:
            modes[trace] = names
    return modes, left_out
