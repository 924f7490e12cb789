"""`touchstone demo`: see it work."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ops.cli import app
from ops.cli.shared import ConfigOption, settings_from

EXIT_PROBLEM = 1


class Runner(StrEnum):
    """What drives the workers."""

    faust = "faust"
    direct = "direct"


@app.command()
def demo(
    runner: Annotated[Runner, typer.Option(help="What drives the workers.")] = Runner.faust,
    reports: Annotated[
        Path | None, typer.Option("--reports", help="Directory for the report files. Default: SAFE_V0_REPORT_DIR, else ./reports.", show_default=False)
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Score the sample batches live on the embedded broker, show results and reports, and check that all of it adds up.

    Needs no Kafka, no Docker, no Java and no network. Exit codes: 0 it adds up, 1 it does not, 3 a part did not start.

    Example: touchstone demo --runner direct
    """
    from ops.cli.running import run
    from ops.demo import run_demo

    problems = run(run_demo(settings_from(config), runner.value, reports, _say))
    raise typer.Exit(EXIT_PROBLEM if problems else 0)


def _say(text: str) -> None:
    """A line at once, as bytes: neither a pipe nor the terminal's encoding may hold the demo up."""
    typer.echo(text.encode())
