"""`touchstone up`: runs everything in one terminal."""

import contextlib
import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.options import Runner
from touchstone.ops.cli.common.shared import EXIT_ERROR, ConfigOption, fail, settings_from
from touchstone.ops.cli.common.stored import StoreOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from touchstone.ops.local.children import LogLine
    from touchstone.ops.local.plan import Plan
    from touchstone.ops.local.up import Live
    from touchstone.schemas.settings.house import Settings


#: How the variables of Touchstone's own settings begin; the broker's (`KAFKA_…`) are not among them, because `up` brings its own.
HOUSE_PREFIX = "TOUCHSTONE_"


class BrokerKind(StrEnum):
    """Which broker to run."""

    embedded = "embedded"
    apache = "apache"


@app.command()
def up(
    suite: Annotated[
        list[str] | None, typer.Option("--suite", help="Suite to run (repeatable). Default: every one that can run here.", show_default=False)
    ] = None,
    runner: Annotated[Runner, typer.Option(help="What drives the workers.")] = Runner.faust,
    workers: Annotated[int, typer.Option(min=1, max=16, help="Worker processes per suite; more than one needs --broker apache.")] = 1,
    broker: Annotated[
        BrokerKind, typer.Option(help="embedded: nothing needed. apache: a temporary Apache Kafka (Java; Maven the first time).")
    ] = BrokerKind.embedded,
    store: StoreOption = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port of the broker. 0: a free one, printed.")] = 0,
    http_port: Annotated[
        int, typer.Option("--http-port", min=0, max=65_000, help="Port of the first worker's metrics; further workers count up. 0: free ports, printed.")
    ] = 0,
    page_port: Annotated[int, typer.Option("--page-port", min=0, max=65_535, help="Port of the Mission Control page. 0: a free one, printed.")] = 0,
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env", metavar="NAME=VALUE", help="A setting of a suite or of Touchstone, by its environment variable (repeatable).", show_default=False
        ),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Run broker, workers, projector and page in this terminal, until Ctrl-C. VOLATILE: all events and results are lost at the end.

    The broker is the embedded one, in memory, unless you choose another; results go to a temporary store unless --store names one (which then mixes
    the accounts of several brokers: `touchstone reconcile` needs a fresh one). For anything that must last, use a Kafka
    cluster and run `touchstone worker` and `touchstone projector`.

    Example: touchstone up --suite summary_loss --env SUMMARY_LOSS_GOLD=gold.jsonl
    """
    from touchstone.ops.cli.common.running import run
    from touchstone.ops.local.plan import Plan

    # Here too, not only for the children: topics and their partitions are made by this process.
    os.environ.update(_settings_given(env or ()))
    settings = settings_from(config)

    async def main() -> int:
        return await _serve(settings, Plan(_suites(suite), workers, broker.value, runner.value, store, port, http_port, page_port, config))

    raise typer.Exit(run(main()))


def _settings_given(pairs: "Sequence[str]") -> dict[str, str]:
    """`NAME=VALUE` as variables. Ends with exit 3 for a variable that no suite here reads."""
    from touchstone.scorers.registry import usable_suites

    prefixes = sorted({HOUSE_PREFIX, *(suite.env_prefix for suite in usable_suites().values() if suite.env_prefix)}) if pairs else []
    given: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            fail("--env: write NAME=VALUE")
        if not name.startswith(tuple(prefixes)):
            fail(f"--env {name}: no suite here reads it; names begin with {', '.join(prefixes)}")
        given[name] = value
    return given


def _suites(asked: "Sequence[str] | None") -> list[str]:
    """The suites to run: those asked for, which must all be able to run; else all that can, with a line for each that cannot."""
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.registry import load_suite, suite_entry_points, why_not_here

    found: list[str] = []
    for name in dict.fromkeys(asked or sorted(suite_entry_points())):
        if asked:
            load_suite(name)  # the error names the installed suites
        reason = why_not_here(name)
        if reason is None:
            found.append(name)
        elif asked:
            raise ConfigError(f"{name}: {reason}")
        else:
            typer.echo(f"{name} is left out: {reason}", err=True)
    if not found:
        raise ConfigError("no suite can run here; install what the lines above name")
    return found


async def _serve(settings: "Settings", plan: "Plan") -> int:
    """Start, print the addresses, wait for a signal or a failure, stop."""
    import asyncio
    import time

    from touchstone.ops.local.up import Live, stop_on_signals

    begun = time.monotonic()
    live = Live(settings, plan, _show)
    typer.echo("Starting broker, workers, projector and page …", err=True)
    stop = asyncio.Event()
    stop_on_signals(stop, live)
    starting = asyncio.ensure_future(live.__aenter__())
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            _tell(_why(live))
            return 0
        starting.result()
        _greet(live, plan, time.monotonic() - begun)
        failing = asyncio.ensure_future(live.failure())
        await asyncio.wait({failing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        failed = failing.result() if failing.done() else None
        failing.cancel()
        if failed:
            _tell(f"touchstone: {failed}; stopping everything")
        else:
            _tell(_why(live))
        return EXIT_ERROR if failed else 0
    finally:
        stopping.cancel()
        starting.cancel()
        await asyncio.gather(starting, stopping, return_exceptions=True)
        await live.stop()
        if live.stopped_hard:
            _tell(f"touchstone: {', '.join(live.stopped_hard)} did not stop in time and was killed")
        _tell("Ended. What the broker held is gone.")


def _why(live: "Live") -> str:
    """Print why it ends and what happens now."""
    came = f"{live.asked_by.name} came: ending" if live.asked_by is not None else "Ending"
    return f"{came} workers, projector and broker, in this order; once more to end at once …"


def _tell(text: str) -> None:
    """Print a line on standard error; a terminal that is gone must not interrupt the shutdown."""
    with contextlib.suppress(OSError):
        typer.echo(text, err=True)


def _greet(live: "Live", plan: "Plan", seconds: float) -> None:
    """Print where everything is, and how to use it from another terminal."""
    from touchstone.ops.local.up import PAGE
    from touchstone.ops.store.engine import shown

    typer.echo(f"{PAGE}  {live.page}")
    lasting = "" if plan.store else ", temporary: removed at the end"
    typer.echo(f"Touchstone is up after {seconds:.1f} s. VOLATILE: everything on this broker is lost when it ends.")
    width = max(10, *(len(child.name) for child in live.children))
    typer.echo(f"  {'broker':<{width}} {live.settings.kafka.bootstrap_servers} ({live.broker_name})")
    kind = f" (SQLite{lasting})" if live.store_url.startswith("sqlite") else ""
    typer.echo(f"  {'store':<{width}} {shown(live.store_url)}{kind}")
    for child in live.children:
        if child.address:
            typer.echo(f"  {child.name:<{width}} {child.address}/metrics")
    typer.echo("From another terminal:")
    kept = f" TOUCHSTONE_ARCHIVE_URL={live.archive_url}" if live.archive_url else ""
    typer.echo(f"  export KAFKA_BOOTSTRAP_SERVERS={live.settings.kafka.bootstrap_servers} TOUCHSTONE_STORE_URL={shown(live.store_url)}{kept}")
    typer.echo("  touchstone produce FILE.jsonl")
    typer.echo("  touchstone tail results reports --from beginning")
    typer.echo(f"  touchstone reconcile --suite {plan.suites[0]}")
    typer.echo("Press Ctrl-C to stop.")


def _show(line: "LogLine") -> None:
    """A child's line, safe for a terminal."""
    from touchstone.scorers.reporting.words import visible

    _tell(visible(f"[{line.child}] {line.text}"))
