"""One worker process: composes scorer, outbox, intake, runner, watchdog and pages, and ends them in the right order."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

import structlog
from aiokafka.errors import KafkaError
from prometheus_client import CollectorRegistry

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import ConfigError, Measured, Scorer, Unavailable
from touchstone.scorers.process import calm_collector
from touchstone.scorers.scoring import CLOSE_S, close_scorer
from touchstone.streams.intake.intake import Destinations, Intake
from touchstone.streams.intake.outbox import Outbox
from touchstone.streams.intake.scoring import PlannedSuite, RunningSuite
from touchstone.streams.process.beginning import begin
from touchstone.streams.process.ending import EXIT_STALLED, SHUTDOWN_MARGIN_S, end_at_last
from touchstone.streams.process.incarnations import watching
from touchstone.streams.process.pages import Heartbeat, Pages
from touchstone.streams.process.watchdog import Watchdog
from touchstone.streams.runners.base import Job, Stalled, Unreadable
from touchstone.streams.telemetry.metrics import WorkerMetrics
from touchstone.streams.topics.identity import ids_of
from touchstone.streams.wire.clients import check_topics
from touchstone.streams.wire.waiting import once_reached

log = structlog.get_logger(__name__)

RunnerName = Literal["faust", "direct"]
#: sysexits: a defect of Touchstone.
EXIT_DEFECT = 70
#: How long cancelled tasks may take to end.
CANCEL_S = 10.0
#: If nothing is done for this long while work is in flight, the worker reports that it is not ready.
READY_PROGRESS_S = 60.0


def load_runner(name: RunnerName) -> Callable[[Job], Awaitable[None]]:
    """The runner's `run`; Faust is imported only if it is asked for."""
    if name == "direct":
        from touchstone.streams.runners.direct import run
    else:
        from touchstone.streams.runners.faust_agents import run
    return run


@dataclass(slots=True)
class _Process:
    """The state of the process, for its pages and its signals. `job` is there once the scorer is built.

    `checked`: the cluster has the topics. `waits`: no broker answers, and the start waits for one.
    """

    settings: Settings
    checked: bool = False
    waits: bool = False
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    job: Job | None = None
    outbox: Outbox | None = None
    watchdog: Watchdog | None = None

    @property
    def in_flight(self) -> int:
        """Records in flight."""
        return self.job.intake.in_flight if self.job else 0

    def ready(self) -> tuple[bool, str]:
        """Ready: the broker is there, the scorer is built, and `_ready`."""
        if self.waits:
            return False, f"the broker does not answer: waiting for {self.settings.kafka.bootstrap_servers}"
        if not self.checked:
            return False, "asking the broker for the topics"
        if self.job is None or self.outbox is None or self.watchdog is None:
            return False, "the suite is being built"
        return _ready(self.job, self.outbox, self.watchdog)

    def on_wait(self, waits: bool) -> None:
        """Note whether the start waits for a broker."""
        self.waits = waits

    def backoff(self) -> Backoff:
        """Pauses between attempts at whatever the start needs."""
        worker = self.settings.worker
        return Backoff(worker.retry_backoff_min_s, worker.retry_backoff_max_s)


async def run_process(
    suite: RunningSuite | PlannedSuite, topics: tuple[str, ...], runner: RunnerName, settings: Settings, report: Callable[[ConfigError], int]
) -> NoReturn:
    """Run a worker, then end the process at once with its exit code. `report`: prints what the user must fix, and returns the exit code.

    All of Touchstone's resources are closed by then. Traps: mode's tasks swallow cancellations, so that asyncio's own cleanup may
    wait forever; and Faust's thread, where it still runs while the interpreter is taken down around it, crashes.
    """
    try:
        code = await run_worker(suite, topics, runner, settings)
    except ConfigError as error:
        code = report(error)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


