"""Options that several commands have."""

from enum import StrEnum
from typing import Annotated

import typer

FORMAT_HELP = "How the report is written: console, json, markdown, junit or html (one self-contained page)."


class Format(StrEnum):
    """How a report is written."""

    console = "console"
    json = "json"
    markdown = "markdown"
    junit = "junit"
    html = "html"


AgainstOption = Annotated[str | None, typer.Option("--against", help="Compare with this earlier JSON report of the suite.", show_default=False)]
AgainstBatchOption = Annotated[
    str | None, typer.Option("--against", help="Compare with this earlier batch of the store, or JSON report (FILE.json).", show_default=False)
]
MaxDropOption = Annotated[
    float | None,
    typer.Option("--max-drop", min=0.0, max=1.0, help="Gate, with --against: exit 1 if the pass rate fell by more than this (0-1).", show_default=False),
]


class FailOn(StrEnum):
    """What fails a run beside the label Fail."""

    invalid = "invalid"
    critical = "critical"
    major = "major"
    warn = "warn"


FailOnOption = Annotated[
    FailOn | None,
    typer.Option(
        "--fail-on",
        help="Gate: exit 1 at a Fail or a case that is invalid, has a critical finding, a critical or major one, or did not pass (warn); else exit 0.",
        show_default=False,
    ),
]
