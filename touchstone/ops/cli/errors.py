"""`touchstone errors`: notes of reviewers → kinds of failure, counted."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.options import Format
from touchstone.ops.cli.common.shared import ConfigOption, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import StoreOption, store_errors

if TYPE_CHECKING:
    from touchstone.ops.reviews.annotations import Annotations
    from touchstone.scorers.calibration.failure_coding import Categories

errors = typer.Typer(help="Error analysis: group the notes of reviewers into kinds of failure, and count them.", no_args_is_help=True)
app.add_typer(errors, name="errors")

FileArgument = Annotated[
    Path | None, typer.Argument(metavar="[ANNOTATIONS]", help="A file such as eval-results/annotations.json. Default: the store.", show_default=False)
]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="File to write. Default: standard output.", show_default=False)]


class Groupers(StrEnum):
    """What can group notes."""

    auto = "auto"
    judge = "judge"
    embeddings = "embeddings"
    words = "words"


CategoriesOption = Annotated[Path | None, typer.Option("--categories", help="A file of categories: says what each is a failure of.", show_default=False)]
CyclesOption = Annotated[Path | None, typer.Option("--cycles", help="File of cycles. Default: eval-results/cycles.jsonl.", show_default=False)]


@contextmanager
def opened(file: Path | None, store: str | None, config: Path | None) -> "Iterator[Annotations]":
    """The annotations of a file, or of the store; errors as one line and exit 3."""
    from touchstone.ops.reviews.annotations import FileAnnotations, StoreAnnotations
    from touchstone.ops.store.results import ResultStore

    settings = settings_from(config, store__url=store)
    with one_line_errors(), store_errors():
        if file is not None:
            yield FileAnnotations(file)
            return
        results = ResultStore.open(settings.store.url.get_secret_value())
        try:
            yield StoreAnnotations(results)
        finally:
            results.close()


@errors.command()
def export(file: FileArgument = None, output: OutputOption = None, store: StoreOption = None, config: ConfigOption = None) -> None:
    """Write the failures with their notes, by category, as a file to edit. Notes may be patient data.

    Example: touchstone errors export --output categories.json
    """
    from touchstone.scorers.calibration.failure_coding import exported

    with opened(file, store, config) as annotations:
        _write(exported(annotations.read(), annotations.categories()), output)


@errors.command()
def propose(
    file: FileArgument = None,
    output: OutputOption = None,
    by: Annotated[Groupers, typer.Option(help="What groups the notes; auto: the first of judge, embeddings and words that can be used here.")] = Groupers.auto,
    similarity: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="How alike two groups of notes must be to become one (cosine); not for a judge.", show_default=False)
    ] = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Group the notes that have no category yet: by a language model, or by their meaning. Nothing is coded: edit the file, then give it to `errors code`.

    With a judge, the notes are sent to its server; embeddings and words stay on this machine.

    Example: touchstone errors propose --output categories.json
    """
    from touchstone.ops.reviews.grouping import grouping_for
    from touchstone.ops.reviews.proposing import propose as proposed

    with opened(file, store, config) as annotations:
        grouped = grouping_for(by.value, similarity, lambda line: typer.echo(line, err=True))
        made = proposed(annotations.read(), grouped, annotations.categories())
        for line in made.lines:
            typer.echo(line, err=True)
        _write(made.categories, output)


