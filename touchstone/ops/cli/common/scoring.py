"""Shared steps of the commands that score files: run, report, write, print the verdict, end with its exit code."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from touchstone.ops.cli.common.shared import fail, one_line

if TYPE_CHECKING:
    from touchstone.ops.batch.run import Run
    from touchstone.ops.batch.sources import Source
    from touchstone.ops.cli.common.options import AgainstOptions
    from touchstone.ops.reports.comparing import Reported
    from touchstone.schemas.reading import CaseReading
    from touchstone.schemas.reports.changes import Comparison, Trend
    from touchstone.scorers.reporting import Gate, RunFacts, Verdict
    from touchstone.scorers.suite import Suite

#: Each format of a report with its file; None and `-` are standard output.
Places = Sequence[tuple[str, Path | None]]
#: Problems that are printed on standard error; all of them are in the report.
PROBLEMS_SHOWN_MAX = 20
#: Cost of opening and reporting a file, in bytes that could be scored in the same time.
_BYTES_PER_FILE = 8_192
#: From this size on, files are scored in several processes: about three seconds of work for one.
_LONG_RUN_BYTES = 16 * 1024**2
_JOBS_MAX = 8


def jobs_for(sources: "Iterable[Source]") -> int:
    """In how many processes some files are scored: one, or for a long run one a core, since each process first loads the tables."""
    from touchstone.scorers.engines.machine import usable_cores

    size = 0
    for source in sources:
        size += source.size() + _BYTES_PER_FILE
        if size >= _LONG_RUN_BYTES:
            return min(usable_cores(), _JOBS_MAX)
    return 1


def run_files(run: "Run", sources: "Callable[[], Iterator[Source]]", what: str, *, places: Places, mixes_concerns: bool = False) -> tuple[Any, "RunFacts"]:
    """Score the sources and report them; a bar on standard error for a run of more than two seconds, if a person is watching.

    `places`: each format of the report with its file; an HTML report that may quote shows how the worst cases read, so these are kept.
    `sources`: may be asked twice, the first time to know how much there is. `mixes_concerns`: several concerns in one report, whatever the suite's own
    report holds; the suite of the facts is then the one that reports. Raises `ConfigError`.
    """
    from itertools import accumulate

    from touchstone.ops.cli.common.progress import Progress
    from touchstone.ops.reports.writing import stoppable
    from touchstone.ops.settings import load_settings
    from touchstone.scorers.reporting.concerns import has_several

    house = load_settings()
    run.files, run.score_timeout_s = house.files, house.worker.score_timeout_s
    if shows_readings(places) and getattr(run.settings, "quote", False) is True:
        from touchstone.ops.batch.worst import WorstCases
        from touchstone.ops.reports.html_reading import READINGS_MAX

        run.worst = WorstCases(run.suite, READINGS_MAX, settings=run.settings)
    is_watched = sys.stderr is not None and sys.stderr.isatty()
    # Progress at the end of each file, in bytes: files may differ much in size.
    done = list(accumulate(source.size() + _BYTES_PER_FILE for source in sources())) if is_watched else []
    total = done[-1] if len(done) > 1 else None
    begun = 0
    with Progress(what, total=total, every=1 if run.suite.execution_with(run.settings) != "inline" else 64) as progress:

        def source_begun(number: int) -> None:
            nonlocal begun
            begun = done[number - 2] if len(done) > 1 and 1 < number <= len(done) else 0

        run.on_source = source_begun
        run.on_case = lambda count: progress.step(count, begun if total else None)
        with stoppable():
            facts = run.score(sources())
            suite = run.suite
            if mixes_concerns and not suite.mixes_concerns and has_several(run.entries):
                suite = suite.over_concerns()
                facts = replace(facts, suite=suite)
            with suite_step(suite, "report"):
                return suite.report(run.entries, facts), facts


def shows_readings(places: Places) -> bool:
    """True if one of the formats shows how cases read."""
    return any(form == "html" for form, _ in places)


@contextmanager
def suite_step(suite: "Suite", step: str) -> Iterator[None]:
    """End the command with one line that names the suite if its own code fails. Errors that the user can fix pass through."""
    from touchstone.ops.cli import EXIT_INTERNAL
    from touchstone.ops.reports.writing import Stopped
    from touchstone.scorers.base import ConfigError, Unavailable
    from touchstone.scorers.defects import defect_in, print_traceback_if_asked, where_raised

    try:
        yield
    except (ConfigError, Stopped, Unavailable, OSError, typer.Exit):
        raise
    except Exception as error:  # a defect of the suite, whose message may quote a payload
        if where_raised(error, str(getattr(getattr(suite, step), "__module__", ""))) is None:
            raise  # none of its code took part
        print_traceback_if_asked(error)
        debug = "TOUCHSTONE_DEBUG=1 shows the traceback, which may quote payloads"
        fail(f"suite {suite.name}: {step} failed ({defect_in(getattr(suite, step), error)}); {debug}", EXIT_INTERNAL)


def print_problems(run: "Run", formats: Places) -> None:
    """Print on standard error which cases were not scored and which events were repeated. `formats`: the report's formats and files."""
    from touchstone.ops.cli.common.terminal import is_on_same_terminal

    shown = rest = 0
    for entry in () if any(is_on_same_terminal(*written) for written in formats) else run.entries.problems():
        if entry.kind == "passed_over":
            continue
        if shown < PROBLEMS_SHOWN_MAX:
            shown += 1
            typer.echo(one_line(f"{entry.where}: {entry.what}"), err=True)
        else:
            rest += 1
    if rest:
        typer.echo(one_line(f"and {rest} more; the JSON report lists all"), err=True)
    if run.repeated:
        count, first = len(run.repeated), run.repeated[0]
        typer.echo(one_line(f"{count} repeated event id{'s' if count > 1 else ''}, counted once (first repeat: {first})"), err=True)


