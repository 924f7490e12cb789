"""One worker process: composes outbox, intake, runner, watchdog and pages, and ends them in the right order."""

import asyncio
import contextlib
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Literal, NoReturn

import structlog
from aiokafka.errors import KafkaError
from prometheus_client import CollectorRegistry

from schemas.config import Settings
from scorers.base import ConfigError
from streams.clients import check_topics, unreachable
from streams.intake import Destinations, Intake
from streams.metrics import WorkerMetrics
from streams.outbox import Outbox
from streams.pages import Pages
from streams.runners.base import Job, Stalled, Unreadable
from streams.scoring import RunningSuite
from streams.watchdog import Watchdog

log = structlog.get_logger(__name__)

RunnerName = Literal["faust", "direct"]
#: sysexits: a temporary failure; the supervisor starts the worker again.
EXIT_STALLED = 75
#: sysexits: a defect of ours.
EXIT_DEFECT = 70
#: Closing clients, leaving the group, the last commit: beyond the drain.
SHUTDOWN_MARGIN_S = 30.0
#: How long cancelled tasks may take to end.
CANCEL_S = 10.0
#: No settlement for so long with work in flight, and the worker calls itself not ready.
READY_PROGRESS_S = 60.0


def load_runner(name: RunnerName) -> Callable[[Job], Awaitable[None]]:
    """The runner's `run`; Faust is imported only where it is asked for."""
    if name == "direct":
        from streams.runners.direct import run
    else:
        from streams.runners.faust_agents import run
    return run


def calm_collector() -> None:
    """Keep the cycle collector out of the hot path: cases and results hold no cycles, so frequent scans find nothing.

    What start-up has loaded is set aside, and the young generation is scanned every 50,000 allocations.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


async def run_process(suite: RunningSuite, topics: tuple[str, ...], runner: RunnerName, settings: Settings) -> NoReturn:
    """`run_worker`, and the end of the process with its exit code, at once.

    Everything of ours is closed by then. Traps: mode's tasks swallow cancellations, so that asyncio's own clearing up may
    wait for ever; and Faust's thread, where it still runs while the interpreter is taken down around it, crashes.
    """
    code = await run_worker(suite, topics, runner, settings)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


async def run_worker(suite: RunningSuite, topics: tuple[str, ...], runner: RunnerName, settings: Settings) -> int:
    """Run until SIGTERM or SIGINT. Returns the exit code. Raises `ConfigError` for what the user must mend."""
    partitions = await check_topics(settings.kafka, [*topics, settings.topics.results, settings.topics.dead])
    registry = CollectorRegistry()
    metrics = WorkerMetrics(suite.name, suite.version, runner, registry)
    outbox = Outbox(settings.kafka, settings.worker, metrics)
    intake = Intake(suite, outbox, Destinations.of(settings.topics, partitions), settings.worker, metrics)
    group = f"{settings.worker.group_prefix}.{suite.name}"
    job = Job(settings, intake, metrics, topics, group, asyncio.Event())
    watchdog = Watchdog(job)
    pages = Pages(settings.http, registry, lambda: (watchdog.loop_alive(), "event loop is stuck"), lambda: _ready(job, outbox))
    address = pages.start()
    _stop_on_signal(job)
    try:
        await outbox.start()
    except (KafkaError, OSError) as error:
        pages.stop()
        raise ConfigError(unreachable(settings.kafka, error)) from None
    run = load_runner(runner)
    calm_collector()
    log.info("worker_started", suite=suite.name, version=suite.version, runner=runner, group=group, topics=list(topics), address=address)
    try:
        code = await _run_to_the_end(run, job, watchdog)
    finally:
        await outbox.stop()
        pages.stop()
        totals = metrics.totals()
        log.info("worker_stopped", suite=suite.name, records=totals["consumed"], count=totals["scored"], in_flight=totals["in_flight"])
    return code


async def _run_to_the_end(run: Callable[[Job], Awaitable[None]], job: Job, watchdog: Watchdog) -> int:
    """Runner and watchdog side by side; the first to end decides."""
    runner_task = asyncio.ensure_future(run(job))
    watch_task = asyncio.create_task(watchdog.run())
    defect_task = asyncio.create_task(job.intake.defect.wait())
    try:
        await asyncio.wait({runner_task, watch_task, defect_task}, return_when=asyncio.FIRST_COMPLETED)
        if runner_task.done():
            try:
                runner_task.result()
            except Stalled:
                return EXIT_STALLED
            except Unreadable:
                return EXIT_DEFECT
            return 0
        if defect_task.done():
            return EXIT_DEFECT
        try:
            watch_task.result()
        except Stalled:
            job.stop.set()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(runner_task, job.settings.worker.drain_timeout_s)
        return EXIT_STALLED
    finally:
        for task in (runner_task, watch_task, defect_task):
            task.cancel()
        ended, late = await asyncio.wait({runner_task, watch_task, defect_task}, timeout=CANCEL_S)  # bounded: see `runners.base.Clock`
        for done in ended:
            _ = done.cancelled() or done.exception()  # seen, so that nobody complains of it later
        if late:
            log.warning("tasks_left_behind", count=len(late))


def _ready(job: Job, outbox: Outbox) -> tuple[bool, str]:
    """Ready: in the group, the broker takes results, the stages are there, and what is in flight moves."""
    if job.joined_at is None:
        return False, "not in the group yet"
    if not outbox.up:
        return False, "the broker does not take results"
    if not job.intake.available:
        return False, "a stage is unavailable"
    if job.intake.in_flight and time.monotonic() - job.intake.progress_at > READY_PROGRESS_S:
        return False, "nothing settled for a minute"
    return True, ""


def _end_at_last(seconds: float) -> None:
    """End the process after so long, whatever still hangs: what is not committed is replayed, a worker that never ends helps nobody."""

    def end() -> None:
        log.error("shutdown_hangs", seconds=seconds)
        os._exit(EXIT_STALLED)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def _stop_on_signal(job: Job) -> None:
    """First SIGTERM or SIGINT: drain. A second one ends the process at once, which loses nothing but time."""
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        if job.stop.is_set():
            log.warning("second_signal", signal=number)
            raise SystemExit(128 + number)
        log.info("stopping", signal=number, in_flight=job.intake.in_flight)
        job.stop.set()
        _end_at_last(job.settings.worker.drain_timeout_s + SHUTDOWN_MARGIN_S)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
