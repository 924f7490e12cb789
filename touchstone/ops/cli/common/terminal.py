"""Colour and line width for reports on a terminal."""

import os
import sys
from pathlib import Path

STANDARD_OUTPUT = Path("-")


def is_read_by_a_person(output: Path | None) -> bool:
    """True if the report goes to a terminal. `output`: the file asked for; None and - are standard output."""
    return output in {None, STANDARD_OUTPUT} and sys.stdout is not None and sys.stdout.isatty()


def is_on_same_terminal(form: str, output: Path | None) -> bool:
    """True if the report and standard error go to one terminal: problems that the report lists need not be printed again."""
    return form in {"console", "markdown"} and is_read_by_a_person(output) and sys.stderr is not None and sys.stderr.isatty()


def width_of(output: Path | None) -> int | None:
    """Width of the terminal in cells; None if lines must not be broken."""
    from shutil import get_terminal_size

    return get_terminal_size().columns if is_read_by_a_person(output) else None


def has_colour(output: Path | None) -> bool:
    """True if the report goes to a terminal with colours."""
    return is_read_by_a_person(output) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
