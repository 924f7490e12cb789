"""`touchstone safe`: SAFE v0 over batches of files."""

import os
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.groups import Group
from touchstone.ops.cli.common.options import AgainstOptions, JobsOption
from touchstone.ops.cli.common.shared import fail, one_line_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from touchstone.ops.batch.sources import Source
    from touchstone.scorers.safe.settings import SafeSettings

safe_app = Group(name="safe", help="SAFE v0: score batches of cases against their own expectations.", no_args_is_help=True)
app.add_typer(safe_app)

_ALL = ("console", "json", "markdown", "junit")
FORMATS = (*_ALL, "html")
_STANDARD_OUTPUT = Path("-")
#: What `--only` takes → the statuses of cases that are listed then.
ONLY = {"failed": frozenset({"fail", "unscored", "error"}), "not-passed": frozenset({"fail", "review", "unscored", "error"})}


@dataclass(frozen=True, slots=True)
class CaseOptions:
    """Which cases are scored."""

    concern: Annotated[str | None, typer.Option(help="Concern to score. Needed where the input holds several.", show_default=False)] = None
    batch: Annotated[str, typer.Option(help="Batch, or a pattern such as 'I25_batch_*' (quote it).")] = "*"
    data: Annotated[Path | None, typer.Option(help="Directory of <concern>/<batch>.json|jsonl. Default: ./data.", show_default=False)] = None


