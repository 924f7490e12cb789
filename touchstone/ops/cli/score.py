"""`touchstone score`: scores files with any installed suite."""

from pathlib import Path
from typing import Annotated

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.options import FORMAT_HELP, AgainstOption, FailOnOption, Format, MaxDropOption
from touchstone.ops.cli.common.shared import one_line_errors

OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="File for the report. Default: standard output.", show_default=False)]
MinPassRateOption = Annotated[
    float | None, typer.Option("--min-pass-rate", min=0.0, max=1.0, help="Gate: exit 0 if this share (0-1) passes, else 1.", show_default=False)
]
SuiteConfigOption = Annotated[
    Path | None, typer.Option("--config", help="The suite's settings file. Default: the suite's own file name, in the working directory.", show_default=False)
]


@app.command()
def score(
    suite: Annotated[str, typer.Argument(help="An installed suite, such as safe_v0; `touchstone doctor` lists them.")],
    files: Annotated[list[str], typer.Argument(metavar="FILE|DIR…", help="Files, folders, patterns, or - for standard input; .gz and .zst are unpacked.")],
    format: Annotated[Format, typer.Option("--format", "-f", help=FORMAT_HELP)] = Format.console,
    output: OutputOption = None,
    min_pass_rate: MinPassRateOption = None,
    allow_unscored: Annotated[bool, typer.Option("--allow-unscored", help="Report cases that cannot be scored without failing.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Number of processes to score in.")] = 1,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Console: list every finding of every case.")] = False,
    concern: Annotated[str | None, typer.Option("--concern", help="Score only the cases of this concern.", show_default=False)] = None,
    batch: Annotated[str, typer.Option("--batch", help="Score only these batches: a name, or a pattern such as 'I25_batch_*' (quote it).")] = "*",
    fail_on: FailOnOption = None,
    quote: Annotated[
        bool | None, typer.Option("--quote/--withhold", help="Quote texts of the cases in the report. Default: the suite's setting.", show_default=False)
    ] = None,
    against: AgainstOption = None,
    max_drop: MaxDropOption = None,
    config: SuiteConfigOption = None,
) -> None:
    """Score files with a suite and report them, as its worker scores events.

    Exit codes: 0 all cases pass, 1 at least one Fail, 2 no Fail but a Review or Warn, 3 an error or a case that was not scored. The report goes to
    standard output or to a file, everything else to standard error.

    Example: touchstone score safe_v0 batches/ --format html --output report.html
    """
    from touchstone.ops.batch.cases import Wanted
    from touchstone.ops.batch.run import Run
    from touchstone.ops.batch.sources import find_sources
    from touchstone.ops.cli.common.scoring import compared, earlier_report, end_with, judged, paths_of, run_files, tell_left_out, tell_problems, write_in
    from touchstone.ops.reports.writing import check_output
    from touchstone.ops.suites import suite_settings_for_files
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.registry import load_suite
    from touchstone.scorers.reporting import Gate

    with one_line_errors():
        loaded = load_suite(suite)
        settings = suite_settings_for_files(loaded, config, {} if quote is None else {"quote": quote})
        check_output(output)
        earlier = earlier_report(loaded, against, max_drop)
        left_out: list[Path] = []
        reads = loaded.read is not None
        sources = list(find_sources(paths_of(files), any_file=reads, hint="name the files", missing_is_error=not reads, left_out=left_out))
        tell_left_out(left_out)
        is_unnamed = not any("batch_id" in model.model_fields for model in loaded.cases.values())
        run = Run(
            loaded,
            settings,
            jobs,
            asked={"concern_id": concern, "batch_id": batch},
            admit=Wanted(concern, batch, strict=is_unnamed),
        )
        report, _ = run_files(run, lambda: iter(sources), "cases scored")
        if not len(run.entries):
            chosen = concern is not None or batch != "*"
            raise ConfigError(
                f"no case to score: the files hold none{' of that concern and batch; check --concern and --batch' if chosen else '; check the paths'}"
            )
        comparison = compared(loaded, report, earlier)
        verdict = judged(loaded, report, Gate(min_pass_rate, allow_unscored=allow_unscored, fail_on=fail_on.value if fail_on else None), comparison, max_drop)
        write_in(loaded, report, [(format.value, output)], verdict, verbose=verbose, comparison=comparison)
    tell_problems(run, [(format.value, output)])
    end_with(loaded, verdict)
