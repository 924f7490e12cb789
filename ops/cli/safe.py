"""`touchstone safe`: SAFE v0 over batches of files."""

import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import fail, one_line_errors, until_read_no_more

if TYPE_CHECKING:
    from touchstone.ops.reports import RenderOptions
    from touchstone.schemas.reports.safe import SafeV0BatchReport
    from touchstone.scorers.safe.settings import SafeSettings

safe_app = typer.Typer(name="safe", help="SAFE v0: score batches of cases against their own expectations.", no_args_is_help=True)
app.add_typer(safe_app)

_ALL = ("console", "json", "markdown", "junit")
_STANDARD_OUTPUT = Path("-")
_ERRORS_SHOWN_MAX = 20

FilesArgument = Annotated[list[Path] | None, typer.Argument(help="Batch files, directories of them, or - for standard input. Default: the data directory.")]
ConcernOption = Annotated[str | None, typer.Option("--concern", help="Concern to score. Needed where the input holds several.", show_default=False)]
BatchOption = Annotated[str, typer.Option("--batch", help="Batch, or a pattern such as 'I25_batch_*' (quote it).")]
DataOption = Annotated[Path | None, typer.Option("--data", help="Directory of <concern>/<batch>.json|jsonl. Default: ./data.", show_default=False)]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="File for the report (- for standard output); with several formats, a directory.", show_default=False),
]
FormatOption = Annotated[
    str | None, typer.Option("--format", "-f", help="json, console, markdown, junit or all; several separated by commas.", show_default=False)
]
StrictOption = Annotated[bool | None, typer.Option("--strict-ah/--proportional-ah", help="AH is 0 with any violation.", show_default=False)]
QuoteOption = Annotated[
    bool | None,
    typer.Option("--withhold/--quote", help="Print references instead of expected strings, as results on Kafka do.", show_default=False),
]
SafeConfigOption = Annotated[Path | None, typer.Option("--config", help="Settings file. Default: ./safe.config.json.", show_default=False)]
GateOption = Annotated[
    float | None,
    typer.Option(
        "--min-pass-rate", min=0.0, max=1.0, help="Gate: exit 0 if this share of cases (0-1) passes, else 1, whatever the labels.", show_default=False
    ),
]
ObservationsOption = Annotated[Path | None, typer.Option("--observations", help="Append one JSON line per case to this file.", show_default=False)]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Console: what each case found, missed and used.")]


@safe_app.callback()
def safe() -> None:
    """SAFE v0: score batches of cases against their own expectations."""  # keeps `score` a subcommand while it is the only one


@safe_app.command()
def score(
    files: FilesArgument = None,
    concern: ConcernOption = None,
    batch: BatchOption = "*",
    data: DataOption = None,
    output: OutputOption = None,
    format: FormatOption = None,
    strict_ah: StrictOption = None,
    verbose: VerboseOption = False,
    withhold: QuoteOption = None,
    min_pass_rate: GateOption = None,
    observations: ObservationsOption = None,
    config: SafeConfigOption = None,
) -> None:
    """Score a batch and report it.

    Exit codes: 0 all cases pass, 1 at least one Fail, 2 no Fail but a Review, 3 an error. The report goes to standard
    output or to files, everything else to standard error.
    """
    from datetime import UTC

    from touchstone.ops.reports import RenderOptions, verdict_of

    with one_line_errors():
        if files and data is not None:
            fail("FILE and --data are two sources; give one")
        settings = _settings(config, strict_ah, format, withhold, data)
        destination = _Destination(settings, output)
        report = _score(files or [], concern, batch, settings, observations)
        destination.write(report, RenderOptions(datetime.now(UTC), verbose, min_pass_rate))
    for error in report.errors[:_ERRORS_SHOWN_MAX]:
        typer.echo(f"touchstone: {error.where}: {error.what}", err=True)
    if (rest := len(report.errors) - _ERRORS_SHOWN_MAX) > 0:
        typer.echo(f"touchstone: and {rest} more; the JSON report lists all", err=True)
    verdict = verdict_of(report, min_pass_rate)
    typer.echo(f"SAFE v0 {verdict}", err=True)
    raise typer.Exit(verdict.exit_code)


