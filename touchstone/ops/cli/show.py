"""`touchstone show`: reads a case beside its result, in the terminal."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.archived import ArchiveOption
from touchstone.ops.cli.common.shared import BootstrapOption, fail, one_line, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import StoreOption, store_errors

if TYPE_CHECKING:
    from touchstone.ops.batch.sources import Source
    from touchstone.ops.batch.worst import WorstCases
    from touchstone.schemas.reading import CaseReading
    from touchstone.scorers.suite import Suite

CASES_MAX = 100
NAMES_CHARS_MAX = 400


@app.command()
def show(
    target: Annotated[
        str, typer.Argument(metavar="FILE|ID", help="A file of cases, a folder, or - for standard input; or the id of an event, trace or result.")
    ],
    suite: Annotated[
        str | None, typer.Option("--suite", "-s", help="Suite of the result. Default: the first that reads the file; of an id, the newest.", show_default=False)
    ] = None,
    case: Annotated[str | None, typer.Option("--case", help="Name, case id or event id of the case to show. Default: the worst.", show_default=False)] = None,
    cases: Annotated[int, typer.Option("--cases", min=1, max=CASES_MAX, help="How many cases are shown, the worst first.")] = 1,
    everything: Annotated[bool, typer.Option("--all", help="Unfold every section and show every line.")] = False,
    withhold: Annotated[bool, typer.Option("--withhold", help="Show marks and states, and blocks instead of the case's texts.")] = False,
    store: StoreOption = None,
    archive: ArchiveOption = None,
    bootstrap: BootstrapOption = None,
    config: Annotated[
        Path | None, typer.Option(help="The suite's settings file. Default: the suite's own file name, in the working directory.", show_default=False)
    ] = None,
) -> None:
    """Show how a case reads: what was expected, found, missing or wrong, and where in its text.

    A file's cases are scored here and the worst one is shown. Of a self-test's JSON report, the worst case of that run is shown.
    An id is looked up in the result store, and its event in the archive, else on its topic.
    The texts of the case are printed: they may be patient data.

    Exit codes: 0 shown, 3 an error or no such case.

    Example: touchstone show batches/I25_batch_1.json --case I25-BATCH1-001
    """
    from touchstone.ops.batch.sources import CASE_SUFFIXES, PACKED_SUFFIXES, find_sources
    from touchstone.ops.batch.worst import worst_of
    from touchstone.ops.cli.common.scoring import paths_of
    from touchstone.ops.reports.writing import stoppable
    from touchstone.ops.selftest.shown import report_readings
    from touchstone.ops.settings import load_settings

    if target != "-" and not _is_path(target):
        is_like_a_path = "/" in target or Path(target).suffix in {*CASE_SUFFIXES, *PACKED_SUFFIXES, ".xml"}
        if case is not None or (is_like_a_path and not _is_stored(target, store, bootstrap)):
            fail(f"{target}: no such file or folder; name a file of cases, or the id of an event")
        _show_kept(target, suite, (store, archive, bootstrap), everything=everything, withhold=withhold)
        return
    if suite is None and (reported := report_readings(Path(target))) is not None:
        _show_reported(target, reported, case, cases, everything=everything, withhold=withhold)
        return
    with one_line_errors(), stoppable():
        sources = list(find_sources(paths_of([target]), any_file=True, hint="name the file"))
        loaded = _suite_of(suite, sources, target)
        settings = _quoting(loaded, config)
        found = worst_of(loaded, settings, sources, most=cases, named=case, bounds=load_settings().files)
    if not found.cases:
        first = f"; {found.problems[0].where}: {found.problems[0].what}" if found.problems else ""
        fail(f"{target}: holds no case {f'{case!r} ' if case is not None else ''}that {loaded.name} scores{first}")
    for problem in found.problems:
        typer.echo(one_line(f"{problem.where}: {problem.what}"), err=True)
    _print(loaded, found, everything=everything, withhold=withhold)


def _is_path(target: str) -> bool:
    """True if there is such a file or folder. What is too long for a path is an id."""
    try:
        return Path(target).exists()
    except (OSError, ValueError):
        return False


def _is_stored(identifier: str, store: str | None, bootstrap: str | None) -> bool:
    """True if the store knows an id that looks like a path; False also without a store, so that a missing file is called so."""
    from touchstone.ops.web.api.api import open_sources
    from touchstone.scorers.base import ConfigError
    from touchstone.streams.account.store_port import StoreUnavailable

    settings = settings_from(None, bootstrap, store__url=store)
    try:
        return open_sources(settings).history.case(identifier) is not None
    except (ConfigError, StoreUnavailable):
        return False


def _suite_of(name: str | None, sources: "list[Source]", target: str) -> "Suite":
    """The suite that is named, else the first whose cases the file has. Raises `ConfigError` that says what each suite makes of the file."""
    from touchstone.ops.batch.cases import BatchCase, cases_of
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.registry import load_suite, usable_suites
    from touchstone.scorers.suite_settings import suite_settings

    if name is not None:
        return load_suite(name)
    if sources and sources[0].is_standard_input:
        fail("show: name the suite with --suite; standard input can be read only once")
    if all(source.path.is_file() and not source.size() for source in sources):
        raise ConfigError(f"{target}: is empty; name a file that holds a case")
    why: dict[str, list[str]] = {}
    for suite in usable_suites().values():
        try:
            settings = suite_settings(suite)
        except ConfigError:
            continue
        said = ""
        for source in sources:
            first = next(iter(cases_of(source, suite, settings)), None)
            if isinstance(first, BatchCase):
                return suite
            said = said or (first.what if first is not None else "")
        why.setdefault(said or "holds no case", []).append(suite.name)
    told = "; ".join(f"{', '.join(names)}: {what}" for what, names in why.items())
    raise ConfigError(f"{target}: no installed suite reads it ({told}); name a suite with --suite, or ask: touchstone explain FILE")


def _quoting(suite: "Suite", config: Path | None) -> Any:
    """The suite's settings; findings may quote, because the case itself is shown."""
    from touchstone.scorers.suite_settings import suite_settings_for_files

    settings = suite_settings_for_files(suite, config)
    return suite_settings_for_files(suite, config, {"quote": True}) if isinstance(getattr(settings, "quote", None), bool) else settings


