"""`touchstone demo`: a complete run on sample data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.options import Runner
from touchstone.ops.cli.common.shared import ConfigOption, settings_from, until_read_no_more

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

EXIT_PROBLEM = 1


@app.command()
def demo(
    runner: Annotated[Runner, typer.Option(help="What drives the workers.")] = Runner.faust,
    reports: Annotated[
        Path | None, typer.Option("--reports", help="Directory for the report files. Default: SAFE_V0_REPORT_DIR, else ./reports.", show_default=False)
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Stay at the end, and show the results on the Mission Control page, until Ctrl-C.")] = False,
    config: ConfigOption = None,
) -> None:
    """Score the sample batches live on the embedded broker, show results and reports, and check that all of it agrees.

    Needs no Kafka, no Docker, no Java and no network. Exit codes: 0 everything agrees, 1 something does not, 3 a part did not start.

    Example: touchstone demo --keep
    """
    from touchstone.ops.cli.common.running import run
    from touchstone.ops.local.demo import run_demo

    raise typer.Exit(run(_ended_in_order(run_demo(settings_from(config), runner.value, reports, _say, keep=keep))))


async def _ended_in_order(work: "Coroutine[Any, Any, Sequence[str]]") -> int:
    """Run the demo and return its exit code. SIGTERM, and SIGHUP where the terminal is gone, end its processes in order, as Ctrl-C does."""
    import asyncio
    import signal

    from touchstone.ops.local.up import ENDING

    task, came = asyncio.current_task(), list[int]()
    assert task is not None

    def end(number: int) -> None:
        came.append(number)
        task.cancel()

    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        return EXIT_PROBLEM if await work else 0
    except asyncio.CancelledError:
        if not came:
            raise
        return 128 + came[0]


def _say(text: str) -> None:
    """A line at once, as bytes: neither a pipe nor the terminal's encoding may hold the demo up."""
    with until_read_no_more():
        typer.echo(text.encode())
