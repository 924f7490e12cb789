"""`touchstone loss`: Loss V3 over generated summaries in files."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import fail, one_line_errors, until_read_no_more

if TYPE_CHECKING:
    from touchstone.ops.batch.loss_batches import SummarySelection
    from touchstone.schemas.reports.summary import LossReport

loss_app = typer.Typer(name="loss", help="Loss V3: score generated summaries against their gold standards.", no_args_is_help=True)
app.add_typer(loss_app)

_STANDARD_OUTPUT = Path("-")
_ERRORS_SHOWN_MAX = 20


class Format(StrEnum):
    """How the report is written."""

    json = "json"
    console = "console"
    markdown = "markdown"
    junit = "junit"


class Support(StrEnum):
    """What counts as support of a statement."""

    auto = "auto"
    nli = "nli"
    nli_lexical = "nli+lexical"


FilesArgument = Annotated[list[Path], typer.Argument(help="Files of summary events, directories of them, or - for standard input.")]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How the report is written.")]
WorstOption = Annotated[int, typer.Option("--worst", min=0, help="List so many of the highest losses.")]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="File for the report. Default: standard output.", show_default=False)]
LossConfigOption = Annotated[Path | None, typer.Option("--config", help="Settings file. Default: ./summary.config.json.", show_default=False)]
GoldOption = Annotated[Path | None, typer.Option("--gold", help="File of gold standards that `gold_ref` refers to.", show_default=False)]
SupportOption = Annotated[Support | None, typer.Option("--support", help="What counts as support of a fact. Default: the setting.", show_default=False)]
QuoteOption = Annotated[bool | None, typer.Option("--quote/--withhold", help="Let the details quote facts and sentences.", show_default=False)]
EvidenceOption = Annotated[bool | None, typer.Option("--evidence/--no-evidence", help="Details: which sentence supported which fact.", show_default=False)]
GateOption = Annotated[
    float | None,
    typer.Option("--max-mean-loss", min=0.0, max=1.0, help="Gate: exit 0 if the mean loss is at most this, else 1, whatever the labels.", show_default=False),
]
UnscoredOption = Annotated[bool, typer.Option("--allow-unscored", help="A case that cannot be scored (no gold, empty, …) is told and is no error.")]


@loss_app.callback()
def loss() -> None:
    """Loss V3: score generated summaries against their gold standards."""  # keeps `score` a subcommand while it is the only one


@loss_app.command()
def score(
    files: FilesArgument,
    format: FormatOption = Format.console,
    worst: WorstOption = 5,
    output: OutputOption = None,
    gold: GoldOption = None,
    support: SupportOption = None,
    evidence: EvidenceOption = None,
    quote: QuoteOption = None,
    max_mean_loss: GateOption = None,
    allow_unscored: UnscoredOption = False,
    config: LossConfigOption = None,
) -> None:
    """Score generated summaries and report their losses; 0 is best, 1 is worst.

    A file is a JSON array, JSON lines or {"cases": […]} of summary events. Exit codes: 0 all pass, 1 at least one Fail, 2 no Fail but a Review, 3 an
    error or a case that was not scored. The report goes to standard output or to a file, everything else to standard error.

    Example: touchstone loss score summaries.jsonl --gold golds.jsonl --worst 10
    """
    from touchstone.ops.reports.loss import loss_verdict, render

    with one_line_errors():
        _check_output(output)
        report = _score(files, _overrides(gold, support, evidence, quote), config, worst)
        verdict = loss_verdict(report, max_mean_loss, allow_unscored=allow_unscored)
        _write(render(report, format.value, verdict), output)
    for error in report.errors[:_ERRORS_SHOWN_MAX]:
        typer.echo(f"touchstone: {error.where}: {error.what}", err=True)
    if (rest := len(report.errors) - _ERRORS_SHOWN_MAX) > 0:
        typer.echo(f"touchstone: and {rest} more; the JSON report lists all", err=True)
    typer.echo(f"Loss V3 {verdict}", err=True)
    raise typer.Exit(verdict.exit_code)


def _overrides(gold: Path | None, support: Support | None, evidence: bool | None, quote: bool | None) -> dict[str, Any]:
    """What the command line sets, in the form of the settings document."""
    given: dict[str, Any] = {
        "gold": None if gold is None else str(gold),
        "support": None if support is None else support.value,
        "evidence": None if evidence is None else "ids" if evidence else "none",
        "quote": quote,
    }
    return {name: value for name, value in given.items() if value is not None}


def _score(files: list[Path], overrides: dict[str, Any], config: Path | None, worst: int) -> "LossReport":
    """Read, score, report; a bar on standard error for a run of more than two seconds, if a person is watching."""
    from touchstone.ops.batch.batches import given_files
    from touchstone.ops.batch.loss_batches import SummarySelection, count_cases
    from touchstone.ops.batch.loss_scoring import score_files
    from touchstone.ops.cli.common.progress import Progress
    from touchstone.ops.json_documents import read_document, read_document_if_present
    from touchstone.scorers.summary import SUITE
    from touchstone.scorers.summary.settings import DOCUMENT_NAME, resolve

    path = config or Path(DOCUMENT_NAME)
    document = read_document(path) if config else read_document_if_present(path)
    settings = resolve(os.environ, document, overrides, document_name=str(path))
    batches = given_files(files, hint="name the files that hold summaries")
    selection = SummarySelection()
    total = count_cases(batches) if sys.stderr is not None and sys.stderr.isatty() else None
    with Progress("summaries scored", sys.stderr, total=total, every=1) as progress:
        report = score_files(SUITE, settings, batches, selection, worst=worst, on_step=progress.step)
    if not report.total_cases and not report.errors:
        fail("no case to score: the files hold no summary; check the paths")
    _tell_repeats(selection)
    return report


def _tell_repeats(selection: "SummarySelection") -> None:
    """Say that an event was met twice."""
    if selection.repeated:
        count, first = len(selection.repeated), selection.repeated[0]
        typer.echo(f"touchstone: {count} repeated event id{'s' if count > 1 else ''}, counted once (first repeat: {first})", err=True)


def _check_output(output: Path | None) -> None:
    """Refuse a place where no report can be written, before anything is scored."""
    from touchstone.ops.reports.files import check_directory

    if output is None or output == _STANDARD_OUTPUT:
        return
    if output.is_dir():
        fail(f"{output}: is a directory; give --output a file")
    if not output.exists():
        check_directory(output.parent, "--output")


def _write(text: str, output: Path | None) -> None:
    """The report, whole, to its file or to standard output."""
    from touchstone.ops.reports.files import write_whole

    if output is not None and output != _STANDARD_OUTPUT:
        write_whole(output, text)
        typer.echo(f"wrote {output}", err=True)
        return
    # Bytes, so that the encoding of the terminal or pipe cannot break a report.
    with until_read_no_more():
        typer.echo(text.encode(), nl=False)
