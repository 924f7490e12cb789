"""`touchstone eval`: clinical documents and traces in files."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.options import FORMAT_HELP, Format
from touchstone.ops.cli.common.shared import fail, one_line, one_line_errors

if TYPE_CHECKING:
    from touchstone.scorers.clinical.reporting import ClinicalReport
    from touchstone.scorers.clinical.settings import ClinicalSettings

eval_app = typer.Typer(name="eval", help="Clinical documents: validate FHIR R4 and HL7 v2 files, and traces that hold them.", no_args_is_help=True)
app.add_typer(eval_app)

FilesArgument = Annotated[list[str], typer.Argument(metavar="FILE|DIR", help="Files, directories of them, or - for standard input.")]
FormatsOption = Annotated[
    str | None, typer.Option("--formats", help="Validate only these: fhir, hl7v2, ccda, separated by commas. Default: the setting (all).", show_default=False)
]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help=FORMAT_HELP)]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="File for the report. Default: standard output.", show_default=False)]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Console: list every finding by its check, rules that fired, and what was not checked.")]
QuoteOption = Annotated[bool | None, typer.Option("--quote/--withhold", help="Quote in each finding the value that it is about.", show_default=False)]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Number of processes to validate in.")]
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
    """Validate clinical files of any mix and report them; the format of each is recognised from its content.

    Directories are walked in name order; a file of no known format found there is listed and not counted. Exit codes: 0 all pass, 1 at least one
    Fail, 2 no Fail but a Warn or a file that was not validated, 3 a file that could not be read, or nothing to validate. The report goes to
    standard output or to a file, everything else to standard error.

    Example: touchstone eval validate patient.json adt.hl7 traces/ --format json
    """
    from touchstone.ops.batch.run import Run
    from touchstone.ops.batch.sources import find_sources
    from touchstone.ops.cli.common.scoring import end_with, judged, paths_of, run_files, write_in
    from touchstone.ops.reports.writing import check_output
    from touchstone.scorers.clinical import SUITE
    from touchstone.scorers.reporting import Gate

    with one_line_errors():
        settings = _settings(config, formats=formats, quote=quote, profiles=profile, packages=package)
        paths = paths_of(files)
        check_output(output)
        report, _ = run_files(Run(SUITE, settings, jobs), lambda: find_sources(paths, any_file=True, missing_is_error=False), "files validated")
        verdict = judged(SUITE, report, Gate(min_pass_rate))
        write_in(SUITE, report, [(format.value, output)], verdict, verbose=verbose)
    _complain(report)
    end_with(SUITE, verdict)


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


def _complain(report: "ClinicalReport") -> None:
    """Print on standard error which files count and were not validated, a line each."""
    for line in report.not_validated:
        typer.echo(one_line(line), err=True)
    if report.not_validated_more:
        typer.echo(one_line(f"and {report.not_validated_more} more; the JSON report lists all"), err=True)


def _formats(text: str) -> list[str]:
    """The names in a list of formats, in any case."""
    from touchstone.schemas.trace import CLINICAL_FORMATS

    names = [name for part in text.split(",") if (name := part.strip().casefold())]
    if not names or not set(names) <= set(CLINICAL_FORMATS):
        fail(f"--formats: give one or more of {', '.join(CLINICAL_FORMATS)}, separated by commas")
    return names
