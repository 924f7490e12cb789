"""An evaluation run as a command: progress, report, hint after a stop, exit code."""

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from touchstone.ops.cli.common.shared import fail, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from touchstone.ops.evaluation.items import Field
    from touchstone.ops.evaluation.run import Plan
    from touchstone.ops.evaluation.settings import SystemSettings
    from touchstone.schemas.reports.evaluation import EvaluatedCase
    from touchstone.scorers.reporting import Gate
    from touchstone.scorers.scoring import Scoring


def run_evaluation(plan: "Plan", settings: "SystemSettings", scorings: "Sequence[Scoring]", field: "Field", gate: "Gate", *, verbose: bool) -> NoReturn:
    """Run the tests and end with the verdict's exit code. Raises `ConfigError`."""
    from touchstone.ops.cli.common.progress import Progress
    from touchstone.ops.cli.common.terminal import has_colour
    from touchstone.ops.evaluation.batch import verdict_on
    from touchstone.ops.evaluation.layout import console_pieces
    from touchstone.ops.evaluation.run import evaluate, open_state, open_system, report_path
    from touchstone.ops.reports.writing import Stopped, stoppable, write_report
    from touchstone.scorers.reporting import LayoutOptions, counted, visible

    system = open_system(settings)
    state, goes_on = open_state(plan, system, scorings)
    if plan.resume and not goes_on:
        typer.echo(one_line(f"no unfinished run of these tests in {plan.output}: a new one begins"), err=True)
    done = 0

    with Progress("tests evaluated", total=len(plan.items), every=1, lines=True) as progress:

        def on_case(_case: "EvaluatedCase", _earlier: Any) -> None:
            nonlocal done
            done += 1
            progress.step(done)

        try:
            with stoppable():
                report = evaluate(plan, system, scorings, field, state, on_case)
        except Stopped as stopped:
            fail(f"stopped: {done} of {len(plan.items)} tests are kept; the same command with --resume goes on", stopped.exit_code)
    verdict = verdict_on(report.summary, gate)
    # No width: a terminal breaks lines itself, and what is copied from it stays whole.
    write_report(console_pieces(report, LayoutOptions(verdict, verbose=verbose, colour=has_colour(None)), field.parts), None)
    typer.echo(visible(f"wrote {report_path(plan.output, state)}"), err=True)
    if plan.save_traces and sys.stderr is not None:
        typer.echo(visible(f"wrote {counted(sum(case.trace_file is not None for case in report.cases), 'trace')} below {plan.output}"), err=True)
    if any(case.failures for case in report.cases):
        typer.echo(one_line("the same command with --resume asks again for what failed"), err=True)
    typer.echo(f"Evaluation {verdict}", err=True)
    raise typer.Exit(verdict.exit_code)
