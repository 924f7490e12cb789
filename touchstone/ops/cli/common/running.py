"""Runs Kafka work for a short command: libraries are quiet, and a user's mistake is one line."""

import io
import logging
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

import typer

from touchstone.ops.cli.common.shared import one_line, one_line_errors

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end. A `ConfigError` ends the command with one line and exit 3.

    The client library reports a broker that does not answer in its own words, and again for every attempt: the one line
    says it better.
    """
    import asyncio

    library = logging.getLogger("aiokafka")
    level = library.level
    library.setLevel(logging.CRITICAL + 1)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an id that the terminal cannot show must not end a command
    try:
        with one_line_errors():
            return asyncio.run(work)
    finally:
        library.setLevel(level)


def print_line(message: str) -> None:
    """One line on standard error, for an event while a command runs."""
    typer.echo(one_line(message), err=True)
