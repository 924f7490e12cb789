"""`touchstone replay`: scores again what was put aside."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import BootstrapOption, ConfigOption, fail, one_line_errors, settings_from

if TYPE_CHECKING:
    from touchstone.schemas.settings.house import Settings
    from touchstone.streams.intake.scoring import RunningSuite

EXIT_LEFT = 1


class Outcome(StrEnum):
    """Outcomes that can be replayed."""

    shed = "shed"


@app.command()
def replay(
    suite: Annotated[str, typer.Option(help="Suite whose events are scored again.")],
    outcome: Annotated[Outcome, typer.Option(help="The outcome that they have now.")] = Outcome.shed,
    reason: Annotated[str | None, typer.Option(help="Only those that have it for this reason, such as budget.", show_default=False)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count them.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Stay, and score them whenever it can be done, as when a budget's next period begins.")
    ] = False,
    every: Annotated[float, typer.Option("--every", min=1.0, max=86_400.0, help="With --follow: seconds between two looks for more.")] = 60.0,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
) -> None:
    """Score events that were put aside, such as requests to a judge whose budget was spent.

    They are found in the suite's ledger and read from their topic again. No offsets move, and each result has the id that it would have had at first.
    Workers may run meanwhile. With --follow it does so until SIGTERM or Ctrl-C: one such process for a suite is enough.

    Exit codes: 0 nothing is left, or a signal stopped it; 1 some are still without a result, 3 an error.

    Example: touchstone replay --suite clinical_judge --reason budget --follow
    """
    import asyncio

    from touchstone.scorers.registry import load_suite
    from touchstone.scorers.reporting.words import counted
    from touchstone.streams.process.replay import replay as run
    from touchstone.streams.process.suites import paced, running_suite
    from touchstone.streams.telemetry.logs import configure

    if follow and dry_run:
        fail("give --follow or --dry-run, not both")
    settings = settings_from(config, bootstrap)
    configure(settings.log)
    with one_line_errors():
        settings = paced(load_suite(suite), settings)
        running, topics = running_suite(suite, settings)
        if follow:
            asyncio.run(_follow(running, topics, settings, reason, every))
            return
        done = asyncio.run(run(running, topics, settings, reason=reason, dry=dry_run))
    total = done.shed.total()
    reasons = ", ".join(f"{why} {count}" for why, count in sorted(done.shed.items()))
    typer.echo(f"{suite}: {counted(total, 'event')} {outcome}{f' ({reasons})' if reasons else ''} on {', '.join(topics)}")
    if dry_run or not total:
        return
    gone = total - done.read
    parts = [f"{done.outcomes[name]} {words}" for name, words in (("scored", "scored now"), ("shed", "shed again"), ("dead", "dead"), ("skipped", "skipped"))]
    parts += [f"{gone} gone from the topic"] if gone else []
    typer.echo(f"{suite}: {', '.join(part for part in parts if not part.startswith('0 '))}")
    raise typer.Exit(EXIT_LEFT if done.left else 0)


async def _follow(suite: "RunningSuite", topics: tuple[str, ...], settings: "Settings", reason: str | None, every_s: float) -> None:
    """Score events that were put aside as soon as it is possible, until a signal."""
    import asyncio
    import signal

    from touchstone.streams.process.replay import catch_up

    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    await catch_up(suite, topics, settings, stop, reason=reason, every_s=every_s)
