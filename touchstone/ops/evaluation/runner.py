"""Runs the tests (persona, codes, documents, scores), several at a time, and keeps each as soon as it is done."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Protocol, Self

from pydantic import ValidationError

from touchstone.ops.evaluation.items import Field, Item
from touchstone.ops.evaluation.state import TRACES, RunState
from touchstone.ops.evaluation.systems import Answer, StepFailed, System
from touchstone.ops.evaluation.traces import OVERALL, WEIGHTED, trace_of, trace_record, trace_text
from touchstone.ops.reports.files import write_whole
from touchstone.schemas.reports.evaluation import AddedCode, BelowMinimum, Conformance, EvaluatedCase, Expectations, ModeTold, StepTold
from touchstone.schemas.result import Failure, FileRef, Finding, Label, NotChecked, ScoreResult
from touchstone.schemas.trace import ClinicalFormat, ProductionTrace
from touchstone.scorers.scoring import Scoring

PERSONA: Final = "persona"
ENRICH: Final = "enrich"
SCORE: Final = "score"
#: Most findings that a test keeps; its result from a worker or from files has all of them.
FINDINGS_MAX: Final = 200
#: Most levels of nesting in a persona or document.
DEPTH_MAX: Final = 100


class Conforming(Protocol):
    """Asks external validators about documents."""

    async def check(self, form: ClinicalFormat, content: Any) -> Conformance:
        """Their report on one document; never raises because of its content."""
        ...


@dataclass(frozen=True, slots=True)
class Runner:
    """Everything that a test needs.

    `scorings`: the suites that score it; the last one's label counts. `on_case`: called with each finished test, and True if an earlier call had finished it.
    `further`: suites that look for failure modes in the tests that name some; their labels, scores and findings do not count.
    """

    system: System
    scorings: Sequence[Scoring]
    field: Field
    state: RunState
    formats: Sequence[ClinicalFormat]
    concurrency: int = 4
    save_traces: bool = False
    conforming: Conforming | None = None
    on_case: Callable[[EvaluatedCase, bool], None] = lambda _case, _earlier: None
    further: Sequence[Scoring] = ()

    async def run(self, items: Sequence[Item]) -> tuple[tuple[EvaluatedCase, ...], int]:
        """Run every test; the cases in the order of the items, and how many an earlier call had finished.

        A test whose system gave nothing is reported and does not end the run. Raises `ConfigError` if results cannot be written; cancelling loses only
        the tests in flight.
        """
        done = {case_id: case for case_id, case in self.state.finished_cases().items() if case_id in {item.id for item in items}}
        for case in done.values():
            self.on_case(case, True)
        resumed = len(done)
        waiting = iter([item for item in items if item.id not in done])

        async def work() -> None:
            for item in waiting:
                case = await self.evaluate(item)
                self.state.keep(case)
                done[item.id] = case
                self.on_case(case, False)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.concurrency, len(items))):
                    group.create_task(work())
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        return tuple(done[item.id] for item in items), resumed

    async def evaluate(self, item: Item) -> EvaluatedCase:
        """Take one test through all steps."""
        begun = time.perf_counter()
        steps = _Steps()
        persona, added, contents = await self._generated(item, steps)
        made_at = self.system.made_at(item) or datetime.now(UTC)
        timing = {"personaGeneration": steps.spent_ms(PERSONA), "total": _ms_since(begun)}
        record = trace_record(item, self.state.trace_id(item), made_at, persona, contents, timing)
        # If the judge fails, the test still has a status; only a missing answer of the system makes it unscored.
        case = await self._scored(item, record, steps) if contents else self._not_scored(item, record)
        conformance = [await self.conforming.check(form, content) for form, content in contents.items()] if self.conforming is not None else []
        return case.model_copy(
            update={
                "failures": steps.failures + case.failures,
                "status": "unscored" if steps.failures else case.status,
                "enriched": added,
                "conformance": tuple(conformance),
                "steps": tuple(steps.told),
                "duration_ms": _ms_since(begun),
            }
        )

    async def _generated(self, item: Item, steps: "_Steps") -> tuple[dict[str, Any] | None, tuple[AddedCode, ...], dict[ClinicalFormat, Any]]:
        """The persona with added codes, and the content of each format that the system returned."""
        with steps.timed(PERSONA) as step:
            told = _shallow(await self.system.persona(item))
            step.attempts = told.attempts
        if step.failed is not None:
            return None, (), {}
        persona = told.value
        added: tuple[AddedCode, ...] = ()
        if persona is not None:
            with steps.timed(ENRICH):
                persona, added = self.field.enrich(persona)
        contents: dict[ClinicalFormat, Any] = {}
        for form in self.formats:
            with steps.timed(f"generate.{form}") as step:
                told = _shallow(await self.system.document(item, persona, form))
                step.attempts = told.attempts
                contents[form] = told.value
        return persona, added, contents

    async def _scored(self, item: Item, record: dict[str, Any], steps: "_Steps") -> EvaluatedCase:
        """The test with the suite's result, what it expected, and its trace on disk."""
        try:
            trace = trace_of(record)
        except ValidationError:
            # A persona or content beyond the bounds of a trace.
            return self._not_scored(item, record, (Failure(component="trace", kind="system", code="not_a_trace"),))
        with steps.timed(SCORE):
            results = [await scoring.result(trace, str(record["id"]), FileRef(file=item.place)) for scoring in self.scorings]
            asked = [await scoring.result(trace, str(record["id"]), FileRef(file=item.place)) for scoring in self.further] if item.modes else []
            expectations = await asyncio.to_thread(self.field.expect, item, trace)
        # A judge that failed does not remove the label of the other suites.
        verdict = next((result for result in reversed(results) if result.label != "unscored"), results[-1])
        scores = {name: value for result in results for name, value in result.values.items()}
        findings = tuple(finding for result in results for finding in result.findings)
        # Findings that bound the label have failed nothing yet: the minimum is about the scores.
        weighted = [result.details[WEIGHTED] for result in results if WEIGHTED in result.details]
        below = _below(item.minimum, {**scores, OVERALL: weighted[-1]} if weighted else scores)
        modes = modes_told(item, asked, expectations)
        status = _status(verdict.label, modes, failed=bool(below))
        return EvaluatedCase(
            case_id=item.id,
            category=item.category,
            place=item.place,
            trace_id=trace.trace_id,
            status=status,
            label=verdict.label,
            result_ids={result.suite: result.result_id for result in (*results, *asked)},
            scores=scores,
            components_missing=verdict.components_missing,
            below_minimum=below,
            modes=modes,
            findings=findings[:FINDINGS_MAX],
            failures=tuple(dict.fromkeys(failure for result in results for failure in result.failures)),
            not_checked=_not_checked(item, results, scores),
            expectations=expectations,
            trace_file=await self._saved(record, trace, scores, findings),
        )

    async def _saved(self, record: Mapping[str, Any], trace: ProductionTrace, scores: Mapping[str, float], findings: Sequence[Finding]) -> str | None:
        if not self.save_traces:
            return None
        name = f"{TRACES}/{trace.trace_id}.json"
        await asyncio.to_thread(write_whole, self.state.output / name, trace_text(record, scores, findings, [name for name, _ in self.field.parts]))
        return name

    def _not_scored(self, item: Item, record: Mapping[str, Any], failures: tuple[Failure, ...] = ()) -> EvaluatedCase:
        return EvaluatedCase(
            case_id=item.id, category=item.category, place=item.place, trace_id=record["traceId"], status="unscored", label="unscored", failures=failures
        )


