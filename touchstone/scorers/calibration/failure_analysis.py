"""What reviewers' annotations come to: kinds of failure with their frequencies, saturation, review passes. The report and the API show the same figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.counting import about, current, newest
from touchstone.scorers.calibration.failure_coding import Category
from touchstone.scorers.calibration.saturation import Saturation, saturation
from touchstone.scorers.reporting.intervals import Rate

UNCODED: Final = "(not coded)"
#: What rates are of: cases drawn at random; cases of no queue; all reviewed ones; or none, where each was chosen.
Base = Literal["random", "outside", "all", "none"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of failure. `traces`: those that have it, in the order of their review. `rate`: among the traces that rates are of; None without any.

    `category`: what a person says of it, if anybody did.
    """

    name: str
    traces: tuple[str, ...]
    rate: Rate | None
    category: Category | None = None


@dataclass(frozen=True, slots=True)
class Pass:
    """One review pass. `annotations`: records written in it. `coded`: those of them with a failure mode. `modes`: how many different ones."""

    number: int
    annotations: int
    traces: int
    coded: int
    modes: int


@dataclass(frozen=True, slots=True)
class Analysis:
    """An error analysis. `failures`: what counts of each failed trace, in the order of their review. `disagreed`: traces of which one result
    has a pass and a fail, unsettled.
    """

    reviewed: tuple[str, ...]
    without_verdict: int
    failures: Mapping[str, tuple[AnnotationRecord, ...]]
    disagreed: int
    base: Base
    base_total: int
    failed: Rate | None
    kinds: tuple[Kind, ...]
    saturation: Saturation
    passes: tuple[Pass, ...]


def analysed(records: Sequence[AnnotationRecord], categories: Iterable[Category] = ()) -> Analysis:
    """The analysis of annotations, in the order in which they were written. Most frequent kinds first, what is not coded last."""
    by_trace: dict[str, list[AnnotationRecord]] = {}
    traces: set[str] = set()
    for one in current(records):
        traces.add(one.trace_id)
        if one.verdict is not None:
            by_trace.setdefault(one.trace_id, []).append(one)
    failures = {trace: tuple(one for one in said if one.verdict == "fail") for trace, said in by_trace.items()}
    failures = {trace: said for trace, said in failures.items() if said}
    kinds_of = {trace: tuple(dict.fromkeys(one.failure_mode or UNCODED for one in failures.get(trace, ()))) for trace in by_trace}
    base, counting = _base(newest(records), by_trace)
    having: dict[str, list[str]] = {}
    for trace, kinds in kinds_of.items():
        for kind in kinds:
            having.setdefault(kind, []).append(trace)
    described = {one.name: one for one in categories}
    found = tuple(
        Kind(name, tuple(of), Rate(sum(trace in counting for trace in of), len(counting)) if counting else None, described.get(name))
        for name, of in sorted(having.items(), key=lambda one: (one[0] == UNCODED, -len(one[1]), one[0]))
    )
    return Analysis(
        reviewed=tuple(by_trace),
        without_verdict=len(traces) - len(by_trace),
        failures=failures,
        disagreed=sum(_differ(said) for said in by_trace.values()),
        base=base,
        base_total=len(counting),
        failed=Rate(sum(trace in counting for trace in failures), len(counting)) if counting else None,
        kinds=found,
        saturation=saturation([kind for kind in kinds if kind != UNCODED] for kinds in kinds_of.values()),
        passes=_passes(records),
    )


def agreed_failures(found: Analysis, records: Sequence[AnnotationRecord]) -> dict[str, tuple[AnnotationRecord, ...]]:
    """The failures that were settled, or that nobody passed."""
    passed = {about(one) for one in current(records) if one.verdict == "pass"}
    agreed = {trace: tuple(one for one in said if about(one) not in passed) for trace, said in found.failures.items()}
    return {trace: said for trace, said in agreed.items() if said}


def _differ(said: Iterable[AnnotationRecord]) -> bool:
    """True if one result has a pass and a fail. That one suite's result is wrong and another's right is no disagreement."""
    verdicts: dict[str | None, set[str | None]] = {}
    for one in said:
        verdicts.setdefault(one.suite, set()).add(one.verdict)
    return any(len(different) > 1 for different in verdicts.values())


def _base(standing: Iterable[AnnotationRecord], reviewed: Mapping[str, object]) -> tuple[Base, frozenset[str]]:
    """The traces that rates are of. Those that a queue chose by a filter say nothing of how frequent a failure is."""
    arms: dict[str, set[str | None]] = {}
    for one in standing:
        if one.trace_id in reviewed:
            arms.setdefault(one.trace_id, set()).add(one.arm)
    at_random = frozenset(trace for trace, said in arms.items() if "random" in said)
    if at_random:
        return "random", at_random
    outside = frozenset(trace for trace, said in arms.items() if "chosen" not in said)
    if not outside and arms:
        return "none", outside
    return ("all" if len(outside) == len(arms) else "outside"), outside


def _passes(records: Iterable[AnnotationRecord]) -> tuple[Pass, ...]:
    by_number: dict[int, list[AnnotationRecord]] = {}
    for one in records:
        by_number.setdefault(one.review_pass, []).append(one)
    return tuple(
        Pass(
            number,
            len(said),
            len({one.trace_id for one in said}),
            sum(one.failure_mode is not None for one in said),
            len({one.failure_mode for one in said if one.failure_mode is not None}),
        )
        for number, said in sorted(by_number.items())
    )
