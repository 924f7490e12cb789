"""`touchstone archive`: keeps cases as objects, and removes, finds and counts them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.archived import ArchiveOption, archive_errors
from touchstone.ops.cli.common.services import run_service
from touchstone.ops.cli.common.shared import BootstrapOption, ConfigOption, JsonOption, fail, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import StoreOption, store_errors

if TYPE_CHECKING:
    from touchstone.ops.store.archive.archive import Archive
    from touchstone.ops.store.results import ResultStore
    from touchstone.streams.account.archiver import Archiver
    from touchstone.streams.telemetry.metrics import CollectorRegistry

archive = typer.Typer(help="Keep cases as objects; show, search, remove and forget what is kept.", invoke_without_command=True)
app.add_typer(archive, name="archive")


@archive.callback()
def worker(
    context: typer.Context,
    store: StoreOption = None,
    url: ArchiveOption = None,
    http_port: Annotated[int | None, typer.Option(help="Port of /metrics, /healthz and /readyz (default: a free one).", show_default=False)] = None,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
) -> None:
    """Keep the cases that archive.policy names. Several archivers share the work. SIGTERM finishes what is being written.

    Example: touchstone archive --archive s3://cases/production --store sqlite:///results.db
    """
    if context.invoked_subcommand is not None:
        return
    settings = settings_from(config, bootstrap, store__url=store, archive__url=url, http__port=http_port)

    @contextmanager
    def made(results: "ResultStore", registry: "CollectorRegistry") -> Iterator["Archiver"]:
        from touchstone.ops.store.archive.archive import open_archive
        from touchstone.ops.store.archive.policy import Policy
        from touchstone.ops.store.archive.writer import ArchiveWriter
        from touchstone.ops.store.cases import CaseIndex
        from touchstone.streams.account.archiver import Archiver
        from touchstone.streams.telemetry.service_counts import ArchiverCounts

        handed_on = frozenset({settings.topics.judge, settings.topics.conformance})
        writer = ArchiveWriter(open_archive(settings.archive, CaseIndex(results.engine)), Policy.of(settings.archive.policy), handed_on)
        try:
            yield Archiver(settings, writer, ArchiverCounts(registry))
        finally:
            writer.close()

    with one_line_errors():
        run_service(settings, "archiver", made)


@contextmanager
def opened(store: str | None, url: str | None, config: Path | None, *, create: bool = False) -> Iterator["Archive"]:
    """The archive of the settings, for a command that ends soon; its errors as one line and exit 3. `create`: make a result store that is missing."""
    from touchstone.ops.store.archive.archive import open_archive
    from touchstone.ops.store.cases import CaseIndex
    from touchstone.ops.store.results import ResultStore

    settings = settings_from(config, None, store__url=store, archive__url=url)
    with one_line_errors(), store_errors(), archive_errors():
        results = ResultStore.open(settings.store.url.get_secret_value(), create=create)
        try:
            yield open_archive(settings.archive, CaseIndex(results.engine))
        finally:
            results.close()


@archive.command()
def status(store: StoreOption = None, url: ArchiveOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show how many cases the archive has, and how many could not be kept.

    Example: touchstone archive status --store sqlite:///results.db
    """
    import json

    with opened(store, url, config) as kept:
        counts = kept.index.counts()
    if as_json:
        typer.echo(json.dumps({state: {"cases": count, "bytes": size} for state, (count, size) in counts.items()}, sort_keys=True))
        return
    for state, (count, size) in sorted(counts.items()):
        typer.echo(f"{state:<15} {count:>12,} cases {size:>18,} bytes")
    if not counts:
        typer.echo("The archive has no cases yet; `touchstone archive` keeps those that archive.policy names.")


@archive.command()
def reindex(store: StoreOption = None, url: ArchiveOption = None, config: ConfigOption = None) -> None:
    """Write the index anew from the objects: rows of cases, and results that the store has lost. What is there stays.

    A run that was stopped is continued by the same command.

    Example: touchstone archive reindex --store sqlite:///results.db
    """
    from touchstone.ops.cli.common.progress import Progress

    with opened(store, url, config, create=True) as kept, Progress("objects", every=1) as progress:
        counts = kept.reindex(progress.step)
    typer.echo(f"{counts['cases']:,} cases in the index, {counts['results']:,} results restored, {counts['unreadable']:,} objects could not be read.")


@archive.command()
def retention(
    older_than: Annotated[float | None, typer.Option("--older-than", min=0, help="Remove cases older than so many days.", show_default=False)] = None,
    keep_newest: Annotated[int | None, typer.Option("--keep-newest", min=0, help="Keep only so many, the newest.", show_default=False)] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Remove them. Without it, they are only counted.")] = False,
    store: StoreOption = None,
    url: ArchiveOption = None,
    config: ConfigOption = None,
) -> None:
    """Remove cases by age or number; results, labels and annotations stay in the store. Only counts, unless --delete is given.

    Example: touchstone archive retention --older-than 90 --delete
    """
    settings_from(config)  # a mistake in the settings is said first, as by every command
    if older_than is None and keep_newest is None:
        fail("archive retention: name --older-than DAYS or --keep-newest NUMBER")
    with one_line_errors():
        before = _days_ago(older_than) if older_than is not None else None
    with opened(store, url, config) as kept:
        count, size = kept.retention(before=before, keep_newest=keep_newest, dry_run=not delete)
    typer.echo(f"{count:,} cases ({size:,} bytes) {'were removed' if delete else 'would be removed; --delete removes them'}.")


def _days_ago(days: float) -> datetime:
    from touchstone.scorers.base import ConfigError

    try:
        return datetime.now(UTC) - timedelta(days=days)
    except OverflowError:
        raise ConfigError("--older-than: that is before the first day of the calendar") from None


@archive.command()
def forget(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="Event id or trace id.")],
    yes: Annotated[bool, typer.Option("--yes", help="Remove it. Without it, the places are only named.")] = False,
    store: StoreOption = None,
    url: ArchiveOption = None,
    config: ConfigOption = None,
) -> None:
    """Remove a case from objects and store, and name every place. A trace is removed with all events that carry its id.

    Results stay without details and messages, because accounts count them. An event on a topic stays until the topic's retention.

    Example: touchstone archive forget eval-2026-02-04-abc123 --yes
    """
    from touchstone.scorers.reporting.words import visible

    with opened(store, url, config) as kept:
        places = kept.forget(identifier, dry_run=not yes)
    for place in places:
        what = "stays, until its retention" if place.kind == "topic" else "removed" if place.is_removed else "would be removed"
        typer.echo(f"{place.kind:<12} {visible(place.name)}  {what}")
    if not places:
        fail("archive forget: nothing is known of this id; give an event id or a trace id")
    if not yes:
        typer.echo("Nothing was removed; --yes removes it.")
