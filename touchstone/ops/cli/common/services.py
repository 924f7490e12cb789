"""How a command runs a service that works on the result store: pages, store, broker and work, until a signal."""

import contextlib
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING

import typer

from touchstone.ops.cli.common.stored import store_errors

if TYPE_CHECKING:
    import asyncio

    import structlog

    from touchstone.ops.store.results import ResultStore
    from touchstone.schemas.settings.house import Settings
    from touchstone.streams.account.service import Service
    from touchstone.streams.telemetry.metrics import CollectorRegistry

#: (store, registry of its metrics) → the service, with what must be closed behind it.
Make = Callable[["ResultStore", "CollectorRegistry"], AbstractContextManager["Service"]]


def run_service(settings: "Settings", name: str, make: Make) -> None:
    """Run until SIGTERM, SIGINT or SIGHUP. `name`: of the process, in its log. Raises `ConfigError`; ends the process if a call of a store hangs for good."""
    import uvloop

    from touchstone.streams.telemetry.logs import configure

    configure(settings.log)
    with store_errors():
        uvloop.run(_run(settings, name, make))


async def _run(settings: "Settings", name: str, make: Make) -> None:
    """Wait for store and broker, then work until a signal."""
    import asyncio

    import structlog

    from touchstone.ops.store.engine import shown
    from touchstone.streams.account.service import Stuck
    from touchstone.streams.process.ending import EXIT_STALLED, end_at_last
    from touchstone.streams.process.pages import Heartbeat, Pages
    from touchstone.streams.telemetry.metrics import CollectorRegistry

    log = structlog.get_logger(f"touchstone.{name}")
    starting, started, stopped = (f"{name}_{what}" for what in ("starting", "started", "stopped"))
    stop = asyncio.Event()

    def end() -> None:
        if not stop.is_set():
            stop.set()
            end_at_last(settings.worker.drain_timeout_s)  # a store that hangs must not keep it: what is not committed is read again

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, end)
    about = {"topic": settings.topics.results, "path": shown(settings.store.url.get_secret_value())}
    registry, heartbeat = CollectorRegistry(), Heartbeat()
    work: Service | None = None

    def ready() -> tuple[bool, str]:
        return (False, f"the store does not answer: waiting for {about['path']}") if work is None else work.readiness()

    store = await _open(settings)  # any other fault than a store that is away ends the command before there are pages
    pages = Pages(settings.http, registry, heartbeat.alive, ready)
    beating = asyncio.create_task(heartbeat.beat())
    with ExitStack() as stack:
        stack.callback(beating.cancel)
        stack.callback(pages.stop)
        address = pages.start()
        log.info(starting, **about, address=address)
        store = store or await _wait_for_store(settings, stop, log)
        if store is not None:
            stack.callback(store.close)
            work = stack.enter_context(make(store, registry))
            if await work.reach(stop):
                log.info(started, **about, address=address)
                try:
                    await work.run(stop)
                except Stuck:
                    end_at_last(settings.worker.drain_timeout_s)  # Python waits for every thread at its end, and the one that hangs does not come back
                    raise typer.Exit(EXIT_STALLED) from None
        log.info(stopped)


async def _open(settings: "Settings") -> "ResultStore | None":
    """The store; None if its server does not answer. Raises `ConfigError`."""
    import asyncio

    from touchstone.ops.store.results import ResultStore
    from touchstone.streams.account.store_port import StoreAway

    with contextlib.suppress(StoreAway):
        return await asyncio.to_thread(ResultStore.open, settings.store.url.get_secret_value(), create=True)
    return None


async def _wait_for_store(settings: "Settings", stop: "asyncio.Event", log: "structlog.stdlib.BoundLogger") -> "ResultStore | None":
    """Ask until the store's server answers; None if `stop` came first. Raises `ConfigError`."""
    import asyncio

    from touchstone.ops.store.engine import shown
    from touchstone.scorers.backoff import Backoff

    path = shown(settings.store.url.get_secret_value())
    backoff = Backoff(settings.worker.retry_backoff_min_s, settings.worker.retry_backoff_max_s)
    log.warning("dependency_down", stage="store", path=path)
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), backoff.next_s())
        if (store := await _open(settings)) is not None:
            log.info("dependency_up", stage="store", path=path)
            return store
    return None