def print_left_out(left_out: Sequence[Path]) -> None:
    """Print on standard error how many files in folders were left out because their names are not those of case files."""
    from touchstone.ops.batch.sources import CASE_SUFFIXES, PACKED_SUFFIXES

    if left_out:
        endings = ", ".join((*CASE_SUFFIXES, *PACKED_SUFFIXES))
        files = "1 file in folders is not a case file" if len(left_out) == 1 else f"{len(left_out)} files in folders are not case files"
        typer.echo(one_line(f"{files} ({endings}): not read"), err=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """What a command asks of its report.

    `places`: each format and its file; None and `-` are standard output. `earlier`, `max_drop`: the report to compare with, and the largest drop of the
    pass rate. `only`: statuses of the cases that the console lists; all if empty.
    `readings`: of the worst cases, for a format that shows them; only if the report may quote.
    """

    places: Places
    gate: "Gate | None" = None
    earlier: "Reported | None" = None
    max_drop: float | None = None
    verbose: bool = False
    only: frozenset[str] = frozenset()
    trend: "Trend | None" = None
    readings: "Iterable[CaseReading]" = ()


def write_report_in_formats(suite: "Suite", report: Any, request: ReportRequest) -> "Verdict":
    """Write the report in each format, whole or not at all, and return its verdict. Files are named on standard error."""
    from touchstone.ops.cli.common.terminal import STANDARD_OUTPUT, has_colour, width_of
    from touchstone.ops.reports.layouts import lay_out, shows_changes
    from touchstone.ops.reports.writing import write_report
    from touchstone.scorers.reporting import LayoutOptions, visible

    comparison = _compared(suite, report, request.earlier)
    verdict = _judged(suite, report, request, comparison)
    for form, output in request.places:
        options = LayoutOptions(
            verdict,
            verbose=request.verbose,
            colour=has_colour(output),
            width=width_of(output),
            only=request.only,
            comparison=comparison,
            trend=request.trend,
            readings=request.readings,
        )
        with suite_step(suite, "view"):
            write_report(lay_out(suite, report, form, options), output)
        if output is not None and output != STANDARD_OUTPUT:
            typer.echo(visible(f"wrote {output}"), err=True)
        if comparison is not None and not shows_changes(suite, form):
            from touchstone.ops.reports.changes import headline

            typer.echo(one_line(f"{headline(comparison)} (the suite's {form} report has no place for more)"), err=True)
    return verdict


def _judged(suite: "Suite", report: Any, request: ReportRequest, comparison: "Comparison | None") -> "Verdict":
    """The suite's verdict on its report, with the gates that are asked for."""
    from touchstone.scorers.reporting.gating import with_fail_on
    from touchstone.scorers.reporting.verdict import with_drop

    gate = request.gate
    with suite_step(suite, "verdict"):
        verdict = suite.verdict(report, gate)
    if gate is not None and gate.fail_on is not None:
        with suite_step(suite, "view"):
            verdict = with_fail_on(verdict, gate, suite.view(report))
    return verdict if comparison is None or request.max_drop is None else with_drop(verdict, gate, comparison, request.max_drop)


def _compared(suite: "Suite", report: Any, earlier: "Reported | None") -> "Comparison | None":
    """The report compared with an earlier one, if there is one."""
    if earlier is None:
        return None
    from touchstone.ops.reports.comparing import compare
    from touchstone.ops.reports.earlier import reported

    with suite_step(suite, "view"):
        return compare(suite, earlier, reported(report, suite))


def end_with(suite: "Suite", verdict: "Verdict") -> NoReturn:
    """Print the verdict and end with its exit code, even if the output fails."""
    typer.echo(f"{suite.title or suite.name} {verdict}", err=True)
    raise typer.Exit(verdict.exit_code)


def earlier_report(suite: "Suite", compared: "AgainstOptions") -> "Reported | None":
    """The earlier report that `--against` names, read before anything is scored. Raises `ConfigError`."""
    from touchstone.scorers.base import ConfigError

    if compared.against is None:
        if compared.max_drop is not None:
            raise ConfigError("--max-drop needs an earlier batch; name one with --against")
        return None
    from touchstone.ops.reports.earlier import read_report

    with suite_step(suite, "view" if suite.reported_cases is None else "reported_cases"):
        return read_report(Path(compared.against), suite)


def paths_of(files: Sequence[str]) -> list[Path]:
    """The files as paths. Refuses an empty path before anything is read."""
    from touchstone.scorers.base import ConfigError

    # As a path the empty text would be the working directory.
    if "" in files:
        raise ConfigError("an empty path is given (a variable without a value?); name a file or a directory")
    return [Path(file) for file in files]
