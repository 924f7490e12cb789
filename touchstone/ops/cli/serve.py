"""`touchstone serve`: live events, summaries and the Mission Control page over HTTP."""

from typing import TYPE_CHECKING, Annotated

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import BootstrapOption, ConfigOption, one_line_errors, settings_from

if TYPE_CHECKING:
    from touchstone.schemas.settings.house import Settings


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (default: loopback; any other needs serve.tokens).", show_default=False)] = None,
    port: Annotated[int | None, typer.Option(help="Port (default: 8321; 0: a free one, printed).", show_default=False)] = None,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
) -> None:
    """Serve results and reports to those who watch: as live streams, as summaries, and as the Mission Control page.

    Reads without a consumer group, so any number of instances can run. On loopback everybody on this machine may watch; elsewhere
    tokens say who sees which suites. SIGTERM closes the streams in order.

    Example: touchstone serve --port 8321
    """
    import structlog

    from touchstone.streams.telemetry.logs import configure

    settings = settings_from(config, bootstrap, serve__host=host, serve__port=port)
    configure(settings.log)
    # First of all: loading the suites takes a while on a busy machine.
    structlog.get_logger("touchstone.serve").info("serve_starting", bootstrap=settings.kafka.bootstrap_servers)
    import uvloop

    with one_line_errors():
        uvloop.run(_run(settings))


async def _run(settings: "Settings") -> None:
    """Serve until a signal."""
    import asyncio
    import signal

    import structlog

    from touchstone.ops.web.live import Live
    from touchstone.scorers.process import calm_collector

    log = structlog.get_logger("touchstone.serve")
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    live = Live(settings)
    address = await live.start()
    calm_collector()  # a full scan of the window would hold up every stream
    log.info("serve_started", address=address, topics=[settings.topics.results, settings.topics.reports])
    await live.run(stop)
    log.info("serve_stopped")