async def run_worker(suite: RunningSuite | PlannedSuite, topics: tuple[str, ...], runner: RunnerName, settings: Settings) -> int:
    """Run until SIGTERM, SIGINT or SIGHUP. Returns the exit code. Raises `ConfigError` for what the user must fix; waits for a broker."""
    registry = CollectorRegistry()
    metrics = WorkerMetrics(suite.name, suite.version, runner, registry, topics=topics, components=suite.components)
    process, heartbeat = _Process(settings), Heartbeat()
    pages = Pages(settings.http, registry, heartbeat.alive, process.ready)
    address = pages.start()
    beating = asyncio.create_task(heartbeat.beat())
    _stop_on_signal(process)
    log.info("worker_starting", suite=suite.name, version=suite.version, runner=runner, address=address)
    try:
        needed = [*topics, *settings.topics.inputs(suite.hands_on), settings.topics.results, settings.topics.dead]
        partitions = await once_reached(lambda: check_topics(settings.kafka, needed), settings.kafka, process.backoff(), process.stop, process.on_wait)
        if partitions is None:
            return 0
        process.checked = True
        running = await _built(suite, process, address)
        if running is None:
            return 0
        try:
            return await _serve(running, topics, runner, process, metrics, partitions, address)
        finally:
            await _close(running.scorer)
    finally:
        beating.cancel()
        pages.stop()