def _print(suite: "Suite", found: "WorstCases", *, everything: bool, withhold: bool) -> None:
    """The readings, then how many other cases there are."""
    from touchstone.scorers.reporting.words import counted

    for number, reading in enumerate(found.readings()):
        _print_reading(reading, number, everything=everything, withhold=withhold)
    rest = found.total - len(found.cases)
    if rest:
        others = f"; others that did not pass: {', '.join(found.names)}" if found.names else ""
        typer.echo(
            one_line(f"{counted(len(found.cases), 'case')} of {found.total} shown by {suite.name}, the worst first{others}; --case NAME chooses"), err=True
        )


def _show_reported(target: str, readings: "list[CaseReading]", named: str | None, most: int, *, everything: bool, withhold: bool) -> None:
    """The worst cases of a report that holds its cases with their verdicts; `named`: those of one name."""
    chosen = [one for one in readings if named is None or named in {one.name, one.name.partition(" (")[0]}]
    if not chosen:
        fail(f"{target}: holds no case {f'{named!r} ' if named is not None else ''}of this self-test; its report lists them")
    for number, one in enumerate(chosen[:most]):
        _print_reading(one, number, everything=everything, withhold=withhold)
    if rest := len(chosen) - min(most, len(chosen)):
        names = ", ".join(one.name for one in chosen[most:] if one.label != "Pass")
        others = f"; others that did not pass: {names[:NAMES_CHARS_MAX]}" if names else ""
        typer.echo(one_line(f"{len(chosen) - rest} of {len(chosen)} cases shown, the worst first{others}; --case NAME chooses"), err=True)


def _print_reading(reading: "CaseReading", number: int, *, everything: bool, withhold: bool) -> None:
    """One reading. `number`: of those before it."""
    from touchstone.ops.cli.common.terminal import has_colour, width_of
    from touchstone.ops.reports.console_reading import Drawing, reading_pieces
    from touchstone.ops.reports.writing import write_report

    drawing = Drawing(colour=has_colour(None), width=width_of(None), everything=everything)
    shown = reading.without_text() if withhold else reading
    write_report([*(["\n"] if number else []), *reading_pieces(shown, drawing)], None)


def _show_kept(identifier: str, suite: str | None, places: tuple[str | None, str | None, str | None], *, everything: bool, withhold: bool) -> None:
    """The case with an id. `places`: store, archive and brokers, where they are named."""
    from touchstone.ops.cli.common.kept_case import kept_case
    from touchstone.scorers.reporting.words import counted
    from touchstone.scorers.suite_settings import reading_here

    store, archive, bootstrap = places
    settings = settings_from(None, bootstrap, store__url=store, archive__url=archive)
    with one_line_errors(), store_errors():
        found = kept_case(identifier, settings, suite, bootstrap)
    _print_reading(reading_here(found.suite, found.case, found.result), 0, everything=everything, withhold=withhold)
    others = f"{counted(found.others, 'other result')} of this event; --suite chooses" if found.others else ""
    for line in filter(None, (found.why, others)):
        typer.echo(one_line(line), err=True)
