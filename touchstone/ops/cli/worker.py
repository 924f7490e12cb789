"""`touchstone worker`: score events live."""

from enum import StrEnum
from typing import Annotated

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.options import Runner
from touchstone.ops.cli.common.shared import EXIT_ERROR, BootstrapOption, ConfigOption, one_line, one_line_errors, settings_from


class DeadLimit(StrEnum):
    """What a flood of dead letters does: `on` stops the worker."""

    on = "on"
    off = "off"


@app.command()
def worker(
    suite: Annotated[str, typer.Option(help="Suite to score with; `touchstone doctor` lists the installed ones.")],
    runner: Annotated[Runner, typer.Option(help="faust: the default. direct: a plain aiokafka loop, for cheap suites at high rates.")] = Runner.faust,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
    http_port: Annotated[int | None, typer.Option(help="Port of /metrics, /healthz and /readyz (default: a free one).", show_default=False)] = None,
    dead_limit: Annotated[
        DeadLimit | None,
        typer.Option(help="off: send dead letters however many there are, after you have looked at a flood of them (default: on).", show_default=False),
    ] = None,
) -> None:
    """Consume events, score them, produce results and commit in order. SIGTERM finishes the events in flight.

    Example: touchstone worker --suite safe_v0 --http-port 9108
    """
    import asyncio
    import faulthandler

    import uvloop

    from touchstone.scorers.registry import load_suite
    from touchstone.streams.process.suites import paced, planned_suite
    from touchstone.streams.process.worker import run_process
    from touchstone.streams.telemetry.logs import configure

    settings = settings_from(config, bootstrap, http__port=http_port, worker__dead_limit=dead_limit.value if dead_limit else None)
    configure(settings.log)
    faulthandler.enable()  # where native code crashes, the log ends with each thread's functions and lines, which hold no payload
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())  # for the consumer thread that Faust starts, too

    def print_mistake(mistake: Exception) -> int:
        typer.echo(one_line(str(mistake)), err=True)
        return EXIT_ERROR

    with one_line_errors():
        plan, found = planned_suite(suite, settings), load_suite(suite)
        asyncio.run(run_process(plan, settings.topics.inputs(found.topics), runner.value, paced(found, settings), print_mistake))