def _settings(config: Path | None, strict_ah: bool | None, format: str | None, withhold: bool | None, data: Path | None) -> "SafeSettings":
    """Command line > environment > document > defaults (§6). Files belong to whoever runs the command, so it quotes by default."""
    from touchstone.ops.json_documents import read_document, read_document_if_present
    from touchstone.scorers.safe.settings import DOCUMENT_NAME, ENV_PREFIX, resolve

    path = config or Path(DOCUMENT_NAME)
    document = (read_document(path) if config else read_document_if_present(path)) or {}
    overrides: dict[str, Any] = {}
    if strict_ah is not None:
        overrides["strictAH"] = strict_ah
    if format is not None:
        overrides["reportFormats"] = _ALL if format == "all" else [part.strip() for part in format.split(",")]
    if data is not None:
        overrides["dataDir"] = data
    if withhold is not None:
        overrides["quote"] = not withhold
    elif "quote" not in document and not os.environ.get(f"{ENV_PREFIX}QUOTE"):
        overrides["quote"] = True
    return resolve(os.environ, document, overrides, document_name=str(path))


def _score(files: list[Path], concern: str | None, pattern: str, settings: "SafeSettings", observations: Path | None) -> "SafeV0BatchReport":
    """Find, read and score."""
    from contextlib import nullcontext

    from touchstone.ops.batch.batch_scoring import Selection, score_files
    from touchstone.ops.batch.batches import find_batches, given_files
    from touchstone.ops.reports.observations import JsonLinesObserver

    batches = given_files(files, concern) if files else find_batches(settings.data_dir, concern, pattern)
    selection = Selection(concern, pattern, by_case=bool(files))
    with _progress(selection), JsonLinesObserver(observations) if observations else nullcontext() as observe:
        report = score_files(batches, selection, settings, observe)
    if selection.repeated:
        count, first = len(selection.repeated), selection.repeated[0]
        typer.echo(f"touchstone: {count} repeated event id{'s' if count > 1 else ''}, counted once (first repeat: {first})", err=True)
    return report


def _progress(selection: Any) -> Any:
    """A counter on standard error for a run of more than two seconds, if a person is watching."""
    from touchstone.ops.cli.common.progress import Progress

    progress = Progress("cases scored", sys.stderr)
    selection.on_step = progress.step
    return progress


class _Destination:
    """Where each format goes; checked before anything is scored."""

    def __init__(self, settings: "SafeSettings", output: Path | None) -> None:
        from touchstone.ops.reports.files import check_directory

        self._formats = tuple(dict.fromkeys(settings.report_formats))
        self._directory = settings.report_dir
        self._file: Path | None = None
        option = "SAFE_V0_REPORT_DIR or reportDir"
        if len(self._formats) > 1 and output is not None:
            if output == _STANDARD_OUTPUT or output.suffix in {".json", ".md", ".txt", ".xml"} or output.is_file():
                fail(f"{output}: with several formats --output is a directory; give one, or a single --format")
            self._directory, option = output, "--output"
        elif output is not None and output.is_dir():
            self._directory, option = output, "--output"
        elif output is not None:
            self._file = output
        self._to_directory: set[str] = {name for name in self._formats if name != "console"} if len(self._formats) > 1 else set()
        if len(self._formats) == 1 and self._file is None and (self._formats == ("markdown",) or self._directory == output):
            self._to_directory = set(self._formats)
        if self._to_directory:
            check_directory(self._directory, option)
        elif self._file is not None and self._file != _STANDARD_OUTPUT and not self._file.exists():
            check_directory(self._file.parent, "--output")

    def write(self, report: "SafeV0BatchReport", options: "RenderOptions") -> None:
        """Write every format; files are named on standard error."""
        from touchstone.ops.reports import render
        from touchstone.ops.reports.files import report_path, write_whole

        for name in self._formats:
            text = render(report, name, options)
            path = self._file
            if name in self._to_directory:
                path = report_path(self._directory, report.concern_id, name, options.generated_at)
            if path is None or path == _STANDARD_OUTPUT:
                # Bytes, so that the encoding of the terminal or pipe cannot break a report.
                with until_read_no_more():
                    typer.echo(text.encode(), nl=False)
            else:
                write_whole(path, text)
                typer.echo(f"wrote {path}", err=True)
