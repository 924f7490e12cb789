"""Options that several commands have, in groups: a command takes a group as one parameter (`groups.Group.command` lists its fields as options)."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from touchstone.scorers.reporting import Gate

MAX_DROP_HELP = "Gate, with --against: exit 1 if the pass rate fell by more than this (0-1)."


class Format(StrEnum):
    """How a report is written."""

    console = "console"
    json = "json"
    markdown = "markdown"
    junit = "junit"
    html = "html"


class FailOn(StrEnum):
    """What fails a run in addition to the label Fail."""

    invalid = "invalid"
    critical = "critical"
    major = "major"
    warn = "warn"


class Runner(StrEnum):
    """What reads the topics and drives the workers."""

    faust = "faust"
    direct = "direct"


JobsAsNeededOption = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, max=64, show_default="all cores for a long run, else 1", help="Number of processes to score in.")
]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Number of processes to score in.")]


@dataclass(frozen=True, slots=True)
class AgainstOptions:
    """A comparison with an earlier report."""

    against: Annotated[str | None, typer.Option(help="Compare with this earlier JSON report of the suite.", show_default=False)] = None
    max_drop: Annotated[float | None, typer.Option(min=0.0, max=1.0, help=MAX_DROP_HELP, show_default=False)] = None


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The form of a report and the file that it is written to."""

    format: Annotated[
        Format, typer.Option("--format", "-f", help="How the report is written: console, json, markdown, junit or html (one self-contained page).")
    ] = Format.console
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the report. Default: standard output.", show_default=False)] = None

    def places(self) -> list[tuple[str, Path | None]]:
        """The report's one format with its file. Raises `ConfigError` where the file cannot be written."""
        from touchstone.ops.reports.writing import check_output

        check_output(self.output)
        return [(self.format.value, self.output)]


@dataclass(frozen=True, slots=True)
class GateOptions:
    """Requirements on the whole run beyond its labels."""

    min_pass_rate: Annotated[float | None, typer.Option(min=0.0, max=1.0, help="Gate: exit 0 if this share (0-1) passes, else 1.", show_default=False)] = None
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            help="Gate: exit 1 at a Fail or a case that is invalid, has a critical finding, a critical or major one, or did not pass (warn); else exit 0.",
            show_default=False,
        ),
    ] = None

    def gate(self, *, allow_unscored: bool = False) -> "Gate":
        """The gate that these options ask for."""
        from touchstone.scorers.reporting import Gate

        return Gate(self.min_pass_rate, allow_unscored=allow_unscored, fail_on=self.fail_on.value if self.fail_on else None)