@errors.command()
def code(
    coding: Annotated[
        Path | None, typer.Argument(metavar="[CATEGORIES]", help="A file of categories, as propose and export write it.", show_default=False)
    ] = None,
    annotated: Annotated[Path | None, typer.Option("--annotations", help="A file of annotations. Default: the store.", show_default=False)] = None,
    accept: Annotated[list[str] | None, typer.Option(help="Code only this category of the file; repeatable.", show_default=False)] = None,
    rename: Annotated[list[str] | None, typer.Option(help="OLD=NEW: rename a category; two with one new name are merged.", show_default=False)] = None,
    split: Annotated[
        str | None, typer.Option(help="OLD=NEW: move the traces of --trace from a category to another, which may be new.", show_default=False)
    ] = None,
    trace: Annotated[list[str] | None, typer.Option(help="A trace that --split moves; repeatable.", show_default=False)] = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Write failure modes into annotations, as a new review pass. Earlier codings stay.

    Example: touchstone errors code categories.json
    """
    from touchstone.ops.reviews.coding import read_categories
    from touchstone.scorers.calibration import failure_coding as codings

    with opened(annotated, store, config) as annotations:
        if sum((coding is not None, bool(rename), split is not None)) != 1:
            raise _config_error("give one of a file of categories, --rename OLD=NEW, and --split OLD=NEW with --trace")
        if (split is None) == bool(trace):
            raise _config_error("--split needs --trace, and --trace needs --split")
        if coding is None and accept:
            raise _config_error("--accept needs a file of categories")
        records, now = annotations.read(), datetime.now(UTC)
        if coding is not None:
            file = read_categories(coding)
            added = codings.coded(records, file, now, accept or ())
            annotations.describe([one for one in file.categories if not accept or one.name in accept], now)
        elif split is not None:
            ((old, new),) = _names([split]).items()
            added = codings.split(records, old, new, trace or (), now)
        else:
            added = codings.renamed(records, _names(rename or []), now)
        annotations.append(added)
    passes = f", review pass {added[0].review_pass}" if added else ""
    typer.echo(f"{len(added)} annotations coded in {annotations.place}{passes}.")


@errors.command()
def report(
    file: FileArgument = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="console, markdown, html or json.")] = Format.console,
    output: OutputOption = None,
    categories: CategoriesOption = None,
    queue: Annotated[str | None, typer.Option(help="Only annotations that were written in this queue.", show_default=False)] = None,
    cycles: CyclesOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Report how frequent each kind of failure is, and whether reviewing more would find new ones.

    Example: touchstone errors report -f markdown -o docs/ERROR_ANALYSIS.md
    """
    from touchstone.ops.cli.common.terminal import has_colour, width_of
    from touchstone.ops.reports.writing import stoppable, write_report
    from touchstone.ops.reviews.coding import read_categories
    from touchstone.ops.reviews.cycles import CYCLES_FILE, read_cycles
    from touchstone.ops.reviews.error_report import error_pieces, error_view
    from touchstone.scorers.calibration.failure_coding import Categories
    from touchstone.scorers.reporting import LayoutOptions, Verdict

    if format is Format.junit:
        raise typer.BadParameter("an error analysis has no JUnit form", param_hint="--format")
    with opened(file, store, config) as annotations, stoppable():
        known = read_categories(categories) if categories is not None else Categories(categories=annotations.categories())
        records = [one for one in annotations.read() if queue in {None, one.queue}]
        if queue is not None and not records:
            raise _config_error(f"--queue {queue}: no annotation was written in it; check its name with touchstone queues list")
        place = annotations.place if queue is None else f"{annotations.place}, queue {queue}"
        view = error_view(records, known, datetime.now(UTC), place, read_cycles(cycles or CYCLES_FILE))
        options = LayoutOptions(Verdict("REPORT", view.counts, 0), colour=has_colour(output), width=width_of(output))
        write_report(error_pieces(view, format.value, options), output)


def _names(pairs: list[str]) -> dict[str, str]:
    import re

    names = dict(pair.partition("=")[::2] for pair in pairs)
    for old, new in names.items():
        if not old or not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", new):
            raise _config_error(f"{old}={new}: write OLD=NEW, the new name in lower case with underscores")
    return names


def _config_error(message: str) -> Exception:
    from touchstone.scorers.base import ConfigError

    return ConfigError(message)


def _write(categories: "Categories", output: Path | None) -> None:
    import json

    from touchstone.ops.reports.files import write_whole

    document: dict[str, Any] = categories.model_dump(mode="json")
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    if output is None:
        typer.echo(text, nl=False)
        return
    # Notes are patient data.
    write_whole(output, text, private=True)
    typer.echo(f"wrote {output}: {len(categories.categories)} categories, {len(categories.uncoded)} failures without one", err=True)
