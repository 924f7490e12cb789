"""`touchstone annotations`: what people say of cases, between files and the store."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.archived import ArchiveOption, archive_errors
from touchstone.ops.cli.common.shared import EXIT_ERROR, ConfigOption, fail, one_line, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import StoreOption, store_errors

if TYPE_CHECKING:
    from touchstone.ops.store.results import ResultStore
    from touchstone.schemas.settings.house import Settings

annotations = typer.Typer(help="Annotations of reviewers: from files into the store, and from the store into files.", no_args_is_help=True)
app.add_typer(annotations, name="annotations")

DataOption = Annotated[
    Path | None, typer.Option("--data", help="Folder of a viewer: its store and archive, instead of those of the settings.", show_default=False)
]
#: Problems that are printed; the rest is counted.
SHOWN_MAX = 20


@contextmanager
def _opened(data: Path | None, store: str | None, archive: str | None, config: Path | None) -> "Iterator[tuple[ResultStore, Settings]]":
    """The store of the settings or of a viewer's folder; errors as one line and exit 3."""
    from touchstone.ops.local.data_folder import addresses_in
    from touchstone.ops.store.results import ResultStore

    if data is not None:
        if store is not None or archive is not None:
            fail("annotations: --data names a store and an archive; leave --store and --archive out")
        if not data.is_dir():
            fail(f"{data}: no such folder; touchstone viewer makes it")
        store, archive = addresses_in(data)
    settings = settings_from(config, store__url=store, archive__url=archive)
    with one_line_errors(), store_errors(), archive_errors():
        results = ResultStore.open(settings.store.url.get_secret_value())
        try:
            yield results, settings
        finally:
            results.close()


@annotations.command(name="import")
def import_(
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="annotations.json, a trace with annotations inside, or a folder of these.")],
    data: DataOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Write annotations of files into the store. What is there already is not written again.

    Exit codes: 0 all are in the store, 3 some could not be read, or are of a trace that the store does not have.

    Example: touchstone annotations import eval-results/annotations.json
    """
    from touchstone.ops.reviews.exchange import read_annotations
    from touchstone.ops.store.annotation_log import add_records
    from touchstone.scorers.reporting.words import counted

    with _opened(data, store, None, config) as (results, _):
        read = read_annotations(path)
        found = add_records(results.engine, read.records, datetime.now(UTC))
    unknown = [f"{name}: the store has no such trace; open it with touchstone viewer, or let a projector read its results" for name in found.unknown]
    problems = [*read.problems, *unknown]
    for line in problems[:SHOWN_MAX]:
        typer.echo(one_line(line), err=True)
    if len(problems) > SHOWN_MAX:
        typer.echo(one_line(f"and {len(problems) - SHOWN_MAX:,} more"), err=True)
    older = f", {found.older:,} older than what their reviewer says in the store" if found.older else ""
    typer.echo(f"{counted(found.added, 'annotation')} added, {found.known:,} there already{older}.")
    if problems:
        raise typer.Exit(EXIT_ERROR)


@annotations.command()
def export(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File of the array. Default: standard output.", show_default=False)] = None,
    into_traces: Annotated[
        Path | None, typer.Option("--into-traces", metavar="DIR", help="Write copies of the traces with their annotations inside instead.", show_default=False)
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="All that was ever written, not only what each reviewer says now.")] = False,
    data: DataOption = None,
    store: StoreOption = None,
    archive: ArchiveOption = None,
    config: ConfigOption = None,
) -> None:
    """Write the store's annotations as the specification's array. Their notes may be patient data.

    A file that has annotations which the store lacks is not replaced. Traces are never changed: `--into-traces` writes copies of those that
    have annotations.

    Example: touchstone annotations export -o eval-results/annotations.json
    """
    from touchstone.ops.reviews.exchange import export_array, export_into_traces
    from touchstone.ops.store.archive.archive import open_archive
    from touchstone.ops.store.cases import CaseIndex
    from touchstone.scorers.reporting.words import counted

    if into_traces is not None and (output is not None or history):
        fail("annotations: --into-traces writes traces; leave --output and --history out")
    with _opened(data, store, archive, config) as (results, settings):
        if into_traces is not None:
            count, absent = export_into_traces(open_archive(settings.archive, CaseIndex(results.engine)), into_traces)
            for name in absent:
                typer.echo(one_line(f"{name}: the archive does not have this trace, so there is no copy of it"), err=True)
            typer.echo(f"{counted(count, 'trace')} written to {into_traces}.", err=True)
            return
        written, count = export_array(results, output, history=history)
    if output is None:
        typer.echo(written.decode(), nl=False)
    else:
        typer.echo(f"{counted(count, 'annotation')} written to {output}.", err=True)
