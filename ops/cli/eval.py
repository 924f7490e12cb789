"""`touchstone eval`: clinical documents and traces in files."""

import os
import sys
from collections.abc import Iterator
from enum import StrEnum
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import fail, one_line, one_line_errors

if TYPE_CHECKING:
    from touchstone.schemas.reports.clinical import JudgedFile
    from touchstone.scorers.clinical.settings import ClinicalSettings

eval_app = typer.Typer(name="eval", help="Clinical documents: validate FHIR R4 and HL7 v2 files, and traces that hold them.", no_args_is_help=True)
app.add_typer(eval_app)

_LINES_SHOWN_MAX = 20
#: What opening and reporting a file costs, as bytes that might have been validated meanwhile.
_BYTES_PER_FILE = 8_192


class Format(StrEnum):
    """How the report is written."""

    json = "json"
    console = "console"
    markdown = "markdown"
    junit = "junit"


FilesArgument = Annotated[list[str], typer.Argument(metavar="FILE|DIR", help="Files, directories of them, or - for standard input.")]
FormatsOption = Annotated[
    str | None, typer.Option("--formats", help="Validate only these: fhir, hl7v2, ccda, separated by commas. Default: the setting (all).", show_default=False)
]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How the report is written.")]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="File for the report. Default: standard output.", show_default=False)]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Console: every finding by its check, rules fired, what was not checked.")]
QuoteOption = Annotated[bool | None, typer.Option("--quote/--withhold", help="Let findings show the values they are about.", show_default=False)]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Validate in so many processes.")]
ProfileOption = Annotated[
    list[str] | None, typer.Option("--profile", help="Profile (canonical URL) that every resource of its type must conform to; repeatable.", show_default=False)
]
PackageOption = Annotated[
    list[Path] | None, typer.Option("--package", help="FHIR package: a folder or .tgz file, beside ~/.fhir/packages; repeatable.", show_default=False)
]
MinPassRateOption = Annotated[
    float | None, typer.Option("--min-pass-rate", min=0.0, max=1.0, help="Gate: exit 0 if this share (0-1) passes, else 1.", show_default=False)
]
ClinicalConfigOption = Annotated[Path | None, typer.Option("--config", help="Settings file. Default: ./clinical.config.json.", show_default=False)]


@eval_app.callback()
def evaluate() -> None:
    """Clinical documents: validate FHIR R4 and HL7 v2 files, and traces that hold them."""  # keeps `validate` a subcommand while it is the only one


@eval_app.command()
def validate(
    files: FilesArgument,
    formats: FormatsOption = None,
    format: FormatOption = Format.console,
    output: OutputOption = None,
    verbose: VerboseOption = False,
    quote: QuoteOption = None,
    jobs: JobsOption = 1,
    profile: ProfileOption = None,
    package: PackageOption = None,
    min_pass_rate: MinPassRateOption = None,
    config: ClinicalConfigOption = None,
) -> None:
    """Validate clinical files of any mix and report them; what each is, is seen from its content.

    Directories are walked in name order; a file of no known format found there is listed and not counted. Exit codes: 0 all pass, 1 at least one
    Fail, 2 no Fail but a Warn or a file that was not validated, 3 a file that could not be read, or nothing to validate. The report goes to
    standard output or to a file, everything else to standard error.

    Example: touchstone eval validate patient.json adt.hl7 traces/ --format json
    """
    from touchstone.ops.cli.common.clinical import check_output, write_report
    from touchstone.ops.cli.common.terminal import has_colour, width_of
    from touchstone.ops.reports.clinical import reporter_for

    complaints = _Complaints()
    with one_line_errors():
        settings = _settings(config, formats=formats, quote=quote, profiles=profile, packages=package)
        paths = _paths(files)
        check_output(output)
        reporter = reporter_for(format.value, verbose=verbose, colour=has_colour(output), width=width_of(output))
        verdict = write_report(_judged(paths, settings, jobs, complaints), reporter, output, min_pass_rate=min_pass_rate)
    complaints.tell()
    typer.echo(f"Clinical {verdict}", err=True)
    raise typer.Exit(verdict.exit_code)


def _settings(config: Path | None, *, formats: str | None, quote: bool | None, profiles: list[str] | None, packages: list[Path] | None) -> "ClinicalSettings":
    """Command line > environment > document > defaults."""
    from touchstone.ops.json_documents import read_document, read_document_if_present
    from touchstone.scorers.clinical.settings import DOCUMENT_NAME, resolve

    path = config or Path(DOCUMENT_NAME)
    document = read_document(path) if config else read_document_if_present(path)
    overrides: dict[str, Any] = {}
    if formats is not None:
        overrides["formats"] = _formats(formats)
    if quote is not None:
        overrides["quote"] = quote
    fhir = {"profiles": profiles, "packages": packages}
    overrides |= {"fhir": given} if (given := {name: value for name, value in fhir.items() if value}) else {}
    return resolve(os.environ, document, overrides, document_name=str(path))


def _judged(files: list[Path], settings: "ClinicalSettings", jobs: int, complaints: "_Complaints") -> "Iterator[JudgedFile]":
    """Every file judged; a bar on standard error for a run of more than two seconds, if a person is watching."""
    from touchstone.ops.batch.clinical_files import find_files
    from touchstone.ops.batch.clinical_run import judge_files
    from touchstone.ops.cli.common.progress import Progress

    is_watched = sys.stderr is not None and sys.stderr.isatty()
    # What is done by the end of each file, in bytes: the files may be of very different sizes.
    done = list(accumulate(file.size() + _BYTES_PER_FILE for file in find_files(files))) if is_watched else []
    with Progress("files validated", sys.stderr, total=len(done) or None, every=1, work=done[-1] if done else None) as progress:
        for count, judged in enumerate(judge_files(find_files(files), settings, jobs), 1):
            complaints.add(judged)
            yield judged
            progress.step(count, done[min(count, len(done)) - 1] if done else None)


class _Complaints:
    """What standard error says of files that count and were not validated: a line each, the first ones only."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._rest = 0

    def add(self, judged: "JudgedFile") -> None:
        """Note one file, if there is something to say of it."""
        from touchstone.ops.reports.clinical_text import reason_text

        if judged.outcome not in {"problem", "unvalidated"}:
            return
        if len(self._lines) < _LINES_SHOWN_MAX:
            self._lines.append(f"{judged.entry.file}: {'not validated: ' if judged.outcome == 'unvalidated' else ''}{reason_text(judged.entry)}")
        else:
            self._rest += 1

    def tell(self) -> None:
        """Print them."""
        for line in self._lines:
            typer.echo(one_line(line), err=True)
        if self._rest:
            typer.echo(f"touchstone: and {self._rest} more; the JSON report lists all", err=True)


def _formats(text: str) -> list[str]:
    """The names in a list of formats, in any case."""
    from touchstone.schemas.trace import CLINICAL_FORMATS

    names = [name for part in text.split(",") if (name := part.strip().casefold())]
    if not names or not set(names) <= set(CLINICAL_FORMATS):
        fail(f"--formats: give one or more of {', '.join(CLINICAL_FORMATS)}, separated by commas")
    return names


def _paths(files: list[str]) -> list[Path]:
    """The files as paths. Refuses what cannot be meant, before anything is read."""
    # As a path the empty text would be the working directory.
    if "" in files:
        fail("an empty path is given (a variable without a value?); name a file or a directory")
    if files.count("-") > 1:
        fail("standard input (-) is named twice; name it once")
    return [Path(file) for file in files]