async def _built(suite: RunningSuite | PlannedSuite, process: _Process, address: str) -> RunningSuite | None:
    """The suite with its scorer; None if the process received a stop signal meanwhile. Raises `ConfigError`.

    A thread cannot be cancelled: one that still builds at the end goes with the process.
    """
    if isinstance(suite, RunningSuite):
        return suite
    backoff, begun = process.backoff(), time.monotonic()
    log.info("suite_building", suite=suite.name, version=suite.version, address=address)
    stopped = asyncio.create_task(process.stop.wait())
    try:
        while True:
            building = asyncio.create_task(asyncio.to_thread(suite.build))
            await asyncio.wait({building, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not building.done():
                return None
            try:
                running = building.result()
            except Unavailable as error:
                log.warning("suite_not_built", suite=suite.name, code=error.code)
                await asyncio.wait({stopped}, timeout=backoff.next_s())
                if process.stop.is_set():
                    return None
            else:
                log.info("suite_built", suite=suite.name, version=suite.version, seconds=round(time.monotonic() - begun, 1))
                for note in running.notes:
                    log.info("suite_note", suite=suite.name, message=note)
                return running
    finally:
        stopped.cancel()


async def _serve(
    suite: RunningSuite, topics: tuple[str, ...], runner: RunnerName, process: _Process, metrics: WorkerMetrics, partitions: dict[str, int], address: str
) -> int:
    """Join the group and score until a stop signal. Returns the exit code."""
    settings = process.settings
    if isinstance(suite.scorer, Measured):
        metrics.readings = suite.scorer.readings
    metrics.config_digest = suite.digest
    metrics.gauge("suite_up", 1)
    outbox = Outbox(settings.kafka, settings.worker, metrics)
    known = await once_reached(lambda: ids_of(settings.kafka, topics), settings.kafka, process.backoff(), process.stop, process.on_wait)
    if known is None:
        return 0
    holding = AsyncExitStack()
    incarnations = await holding.enter_async_context(watching(settings, known, topics))
    intake = Intake(suite, outbox, Destinations.of(settings.topics, partitions, suite.hands_on), settings.worker, metrics, incarnations)
    group = f"{settings.worker.group_prefix}.{suite.name}"
    job = Job(settings, intake, metrics, topics, group, process.stop)
    watchdog = Watchdog(job, lambda up: metrics.gauge("outbox_up", up and outbox.up))
    outbox.clock_off_s = lambda: watchdog.clock.off_s
    process.job, process.outbox, process.watchdog = job, outbox, watchdog
    if await once_reached(outbox.start, settings.kafka, process.backoff(), process.stop, process.on_wait) is None:
        return 0
    inputs = {topic: partitions[topic] for topic in topics}
    begins = await once_reached(
        lambda: begin(settings, group, inputs, settings.worker.auto_offset_reset), settings.kafka, process.backoff(), process.stop, process.on_wait
    )
    if begins is None:
        return 0
    job.begins = begins
    run = load_runner(runner)
    calm_collector()
    log.info("worker_started", suite=suite.name, version=suite.version, runner=runner, group=group, topics=list(topics), address=address)
    try:
        code = await _run_to_the_end(run, job, watchdog)
        if intake.anew:
            await _pass_on(job, watchdog)
        return code
    finally:
        await holding.aclose()
        await outbox.stop()
        totals = metrics.totals()
        log.info("worker_stopped", suite=suite.name, records=totals["consumed"], count=totals["scored"], in_flight=totals["in_flight"])


async def _pass_on(job: Job, watchdog: Watchdog) -> None:
    """Where topics were made anew: tell what those before took with them, and let the group begin at the beginning of the new ones.

    Kafka deletes a topic's commits with it, so for the next worker this would be the group's first start.
    """
    settings = job.settings
    try:
        async with asyncio.timeout(settings.worker.drain_timeout_s):
            await job.intake.lost(watchdog.tails)
            await begin(settings, job.group, await check_topics(settings.kafka, job.intake.anew), "earliest", anew=True)
    except (ConfigError, KafkaError, OSError, TimeoutError) as error:
        log.warning("topic_not_passed_on", topics=sorted(job.intake.anew), code=type(error).__name__)


async def _close(scorer: Scorer[Any]) -> None:
    """Close the scorer: by now nothing waits for what it still works on."""
    match await close_scorer(scorer):
        case None:
            pass
        case TimeoutError():
            log.warning("scorer_left_behind", seconds=CLOSE_S)
        case error:
            log.warning("scorer_not_closed", code=type(error).__name__)


async def _run_to_the_end(run: Callable[[Job], Awaitable[None]], job: Job, watchdog: Watchdog) -> int:
    """Runner and watchdog side by side; the first to end decides."""
    runner_task = asyncio.ensure_future(run(job))
    watch_task = asyncio.create_task(watchdog.run())
    defect_task = asyncio.create_task(job.intake.defect.wait())
    anew_task = asyncio.create_task(job.intake.made_anew.wait())
    tasks = {runner_task, watch_task, defect_task, anew_task}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
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
        if anew_task.done():
            return EXIT_STALLED  # a new process begins with the topic as it is now
        try:
            watch_task.result()
        except Stalled:
            job.stop.set()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(runner_task, job.settings.worker.drain_timeout_s)
        return EXIT_STALLED
    finally:
        for task in tasks:
            task.cancel()
        ended, late = await asyncio.wait(tasks, timeout=CANCEL_S)  # bounded: see `runners.base.Clock`
        for done in ended:
            _ = done.cancelled() or done.exception()  # retrieved, so that asyncio does not warn about it later
        if late:
            log.warning("tasks_left_behind", count=len(late))


def _ready(job: Job, outbox: Outbox, watchdog: Watchdog) -> tuple[bool, str]:
    """Ready: the cluster answers, the worker is in the group, the broker takes results, the stages are there, and what is in flight moves."""
    outside_s = job.unassigned_s
    slowest = job.intake.slowest()
    (topic, partition), head, still_s = slowest or (("", 0), None, 0.0)
    checks = (
        (job.intake.flood, True),
        (watchdog.unanswered(), True),
        (watchdog.clock.why(), True),
        (watchdog.unread(), True),
        ("not in the group yet", job.joined_at is None),
        (f"no assignment from the group for {outside_s:.0f} s", outside_s > job.settings.worker.rebalance_max_s),
        ("the broker does not accept results", not outbox.up),
        (job.intake.why_unavailable, True),
        ("nothing settled for a minute", job.intake.idle_s > READY_PROGRESS_S),
        # Others may flow past it: longer than any case may take is a standstill all the same.
        (
            f"{topic}[{partition}] has not moved past offset {head.first if head else 0} for {still_s:.0f} s",
            still_s > job.settings.worker.score_timeout_s + READY_PROGRESS_S,
        ),
    )
    for why, holds in checks:
        if why and holds:
            return False, why
    return True, ""


def _stop_on_signal(process: _Process) -> None:
    """First SIGTERM, SIGINT or SIGHUP (the terminal is gone): drain. A second one ends the process at once, which loses nothing but time."""
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        if process.stop.is_set():
            log.warning("second_signal", signal=number)
            os._exit(128 + number)  # not through the interpreter's end: Faust's thread still runs, and would crash in it
        log.info("stopping", signal=number, in_flight=process.in_flight)
        process.stop.set()
        end_at_last(process.settings.worker.drain_timeout_s + SHUTDOWN_MARGIN_S)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop, number)
