"""`touchstone projector`: results on Kafka → result store → batch reports."""

import asyncio
import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import BootstrapOption, ConfigOption, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import StoreOption, store_errors

if TYPE_CHECKING:
    from touchstone.ops.store.results import ResultStore
    from touchstone.schemas.settings.house import Settings


@app.command()
def projector(
    store: StoreOption = None,
    http_port: Annotated[int | None, typer.Option(help="Port of /metrics, /healthz and /readyz (default: a free one).", show_default=False)] = None,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Read the results topic from its beginning again. What the store has is kept; replays change nothing.")
    ] = False,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
) -> None:
    """Write results to a store and report batches from it. Run one projector per store. SIGTERM finishes the current transaction.

    Example: touchstone projector --store sqlite:///results.db
    """
    import uvloop

    from touchstone.streams.telemetry.logs import configure

    settings = settings_from(config, bootstrap, store__url=store, http__port=http_port)
    configure(settings.log)
    with one_line_errors(), store_errors():
        uvloop.run(_run(settings, from_start=from_start))


async def _run(settings: "Settings", *, from_start: bool) -> None:
    """Wait for the broker, then project until a signal."""
    import signal

    import structlog

    from touchstone.ops.store.engine import shown
    from touchstone.ops.store.results import ResultStore
    from touchstone.scorers.registry import usable_suites
    from touchstone.streams.account.projector import Projector
    from touchstone.streams.account.store_port import StoreAway
    from touchstone.streams.process.ending import end_at_last
    from touchstone.streams.process.pages import Heartbeat, Pages
    from touchstone.streams.telemetry.metrics import CollectorRegistry, ProjectorCounts

    log = structlog.get_logger("touchstone.projector")
    stop = asyncio.Event()

    def end() -> None:
        if not stop.is_set():
            stop.set()
            end_at_last(settings.worker.drain_timeout_s)  # a database that hangs must not keep it; the transaction is all or nothing

    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(name, end)
    url = settings.store.url.get_secret_value()
    registry, heartbeat = CollectorRegistry(), Heartbeat()
    metrics = ProjectorCounts(registry)
    store: ResultStore | None = None
    work: Projector | None = None

    def ready() -> tuple[bool, str]:
        return (False, f"the store does not answer: waiting for {shown(url)}") if work is None else work.readiness()

    with contextlib.suppress(StoreAway):  # any other fault ends the command before there are pages
        store = await asyncio.to_thread(ResultStore.open, url, create=True)
    pages = Pages(settings.http, registry, heartbeat.alive, ready)
    beating = asyncio.create_task(heartbeat.beat())
    try:
        address = pages.start()
        log.info("projector_starting", topic=settings.topics.results, path=shown(url), address=address)
        store = store or await _wait_for_store(settings, stop)
        if store is not None:
            if from_start:
                await asyncio.to_thread(store.forget_positions, settings.topics.results)
            work = Projector(settings, store, suites=usable_suites(), metrics=metrics)
            if await work.reach(stop):
                log.info("projector_started", topic=settings.topics.results, path=shown(url), address=address)
                await work.run(stop)
        log.info("projector_stopped")
    finally:
        beating.cancel()
        pages.stop()
        if store is not None:
            store.close()


async def _wait_for_store(settings: "Settings", stop: asyncio.Event) -> "ResultStore | None":
    """Ask until the store's server answers; None if `stop` came first. Raises `ConfigError`."""
    import structlog

    from touchstone.ops.store.engine import shown
    from touchstone.ops.store.results import ResultStore
    from touchstone.scorers.backoff import Backoff
    from touchstone.streams.account.store_port import StoreAway

    log = structlog.get_logger("touchstone.projector")
    url = settings.store.url.get_secret_value()
    backoff = Backoff(settings.worker.retry_backoff_min_s, settings.worker.retry_backoff_max_s)
    log.warning("dependency_down", stage="store", path=shown(url))
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), backoff.next_s())
        with contextlib.suppress(StoreAway):
            store = await asyncio.to_thread(ResultStore.open, url, create=True)
            log.info("dependency_up", stage="store", path=shown(url))
            return store
    return None
