"""`touchstone score`: scores files with any installed suite."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.from_topic import PLACE, case_at
from touchstone.ops.cli.common.options import AgainstOptions, GateOptions, JobsOption, ReportOptions
from touchstone.ops.cli.common.shared import BootstrapOption, fail, one_line_errors

if TYPE_CHECKING:
    from touchstone.ops.batch.run import Run
    from touchstone.ops.batch.sources import Source
    from touchstone.scorers.suite import Suite


@dataclass(frozen=True, slots=True)
class CaseOptions:
    """Which cases are scored, and by which settings."""

    concern: Annotated[str | None, typer.Option(help="Score only the cases of this concern. Default: all, a row for each.", show_default=False)] = None
    batch: Annotated[str, typer.Option(help="Score only these batches: a name, or a pattern such as 'I25_batch_*' (quote it).")] = "*"
    quote: Annotated[
        bool | None, typer.Option("--quote/--withhold", help="Quote texts of the cases in the report. Default: the suite's setting.", show_default=False)
    ] = None
    config: Annotated[
        Path | None, typer.Option(help="The suite's settings file. Default: the suite's own file name, in the working directory.", show_default=False)
    ] = None


@app.command()
def score(
    suite: Annotated[str, typer.Argument(help="An installed suite, such as safe_v0; `touchstone doctor` lists them.")],
    written: ReportOptions,
    gates: GateOptions,
    cases: CaseOptions,
    compared: AgainstOptions,
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE|DIR…", help="Files, folders, patterns, or - for standard input; .gz and .zst are unpacked.")
    ] = None,
    from_topic: Annotated[
        str | None, typer.Option(metavar=PLACE, help="Score one event of a topic instead, as in 'touchstone.generations[2]@499'.", show_default=False)
    ] = None,
    bootstrap: BootstrapOption = None,
    allow_unscored: Annotated[bool, typer.Option("--allow-unscored", help="Report cases that cannot be scored without failing.")] = False,
    jobs: JobsOption = 1,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Console: list every finding of every case.")] = False,
) -> None:
    """Score files with a suite and report them, as its worker scores events.

    Exit codes: 0 all cases pass, 1 at least one Fail, 2 no Fail but a Review or Warn, 3 an error or a case that was not scored. The report goes to
    standard output or to a file, everything else to standard error.

    Example: touchstone score safe_v0 batches/ --format html --output report.html
    """
    from touchstone.ops.cli.common.scoring import ReportRequest, earlier_report, end_with, print_problems, run_files, write_report_in_formats
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.registry import load_suite
    from touchstone.scorers.suite_settings import suite_settings_for_files

    if bool(files) == (from_topic is not None):
        fail(f"score: name files to score, or one event with --from-topic {PLACE}; see touchstone score --help")
    with one_line_errors():
        loaded = load_suite(suite)
        settings = suite_settings_for_files(loaded, cases.config, {} if cases.quote is None else {"quote": cases.quote})
        places = written.places()
        earlier = earlier_report(loaded, compared)
        sources = _sources(loaded, files) if files else []
        run = _run(loaded, settings, cases, jobs if files else 1)
        if from_topic is not None:
            run.given = [case_at(from_topic, loaded, bootstrap)]
        report, facts = run_files(run, lambda: iter(sources), "cases scored", places=places, mixes_concerns=earlier is None)
        reporting: Any = facts.suite
        if not len(run.entries):
            chosen = cases.concern is not None or cases.batch != "*"
            raise ConfigError(
                f"no case to score: the files hold none{' of that concern and batch; check --concern and --batch' if chosen else '; check the paths'}"
            )
        gate = gates.gate(allow_unscored=allow_unscored)
        request = ReportRequest(places=places, gate=gate, earlier=earlier, max_drop=compared.max_drop, verbose=verbose, readings=run.readings())
        verdict = write_report_in_formats(reporting, report, request)
    print_problems(run, places)
    end_with(reporting, verdict)


def _sources(suite: "Suite", files: list[str]) -> "list[Source]":
    """The files to read. A suite that reads files of its own takes any file, and reports a missing one as a case."""
    from touchstone.ops.batch.sources import find_sources
    from touchstone.ops.cli.common.scoring import paths_of, print_left_out

    left_out: list[Path] = []
    reads_own = suite.read is not None
    sources = list(find_sources(paths_of(files), any_file=reads_own, hint="name the files", missing_is_error=not reads_own, left_out=left_out))
    print_left_out(left_out)
    return sources


def _run(suite: "Suite", settings: Any, cases: CaseOptions, jobs: int) -> "Run":
    """A run over the chosen cases."""
    from touchstone.ops.batch.cases import Wanted
    from touchstone.ops.batch.run import Run

    has_no_batches = not any("batch_id" in model.model_fields for model in suite.cases.values())
    admit = Wanted(cases.concern, cases.batch, strict=has_no_batches)
    return Run(suite, settings, jobs, asked={"concern_id": cases.concern, "batch_id": cases.batch}, admit=admit)
