"""`touchstone doctor`: what is installed and reachable, what is missing, and how to fix it."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import EXIT_ERROR, BootstrapOption, ConfigOption, JsonOption, settings_from, until_read_no_more

if TYPE_CHECKING:
    from touchstone.schemas.settings.house import Settings
    from touchstone.scorers.base import Check

EXIT_TO_FIX = 1
#: Areas whose faults are in files and variables, not in running services.
CONFIGURED = {"settings", "suites"}


@app.command(checks_variables=False)
def doctor(as_json: JsonOption = False, config: ConfigOption = None, bootstrap: BootstrapOption = None) -> None:
    """Check this installation, the settings, Kafka and the result store; say what to do about each fault.

    Exit codes: 0 all that is needed is there, 1 something must be fixed, 3 the settings themselves are invalid.

    Example: touchstone doctor --bootstrap localhost:9092
    """
    from touchstone.scorers.base import Check

    try:
        settings: Settings | None = settings_from(config, bootstrap)
    except typer.Exit:
        settings = None  # its line is on standard error already; the rest is still worth knowing
    checks = _checks(settings)
    if settings is None:
        checks.insert(0, Check("settings", "bad", "the settings are invalid (see the line above)", "correct them; Kafka and the store were not checked"))
    with until_read_no_more():
        if as_json:
            typer.echo(json.dumps([asdict(check) for check in checks], indent=2))
        else:
            _print(checks)
    bad = {check.area for check in checks if check.state == "bad"}
    raise typer.Exit(EXIT_ERROR if bad & CONFIGURED else EXIT_TO_FIX if bad else 0)


def _checks(settings: "Settings | None") -> "list[Check]":
    """Every check, in the order of the questions that people have."""
    from touchstone.ops.cli.common.running import run
    from touchstone.ops.local.checkup import check_embedded, check_kafka, check_python, check_store, check_suite, check_suites, check_tools
    from touchstone.ops.local.extras import check_extras
    from touchstone.scorers.base import Check
    from touchstone.scorers.suite import Suite

    suites: list[Suite] = []
    checks = [*check_python(), *check_extras(), *check_suites(suites)]
    if settings is not None:
        checks.append(Check("settings", "good", "in order; `touchstone config show` lists them"))
        checks += [*run(check_kafka(settings, suites)), *check_store(settings)]
    for suite in suites:
        checks += check_suite(suite)
    return [*checks, check_embedded(), *check_tools()]


def _print(checks: "list[Check]") -> None:
    """A line per check, and what to do beneath the ones that need it."""
    from touchstone.scorers.reporting.words import visible

    words = {"good": "ok  ", "note": "note", "bad": "BAD "}
    width = max(len(check.area) for check in checks)
    for check in checks:
        typer.echo(visible(f"{words[check.state]}  {check.area:<{width}}  {check.what}"))
        if check.fix:
            typer.echo(visible(f"{'':<4}  {'':<{width}}  -> {check.fix}"))
    count = sum(check.state == "bad" for check in checks)
    typer.echo(f"{count} to fix" if count else "nothing to fix", err=True)
