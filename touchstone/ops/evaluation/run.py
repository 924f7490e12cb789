"""One evaluation run from its first prompt to its report."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from touchstone.ops.evaluation.batch import summarise
from touchstone.ops.evaluation.external import ConformanceChecks, Outside
from touchstone.ops.evaluation.items import Field, Item
from touchstone.ops.evaluation.runner import Runner
from touchstone.ops.evaluation.settings import SystemSettings
from touchstone.ops.evaluation.state import TRACES, RunState, identity_of
from touchstone.ops.evaluation.systems import System
from touchstone.ops.reports.files import check_directory, write_whole
from touchstone.ops.reports.writing import EXIT_STOPPED, EXIT_TERMINATED, Stopped
from touchstone.schemas.reports.evaluation import EvaluatedCase, EvaluationReport, SuiteTold
from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.base import ConfigError
from touchstone.scorers.scoring import Scoring


@dataclass(frozen=True, slots=True)
class Plan:
    """The request for a run.

    `further`: suites that look for failure modes; their labels do not count.
    `output`: directory of its report, state and traces. `conformance`: external validators to ask. `judge`: true if a judge's scores were requested.
    `notes`: what is left out and why, for the report.
    """

    items: Sequence[Item]
    formats: Sequence[ClinicalFormat]
    output: Path
    save_traces: bool = False
    conformance: Outside | None = None
    resume: bool = False
    judge: bool = True
    concurrency: int = 4
    notes: tuple[str, ...] = ()
    further: Sequence[Scoring] = ()


def open_system(settings: SystemSettings) -> System:
    """The system of the settings. Raises `ConfigError`."""
    if settings.directory is not None:
        from touchstone.ops.evaluation.directory import OutputDirectory

        return OutputDirectory(settings.directory, settings.answer_bytes_max)
    if settings.url is None:
        raise ConfigError("no system under test: give --system URL|DIR, or set url or directory in eval.config.json (EVAL_SYSTEM_URL, EVAL_SYSTEM_DIRECTORY)")
    from touchstone.ops.evaluation.over_http import HttpSystem

    return HttpSystem(settings)


def open_state(plan: Plan, system: System, scorings: Sequence[Scoring]) -> tuple[RunState, bool]:
    """The state of the resumed run or of a new one, and True if it was resumed. Raises `ConfigError`."""
    check_directory(plan.output, "--output")
    if plan.save_traces:
        check_directory(plan.output / TRACES, "--output")
    identity = identity_of(
        plan.items,
        formats=list(plan.formats),
        system=system.where,
        suites=[[one.suite.name, one.suite.version, one.digest] for one in (*scorings, *plan.further)],
        save_traces=plan.save_traces,
        conformance=plan.conformance is not None,
    )
    earlier = RunState.unfinished(plan.output, identity) if plan.resume else None
    return (RunState.new(plan.output, identity), False) if earlier is None else (earlier, True)


def evaluate(
    plan: Plan,
    system: System,
    scorings: Sequence[Scoring],
    known: Field,
    state: RunState,
    on_case: Callable[[EvaluatedCase, bool], None] = lambda _case, _earlier: None,
) -> EvaluationReport:
    """Run the tests, write the JSON report `eval-<run id>.json`, and return it. Closes system and scorings. Raises `ConfigError`, and `Stopped` on a signal.

    Afterwards another process may resume the run.
    """
    try:
        return _evaluated(plan, system, scorings, known, state, on_case)
    finally:
        state.release()


def _evaluated(
    plan: Plan, system: System, scorings: Sequence[Scoring], known: Field, state: RunState, on_case: Callable[[EvaluatedCase, bool], None]
) -> EvaluationReport:
    begun = time.perf_counter()
    # Started here, before the loop: a signal can still end it, and its lock is not bound to a loop.
    with ConformanceChecks(plan.conformance) if plan.conformance is not None else nullcontext() as conforming:
        runner = Runner(system, scorings, known, state, plan.formats, plan.concurrency, plan.save_traces, conforming, on_case, plan.further)
        cases, resumed = asyncio.run(_closing(runner, plan.items))
        notes = plan.notes + _left_out(plan, known, cases)
        notes += (f"Conformance of FHIR: not checked ({conforming.unavailable})",) if conforming is not None and conforming.unavailable else ()
    report = EvaluationReport(
        run_id=state.run_id,
        started_at=state.run.started_at,
        generated_at=datetime.now(UTC),
        system=system.where,
        suites=tuple(SuiteTold(suite=one.suite.name, version=one.suite.version, config_digest=one.digest) for one in (*plan.further, *scorings)),
        formats=tuple(plan.formats),
        judge=plan.judge,
        resumed=resumed,
        notes=notes,
        summary=summarise(cases, time.perf_counter() - begun),
        cases=cases,
    )
    write_whole(report_path(plan.output, state), report.model_dump_json(indent=2) + "\n")
    # Last, so that a run whose report could not be written can be resumed without asking again.
    if not any(case.failures for case in cases):
        state.end()
    return report


def report_path(output: Path, state: RunState) -> Path:
    """Where the JSON report of a run is written."""
    return output / f"eval-{state.run_id}.json"


def _left_out(plan: Plan, known: Field, cases: Sequence[EvaluatedCase]) -> tuple[str, ...]:
    """A note if the judge's score is missing in some tests and no other note says so."""
    missing = sum(known.judged in case.components_missing for case in cases)
    if known.judged is None or not missing or plan.notes:
        return ()
    return (f"{dict(known.parts)[known.judged]}: missing in {missing} of {len(cases)} tests; the weights of the others are renormalised there",)


async def _closing(runner: Runner, items: Sequence[Item]) -> tuple[tuple[EvaluatedCase, ...], int]:
    """Run the tests. Raises `Stopped` on Ctrl-C and SIGTERM.

    The loop handles the signals, because an exception raised in a Python handler could be lost in a callback.
    """
    work = asyncio.ensure_future(runner.run(items))
    loop = asyncio.get_running_loop()
    came: list[int] = []

    def stop(number: int) -> None:
        came.append(number)
        work.cancel()

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)} if threading.current_thread() is threading.main_thread() else {}
    for number in before:
        loop.add_signal_handler(number, stop, number)
    try:
        return await work
    except asyncio.CancelledError:
        if came:
            raise Stopped(EXIT_TERMINATED if came[0] == signal.SIGTERM else EXIT_STOPPED) from None
        raise
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
        await runner.system.close()
        for scoring in (*runner.scorings, *runner.further):
            await scoring.close()
