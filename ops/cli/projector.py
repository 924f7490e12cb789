"""`touchstone projector`: results on Kafka → result store → batch reports."""

import asyncio
import time
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import BootstrapOption, ConfigOption, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import StoreOption, store_errors

if TYPE_CHECKING:
    from touchstone.schemas.settings.house import Settings
    from touchstone.streams.account.projector import Projector
    from touchstone.streams.process.metrics import ProjectorCounts

HEARTBEAT_S = 1.0
#: As for a worker: an event loop that has not come round for so long is stuck.
HEARTBEAT_AGE_MAX_S = 30.0


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
    """Keep results in a store and report batches from it. One projector per store. SIGTERM finishes the transaction in hand."""
    import uvloop

    from touchstone.streams.process.logs import configure

    settings = settings_from(config, bootstrap, store__url=store, http__port=http_port)
    configure(settings.log)
    with one_line_errors(), store_errors():
        uvloop.run(_run(settings, from_start=from_start))


async def _run(settings: "Settings", *, from_start: bool) -> None:
    """Check what is needed, then project until a signal."""
    import signal

    import structlog

    from touchstone.ops.store.engine import shown
    from touchstone.ops.store.results import ResultStore
    from touchstone.streams.account.projector import Projector
    from touchstone.streams.process.metrics import CollectorRegistry, ProjectorCounts
    from touchstone.streams.process.pages import Pages
    from touchstone.streams.wire.clients import check_topics

    log = structlog.get_logger("touchstone.projector")
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    await check_topics(settings.kafka, [settings.topics.results, settings.topics.reports])
    url = settings.store.url.get_secret_value()
    store = await asyncio.to_thread(ResultStore.open, url, create=True)
    try:
        if from_start:
            await asyncio.to_thread(store.forget_positions, settings.topics.results)
        registry = CollectorRegistry()
        counts = ProjectorCounts(registry)
        work = Projector(settings, store, metrics=counts)
        heartbeat = Heartbeat()
        pages = Pages(settings.http, registry, heartbeat.alive, lambda: _ready(work, counts))
        address = pages.start()
        log.info("projector_started", topic=settings.topics.results, path=shown(url), address=address)
        beating = asyncio.create_task(heartbeat.beat())
        try:
            await work.run(stop)
        finally:
            beating.cancel()
            pages.stop()
        log.info("projector_stopped")
    finally:
        store.close()


class Heartbeat:
    """Shows the pages' thread that the event loop turns."""

    def __init__(self) -> None:
        self._at = time.monotonic()

    async def beat(self) -> NoReturn:
        """Stamp the time until cancelled."""
        while True:
            self._at = time.monotonic()
            await asyncio.sleep(HEARTBEAT_S)

    def alive(self) -> tuple[bool, str]:
        """Whether the loop has come round lately, and what to say if not."""
        return time.monotonic() - self._at <= HEARTBEAT_AGE_MAX_S, "event loop is stuck"


def _ready(work: "Projector", counts: "ProjectorCounts") -> tuple[bool, str]:
    """Ready: caught up once, and neither the broker nor the store is missing."""
    if not work.ready.is_set():
        return False, "has not caught up yet"
    return not counts.down, f"{' and '.join(sorted(counts.down))} does not answer"
