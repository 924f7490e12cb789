"""Shared by all commands: settings, one-line errors, exit codes."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from touchstone.schemas.settings.house import Settings

EXIT_STOPPED = 130  # what shells expect of a program that Ctrl-C ended
EXIT_TERMINATED = 143  # and of one that SIGTERM ended
EXIT_ERROR = 3  # SAFE v0 §7.3: 1 and 2 are verdicts, so errors of every kind are 3

ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="Settings file (TOML). Default: $TOUCHSTONE_CONFIG, else ./touchstone.toml.", show_default=False)
]
BootstrapOption = Annotated[str | None, typer.Option("--bootstrap", help="Kafka brokers, host:port,… (overrides KAFKA_BOOTSTRAP_SERVERS).", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


@contextmanager
def until_read_no_more() -> Iterator[None]:
    """Write output of a command whose exit code is a verdict: a reader that closes early (head, less) must not change it."""
    try:
        yield
    except BrokenPipeError:
        sys.stdout = None  # the interpreter's own word for no stream


def one_line(message: str) -> str:
    """A message as one line without control characters."""
    from touchstone.scorers.reporting.words import visible

    return visible(f"touchstone: {message}")


def fail(message: str, code: int = EXIT_ERROR) -> NoReturn:
    """End the command with one clear line on standard error."""
    typer.echo(one_line(message), err=True)
    raise typer.Exit(code)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn errors that the user can fix into one line and exit 3; anything else is a defect, which `main` reports."""
    from touchstone.ops.reports.writing import Stopped
    from touchstone.scorers.base import ConfigError

    try:
        yield
    except ConfigError as error:
        fail(str(error))
    except Stopped as stopped:
        fail(str(stopped), stopped.exit_code)


@cache
def _warn_once(line: str) -> None:
    """Print a warning once, even if the command reads its settings several times."""
    typer.echo(one_line(f"warning: {line}"), err=True)


def refuse_unknown_variables() -> None:
    """End with exit 3 for a TOUCHSTONE_ variable that nothing reads: it is a typing mistake that would otherwise be ignored."""
    if not any(name.startswith("TOUCHSTONE_") for name in os.environ):
        return  # the settings need not be imported
    from touchstone.ops.settings import check_variables

    with one_line_errors():
        check_variables(os.environ)


def settings_from(config: Path | None = None, bootstrap: str | None = None, **overrides: Any) -> "Settings":
    """Settings of this command. Keyword names are `section__field`; None is ignored. Ends with exit 3 on a bad one."""
    from touchstone.ops.settings import load_settings, suspicious

    for line in suspicious(os.environ):
        _warn_once(line)
    dotted: Mapping[str, Any] = {"kafka.bootstrap_servers": bootstrap} | {name.replace("__", "."): value for name, value in overrides.items()}
    with one_line_errors():
        return load_settings(dotted, env=os.environ, document=config)
