"""Terminal features for reports: colour and line width, only where a person reads them."""

import os
import sys
from pathlib import Path

STANDARD_OUTPUT = Path("-")


def is_read_by_a_person(output: Path | None) -> bool:
    """Whether the report goes to a terminal as it is written. `output`: the file asked for; None and - are standard output."""
    return output in {None, STANDARD_OUTPUT} and sys.stdout is not None and sys.stdout.isatty()


def has_been_told(form: str, output: Path | None) -> bool:
    """Whether somebody has just read in the report what would follow it on the same terminal, such as what could not be read."""
    return form in {"console", "markdown"} and is_read_by_a_person(output) and sys.stderr is not None and sys.stderr.isatty()


def width_of(output: Path | None) -> int | None:
    """Width of that terminal in cells; None where lines must not be broken."""
    from shutil import get_terminal_size

    return get_terminal_size().columns if is_read_by_a_person(output) else None


def has_colour(output: Path | None) -> bool:
    """Whether that terminal has colours."""
    return is_read_by_a_person(output) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
