"""`touchstone errors to-cases`: failures that people agree on → cases of evaluation runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchstone.ops.cli.common.shared import ConfigOption, settings_from
from touchstone.ops.cli.common.stored import StoreOption
from touchstone.ops.cli.errors import CyclesOption, FileArgument, errors, opened

if TYPE_CHECKING:
    from touchstone.ops.reviews.annotations import Annotations
    from touchstone.ops.reviews.prompts_of_traces import Prompts
    from touchstone.ops.reviews.to_cases import Made


@errors.command("to-cases")
def to_cases(
    file: FileArgument = None,
    traces: Annotated[
        Path | None, typer.Option(help="Trace file, or a directory of them: where the prompts are. Default: the archive.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File of cases to add to. Default: eval-data/regressions.json.", show_default=False)
    ] = None,
    category: Annotated[list[str] | None, typer.Option(help="Only failures of this category; repeatable.", show_default=False)] = None,
    check: Annotated[
        list[str] | None, typer.Option(help="CATEGORY=MODE: the failure mode that finds it, where it has another name; repeatable.", show_default=False)
    ] = None,
    cycles: CyclesOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Make cases of evaluation runs from failures that were settled, or that nobody passed, and count the cycle. The same again adds nothing.

    The file holds prompts, which may be patient data; only its owner can read it. Run it: touchstone eval --cases FILE.

    Example: touchstone errors to-cases --output eval-data/regressions.json
    """
    from touchstone.ops.evaluation.regressions import CASES_FILE
    from touchstone.ops.reviews.cycles import CYCLES_FILE
    from touchstone.ops.reviews.to_cases import Wanted
    from touchstone.ops.reviews.to_cases import to_cases as made_of
    from touchstone.scorers.base import ConfigError

    place = output or CASES_FILE
    with opened(file, store, config) as annotations:
        if file is not None and traces is None:
            raise ConfigError("a file of annotations has no prompts: name the traces with --traces")
        wanted = Wanted(place, cycles or CYCLES_FILE, frozenset(category or ()), _checks(check or []))
        made = made_of(annotations.read(), wanted, lambda names: _prompts(names, traces, annotations, config, store), datetime.now(UTC))
    _tell(made, place)


def _checks(pairs: list[str]) -> dict[str, str]:
    from touchstone.scorers.base import ConfigError

    checks = dict(pair.partition("=")[::2] for pair in pairs)
    if not all(name and mode for name, mode in checks.items()):
        raise ConfigError("--check: write CATEGORY=MODE, such as no_hba1c=missing_key_lab")
    return checks


def _prompts(names: frozenset[str], traces: Path | None, annotations: "Annotations", config: Path | None, store: str | None) -> "Prompts":
    """The prompts of traces, from files or from the archive. Raises `ConfigError`."""
    from touchstone.ops.reviews.annotations import StoreAnnotations
    from touchstone.ops.reviews.prompts_of_traces import prompts_in_archive, prompts_in_files
    from touchstone.ops.store.archive.archive import open_archive
    from touchstone.ops.store.archive.encryption import Undecipherable
    from touchstone.ops.store.archive.objects import ArchiveAway, Missing, NoArchive, TooLarge
    from touchstone.scorers.base import ConfigError

    if traces is not None or not names:
        return prompts_in_files(traces, names) if traces is not None else {}
    assert isinstance(annotations, StoreAnnotations)
    archive = open_archive(settings_from(config, store__url=store).archive, annotations.index)

    def read(name: str) -> bytes:
        try:
            return archive.document(annotations.event_of(name))
        except (Missing, TooLarge):
            return b"{}"

    try:
        return prompts_in_archive((name, lambda name=name: read(name)) for name in sorted(names))  # type: ignore[misc]  # a default argument
    except (NoArchive, ArchiveAway, Undecipherable) as error:
        raise ConfigError(f"the archive cannot be read ({type(error).__name__}); check archive.url, or name the traces with --traces") from None


def _tell(made: "Made", place: Path) -> None:
    typer.echo(f"{place}: {made.total} cases, {made.added} of them new, {made.changed} coded anew.")
    for reason, count in sorted(made.left_out.items()):
        typer.echo(f"{count} failed traces left out: {reason}.")
    if made.cycle is not None:
        typer.echo(f"Cycle {made.cycle.cycle} counted.")
