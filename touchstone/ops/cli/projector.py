"""`touchstone projector`: results on Kafka → result store → batch reports."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import BootstrapOption, ConfigOption, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import StoreOption, store_errors

if TYPE_CHECKING:
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
    from touchstone.streams.process.pages import Heartbeat, Pages
    from touchstone.streams.telemetry.metrics import CollectorRegistry, ProjectorCounts

    log = structlog.get_logger("touchstone.projector")
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    url = settings.store.url.get_secret_value()
    store = await asyncio.to_thread(ResultStore.open, url, create=True)
    try:
        if from_start:
            await asyncio.to_thread(store.forget_positions, settings.topics.results)
        registry = CollectorRegistry()
        work = Projector(settings, store, suites=usable_suites(), metrics=ProjectorCounts(registry))
        heartbeat = Heartbeat()
        pages = Pages(settings.http, registry, heartbeat.alive, work.readiness)
        address = pages.start()
        log.info("projector_starting", topic=settings.topics.results, path=shown(url), address=address)
        beating = asyncio.create_task(heartbeat.beat())
        try:
            if await work.reach(stop):
                log.info("projector_started", topic=settings.topics.results, path=shown(url), address=address)
                await work.run(stop)
        finally:
            beating.cancel()
            pages.stop()
        log.info("projector_stopped")
    finally:
        store.close()