class _Step:
    """A running step."""

    def __init__(self, steps: "_Steps", name: str) -> None:
        self._steps, self._name = steps, name
        self._begun = 0.0
        self.attempts = 1
        self.failed: str | None = None

    def __enter__(self) -> Self:
        self._begun = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        """Note the duration. A failed step is recorded, and the test goes on."""
        if isinstance(error, StepFailed):
            self.attempts, self.failed = error.attempts, error.code
        elif error is not None:
            return False
        self._steps.told.append(StepTold(step=self._name, duration_ms=_ms_since(self._begun), attempts=self.attempts, failed=self.failed))
        return error is not None


class _Steps:
    """The steps of one test."""

    def __init__(self) -> None:
        self.told: list[StepTold] = []

    def timed(self, name: str) -> _Step:
        """A step, to be entered."""
        return _Step(self, name)

    def spent_ms(self, name: str) -> float:
        """How long a step took."""
        return sum(step.duration_ms for step in self.told if step.step == name)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The failures of steps in which the system returned nothing usable."""
        return tuple(Failure(component=step.step, kind="system", code=step.failed) for step in self.told if step.failed is not None)


def modes_told(item: Item, asked: Sequence[ScoreResult], expectations: Expectations | None) -> tuple[ModeTold, ...]:
    """Whether each failure mode of a test persists: by the value of its check, or else by the test's expectations."""
    values = {name: (value, result.suite) for result in asked for name, value in result.values.items()}
    missed = expectations is not None and bool(expectations.findings)
    is_expected = expectations is not None and expectations.asked > 0
    told = []
    for mode, check in item.modes.items():
        value, suite = values.get(check, (None, ""))
        if missed:
            told.append(ModeTold(mode=mode, state="persists", by="expectations"))
        elif value is not None:
            told.append(ModeTold(mode=mode, state="absent" if value >= 1 else "persists", by=f"{suite}/{check}"))
        elif is_expected:
            told.append(ModeTold(mode=mode, state="absent", by="expectations"))
        else:
            told.append(ModeTold(mode=mode, state="unchecked"))
    return tuple(told)


def _status(label: Label, modes: Sequence[ModeTold], *, failed: bool) -> Label:
    """What a test counts as. A failure mode that nothing checks leaves a Warn: nobody knows whether it is gone."""
    if label == "unscored":
        return label
    if failed or any(one.state == "persists" for one in modes):
        return "Fail"
    return "Warn" if label == "Pass" and any(one.state == "unchecked" for one in modes) else label


def _below(minimum: Mapping[str, float], values: Mapping[str, float]) -> tuple[BelowMinimum, ...]:
    return tuple(BelowMinimum(score=name, value=values[name], minimum=least) for name, least in minimum.items() if name in values and values[name] < least)


def _not_checked(item: Item, results: Sequence[ScoreResult], scores: Mapping[str, float]) -> tuple[NotChecked, ...]:
    """What the suites did not check, and minimum scores without a score to compare."""
    absent = tuple(NotChecked(check=f"minimum.{name}", reason="there is no such score") for name in item.minimum if name not in scores)
    return (*(skipped for result in results for skipped in result.not_checked), *absent)


def _shallow(told: Answer) -> Answer:
    """The answer. Raises `StepFailed` if it is nested too deep."""
    if is_deeper(told.value, DEPTH_MAX):
        raise StepFailed("too_deep", told.attempts)
    return told


def is_deeper(value: Any, levels: int) -> bool:
    """True if a JSON value has more than `levels` levels of objects and arrays."""
    row = [value]
    for _ in range(levels):
        row = [inner for outer in row if isinstance(outer, dict | list) for inner in (outer.values() if isinstance(outer, dict) else outer)]
        if not row:
            return False
    return any(isinstance(inner, dict | list) for inner in row)


def _ms_since(begun: float) -> float:
    return round((time.perf_counter() - begun) * 1000, 3)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group, however deep."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