@dataclass(frozen=True, slots=True)
class SettingOptions:
    """Settings that the command line can give (§6)."""

    format: Annotated[
        str | None,
        typer.Option("--format", "-f", help="json, console, markdown, junit, html, or all (except html); several with commas.", show_default=False),
    ] = None
    strict_ah: Annotated[bool | None, typer.Option("--strict-ah/--proportional-ah", help="AH is 0 with any violation.", show_default=False)] = None
    withhold: Annotated[
        bool | None,
        typer.Option("--withhold/--quote", help="Print references instead of expected strings, as results on Kafka do.", show_default=False),
    ] = None
    config: Annotated[Path | None, typer.Option(help="Settings file. Default: ./safe.config.json.", show_default=False)] = None


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Where the report goes, and what the console lists."""

    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File for the report (- for standard output); with several formats, a directory.", show_default=False),
    ] = None
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Console: show what each case found, missed and used.")] = False
    only: Annotated[str | None, typer.Option(help="Console: list only these cases: failed, or not-passed.", show_default=False)] = None
    observations: Annotated[Path | None, typer.Option(help="Append one JSON line per case to this file.", show_default=False)] = None


FilesArgument = Annotated[list[str] | None, typer.Argument(help="Batch files, directories of them, or - for standard input. Default: the data directory.")]
GateOption = Annotated[
    float | None,
    typer.Option(
        "--min-pass-rate", min=0.0, max=1.0, help="Gate: exit 0 if this share of cases (0-1) passes, else 1, whatever the labels.", show_default=False
    ),
]


@safe_app.callback()
def safe() -> None:
    """SAFE v0: score batches of cases against their own expectations."""  # keeps `score` a subcommand while it is the only one


@safe_app.command()
def score(
    cases: CaseOptions,
    given: SettingOptions,
    shown: OutputOptions,
    compared: AgainstOptions,
    files: FilesArgument = None,
    min_pass_rate: GateOption = None,
    jobs: JobsOption = 1,
) -> None:
    """Score a batch and report it.

    Exit codes: 0 all cases pass, 1 at least one Fail, 2 no Fail but a Review, 3 an error. The report goes to standard
    output or to files, everything else to standard error.

    Example: touchstone safe score batch.jsonl --format json --output report.json
    """
    from touchstone.ops.batch.cases import Wanted
    from touchstone.ops.batch.run import Run
    from touchstone.ops.cli.common.scoring import ReportRequest, earlier_report, end_with, print_problems, run_files, write_report_in_formats
    from touchstone.scorers.reporting import Gate
    from touchstone.scorers.safe import SUITE

    _check_words(given.format, shown.only)
    with one_line_errors():
        if files and cases.data is not None:
            fail("FILE and --data are two sources; give one")
        settings = _settings(given, cases.data)
        destination = _Destination(settings, shown.output)
        earlier = earlier_report(SUITE, compared)
        sources = list(_sources(files, cases, settings))
        admit = Wanted(cases.concern, cases.batch) if files else None
        run = Run(SUITE, settings, jobs, asked={"concern_id": cases.concern, "batch_id": cases.batch}, admit=admit)
        with _observed(run, shown.observations):
            report, facts = run_files(run, lambda: iter(sources), "cases scored", places=[(form, None) for form in settings.report_formats])
        places = destination.places(report.batch.concern_id, facts.generated_at)
        request = ReportRequest(
            places=places,
            gate=Gate(min_pass_rate),
            earlier=earlier,
            max_drop=compared.max_drop,
            verbose=shown.verbose,
            only=ONLY.get(shown.only or "", frozenset()),
            readings=run.readings(),
        )
        verdict = write_report_in_formats(SUITE, report, request)
    print_problems(run, places)
    end_with(SUITE, verdict)


def _check_words(format: str | None, only: str | None) -> None:
    """End with exit 3 for a format or a filter that does not exist."""
    if format is not None and (unknown := [part.strip() for part in format.split(",") if part.strip() not in {*FORMATS, "all"}]):
        fail(f"--format {unknown[0][:40]}: give {', '.join(FORMATS)} or all; several separated by commas")
    if only is not None and only not in ONLY:
        fail(f"--only {only[:40]}: give {' or '.join(ONLY)}")


def _settings(given: SettingOptions, data: Path | None) -> "SafeSettings":
    """Command line > environment > document > defaults (§6). The files belong to the user who runs the command, so it quotes by default."""
    from touchstone.scorers.json_documents import read_document, read_document_if_present
    from touchstone.scorers.safe.settings import DOCUMENT_NAME, ENV_PREFIX, resolve

    path = given.config or Path(DOCUMENT_NAME)
    document = (read_document(path) if given.config else read_document_if_present(path)) or {}
    overrides: dict[str, Any] = {}
    if given.strict_ah is not None:
        overrides["strictAH"] = given.strict_ah
    if given.format is not None:
        overrides["reportFormats"] = _ALL if given.format == "all" else [part.strip() for part in given.format.split(",")]
    if data is not None:
        overrides["dataDir"] = data
    if given.withhold is not None:
        overrides["quote"] = not given.withhold
    elif "quote" not in document and not os.environ.get(f"{ENV_PREFIX}QUOTE"):
        overrides["quote"] = True
    return resolve(os.environ, document, overrides, document_name=str(path))


def _sources(files: list[str] | None, cases: CaseOptions, settings: "SafeSettings") -> "Iterator[Source]":
    """The files named, completed by --concern; else those of the data directory. Raises `ConfigError`."""
    from dataclasses import replace

    from touchstone.ops.batch.data_directory import find_batches
    from touchstone.ops.batch.sources import find_sources
    from touchstone.ops.cli.common.scoring import paths_of, print_left_out

    if not files:
        yield from find_batches(settings.data_dir, cases.concern, cases.batch)
        return
    left_out: list[Path] = []
    for source in find_sources(paths_of(files), any_file=False, hint="for <concern>/<batch>.json use --data", left_out=left_out):
        yield source if cases.concern is None else replace(source, place=replace(source.place, folder=cases.concern))
    print_left_out(left_out)


def _observed(run: Any, path: Path | None) -> Any:
    """Record each result (§8.1), where that is asked for."""
    if path is None:
        return nullcontext()
    from touchstone.ops.cli.common.observations import JsonLinesObserver
    from touchstone.scorers.safe.observation import observe_result

    observer = JsonLinesObserver(path)
    run.on_result = lambda result: observe_result(result, observer)
    return observer


class _Destination:
    """Where each format goes; checked before anything is scored."""

    def __init__(self, settings: "SafeSettings", output: Path | None) -> None:
        from touchstone.ops.reports.files import check_directory
        from touchstone.ops.reports.layouts import SUFFIXES

        self._formats = tuple(dict.fromkeys(settings.report_formats))
        self._directory = settings.report_dir
        self._file: Path | None = None
        option = "SAFE_V0_REPORT_DIR or reportDir"
        if len(self._formats) > 1 and output is not None:
            if output == _STANDARD_OUTPUT or output.suffix in SUFFIXES.values() or output.is_file():
                fail(f"{output}: with several formats --output is a directory; give one, or a single --format")
            self._directory, option = output, "--output"
        elif output is not None and output.is_dir():
            self._directory, option = output, "--output"
        elif output is not None:
            self._file = output
        self._to_directory: set[str] = {name for name in self._formats if name != "console"} if len(self._formats) > 1 else set()
        if len(self._formats) == 1 and self._file is None and (self._formats[0] in {"markdown", "html"} or self._directory == output):
            self._to_directory = set(self._formats)
        if self._to_directory:
            check_directory(self._directory, option)
        elif self._file is not None and self._file != _STANDARD_OUTPUT and not self._file.exists():
            check_directory(self._file.parent, "--output")

    def places(self, concern_id: str, generated_at: Any) -> "list[tuple[str, Path | None]]":
        """Each format with its file; None for standard output."""
        from touchstone.ops.reports.files import report_path

        return [(name, report_path(self._directory, concern_id, name, generated_at) if name in self._to_directory else self._file) for name in self._formats]
