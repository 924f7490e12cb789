"""`touchstone dlq`: list, show, redrive and discard dead letters."""

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.groups import Group
from touchstone.ops.cli.common.shared import EXIT_ERROR, BootstrapOption, ConfigOption, JsonOption, fail, one_line_errors, settings_from, until_read_no_more

if TYPE_CHECKING:
    from touchstone.schemas.settings.house import Settings
    from touchstone.streams.topics.dlq import DeadLetter, Filter, Letterbox, Resolution, Step
    from touchstone.streams.wire.codec import Record

dlq_app = Group(name="dlq", help="Dead letters: list them, show one, send events back, or discard letters.", no_args_is_help=True)
app.add_typer(dlq_app)

CodeOption = Annotated[str | None, typer.Option("--code", help="Only letters with this code.", show_default=False)]
SuiteOption = Annotated[str | None, typer.Option("--suite", help="Only letters of this suite.", show_default=False)]
SinceOption = Annotated[str | None, typer.Option("--since", help="Only letters of the last 15m, 2h, 7d, or since an ISO time.", show_default=False)]
IdsArgument = Annotated[list[str] | None, typer.Argument(metavar="[ID]…", help="Ids of `touchstone dlq list`.", show_default=False)]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print what would be done; send nothing.")]
AllOption = Annotated[bool, typer.Option("--all", help="Every open letter that matches the filters.")]
PAYLOAD_SHOWN_BYTES = 4096


@dlq_app.command("list")
def list_(
    code: CodeOption = None,
    suite: SuiteOption = None,
    since: SinceOption = None,
    every: Annotated[bool, typer.Option("--all", help="List resolved letters too.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
) -> None:
    """List dead letters, one per line: id, code, place, source, suite, size and age. No payload text.

    Letters of a replayed event share a line with a count; resolved ones are hidden.

    Example: touchstone dlq list --code not_json --since 2h
    """
    from touchstone.streams.topics.dlq import counts_by_code

    admitted = _filter(code, suite, since)
    box = _letters(settings_from(config, bootstrap))
    letters = [letter for letter in (box.letters if every else box.open()) if admitted.admits(letter)]
    if as_json:
        typer.echo(json.dumps([_facts(letter) for letter in letters]))
        return
    for row in _table(letters):
        typer.echo(row)
    counts = ", ".join(f"{name} {count}" for name, count in counts_by_code(letters).items())
    resolved = len(box.letters) - len(box.open())
    hidden = "" if every or not resolved else f"; {resolved} resolved (--all shows them)"
    typer.echo(f"{len(letters)} dead letter{'' if len(letters) == 1 else 's'}{': ' + counts if counts else ''}{hidden}", err=True)
    if box.others:
        typer.echo(f"{box.others} records on the topic are not dead letters", err=True)


@dlq_app.command()
def show(
    letter_id: Annotated[str, typer.Argument(metavar="ID", help="Id of `touchstone dlq list`.")],
    payload: Annotated[bool, typer.Option("--payload", help="Also show the event's own key, headers and payload, which may be clinical text.")] = False,
    bytes_max: Annotated[int, typer.Option(min=0, help="Show at most this many payload bytes; 0: all.")] = PAYLOAD_SHOWN_BYTES,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
) -> None:
    """Show one dead letter: why and where it failed, its source, and its headers.

    --payload prints escaped text, or hexadecimal where it is not UTF-8; with --json it is base64.

    Example: touchstone dlq show 0:17 --payload
    """
    from touchstone.ops.cli.common.running import run

    letter, record = run(_one(settings_from(config, bootstrap), letter_id))
    if as_json:
        typer.echo(json.dumps(_facts(letter) | _content(record, payload)))
        return
    for name, value in _facts(letter).items():
        if value not in (None, []):
            typer.echo(f"{name:<20} {_safe(str(value))}")
    from touchstone.streams.topics.dlq import original_headers

    def shown(raw: bytes | None) -> str:
        if raw is None:
            return "none"
        return _escaped(raw, bytes_max) if payload else f"{len(raw)} bytes"

    typer.echo(f"{'key':<20} {shown(record.key)}")
    for name, raw in original_headers(record.headers):
        typer.echo(f"{'header':<20} {_safe(name)}: {shown(raw)}")
    if payload:
        typer.echo(f"{'payload':<20} {shown(record.value)}")
    elif letter.size:
        typer.echo("The event's own key, headers and payload are shown with --payload.", err=True)


@dlq_app.command()
def redrive(
    ids: IdsArgument = None,
    every: AllOption = False,
    code: CodeOption = None,
    suite: SuiteOption = None,
    since: SinceOption = None,
    redrives_max: Annotated[int, typer.Option(min=1, max=1000, help="Refuse an event that was already sent back this many times.")] = 3,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
) -> None:
    """Send events back to their source: the original bytes, key and headers, to the same topic and partition.

    Fix the cause first (a suite's version, a setting), or they become dead letters again. Each step waits for the broker.

    Example: touchstone dlq redrive --code schema_missing --dry-run
    """
    _settle("redriven", ids, every, _filter(code, suite, since), settings_from(config, bootstrap), redrives_max, dry_run, as_json)


@dlq_app.command()
def discard(
    ids: IdsArgument = None,
    every: AllOption = False,
    code: CodeOption = None,
    suite: SuiteOption = None,
    since: SinceOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
) -> None:
    """Discard letters: they stay on the topic, but are no longer listed. The events stay dead in every account.

    Example: touchstone dlq discard 0:17 2:5
    """
    _settle("discarded", ids, every, _filter(code, suite, since), settings_from(config, bootstrap), 1, dry_run, as_json)


def _filter(code: str | None, suite: str | None, since: str | None) -> "Filter":
    """The filters of the command line."""
    from touchstone.ops.cli.common.moments import parse_since
    from touchstone.streams.topics.dlq import Filter

    with one_line_errors():
        return Filter(code, suite, parse_since(since) if since else None)


def _letters(settings: "Settings") -> "Letterbox":
    """Read the whole dead topic."""
    from touchstone.ops.cli.common.running import run
    from touchstone.streams.topics.dlq import read_letters
    from touchstone.streams.topics.log_reader import LogReader

    async def read() -> "Letterbox":
        async with LogReader(settings.kafka, [settings.topics.dead]) as reader:
            return await read_letters(reader)

    return run(read())


async def _one(settings: "Settings", letter_id: str) -> "tuple[DeadLetter, Record]":
    """One letter and its record."""
    from touchstone.scorers.base import ConfigError
    from touchstone.streams.topics.dlq import read_letters
    from touchstone.streams.topics.log_reader import LogReader

    async with LogReader(settings.kafka, [settings.topics.dead]) as reader:
        letter = (await read_letters(reader)).find(letter_id)
        record = await reader.fetch(settings.topics.dead, letter.partition, letter.offset)
    if record is None:
        raise ConfigError(f"dead letter {letter_id} is gone: retention has deleted it")
    return letter, record


def _settle(
    resolution: "Resolution",
    ids: Sequence[str] | None,
    every: bool,
    admitted: "Filter",
    settings: "Settings",
    redrives_max: int,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Redrive or discard the chosen letters, and print each step."""
    from touchstone.ops.cli.common.running import run
    from touchstone.streams.topics.dlq import Filter

    if bool(ids) == (every or admitted != Filter()):
        fail("name letters by id, or choose them with --all, --code, --suite or --since (not both)")
    done: list[dict[str, Any]] = []

    def said(step: "Step") -> None:
        letter = step.letter
        word = f"NOT {resolution}: {step.refused}" if step.refused else f"would be {resolution}" if dry_run else resolution
        entry = {"id": letter.id, "resolution": None if step.refused or dry_run else resolution, "refused": step.refused}
        done.append(entry | {"also": [other.id for other in step.also]})
        if not as_json:
            also = f" (and {', '.join(f'{other.id} of {other.suite}' for other in step.also)}: the same event)" if step.also else ""
            source = f"{letter.source_topic}[{letter.source_partition}] {letter.source_offset}"
            with until_read_no_more():  # the steps that are left are taken all the same
                typer.echo(_safe(f"{letter.id}  {letter.code}  {source}  {word}{'' if step.refused else also}"))

    run(_take_steps(settings, resolution, ids, admitted, redrives_max, dry_run, said))
    refused = sum(entry["refused"] is not None for entry in done)
    if as_json:
        typer.echo(json.dumps(done))
    else:
        typer.echo(f"{len(done) - refused} {'would be ' if dry_run else ''}{resolution}, {refused} refused", err=True)
    if refused:
        raise typer.Exit(EXIT_ERROR)


async def _take_steps(
    settings: "Settings", resolution: "Resolution", ids: Sequence[str] | None, admitted: "Filter", redrives_max: int, dry_run: bool, said: Any
) -> None:
    """Choose, plan, and take the steps that may be taken."""
    from touchstone.streams.topics.dlq import Desk, plan, read_letters
    from touchstone.streams.topics.log_reader import LogReader

    async with LogReader(settings.kafka, [settings.topics.dead]) as reader:
        box = await read_letters(reader)
        chosen = [box.find(one) for one in ids] if ids else [letter for letter in box.open() if admitted.admits(letter)]
        steps = plan(box, chosen, resolution, redrives_max)
        if dry_run or all(step.refused for step in steps):
            for step in steps:
                said(step)
            return
        async with Desk(settings, reader) as desk:
            for step in steps:
                if step.refused is None:
                    await desk.take(step, resolution)
                said(step)


def _table(letters: "Sequence[DeadLetter]") -> list[str]:
    """Aligned rows under a heading; nothing where there is no letter."""
    from touchstone.ops.cli.common.moments import age

    if not letters:
        return []
    rows = [("ID", "WHY", "SOURCE", "SUITE", "BYTES", "AGE", "")]
    for letter in letters:
        source = f"{letter.source_topic}[{letter.source_partition}] {letter.source_offset}"
        remarks = [f"x{1 + len(letter.copies)}" if letter.copies else "", f"redriven {letter.redriven}x" if letter.redriven else ""]
        remarks += ["no payload" if letter.omitted else "", f"({letter.resolution})" if letter.resolution else ""]
        size = f"{letter.size:,}"
        rows.append((letter.id, letter.message or letter.code, source, letter.suite, size, age(letter.failed_at), " ".join(filter(None, remarks))))
    safe = [tuple(_safe(cell) for cell in row) for row in rows]
    widths = [max(len(row[column]) for row in safe) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in safe]


def _facts(letter: "DeadLetter") -> dict[str, Any]:
    """A letter's metadata as JSON types."""
    facts = {"id": letter.id} | asdict(letter)
    return facts | {"failed_at": letter.failed_at.isoformat()}


def _content(record: "Record", payload: bool) -> dict[str, Any]:
    """Key, headers and payload for --json: sizes, and contents only when asked for."""
    from touchstone.streams.topics.dlq import original_headers

    def content(raw: bytes | None) -> Any:
        if raw is None:
            return None
        return base64.b64encode(raw).decode() if payload else len(raw)

    suffix = "base64" if payload else "bytes"
    headers = [{"name": name, suffix: content(raw)} for name, raw in original_headers(record.headers)]
    return {f"key_{suffix}": content(record.key), "headers": headers, f"payload_{suffix}": content(record.value)}


def _safe(text: str) -> str:
    """Text without control characters."""
    from touchstone.scorers.reporting.words import visible

    return visible(text)


def _escaped(raw: bytes, bytes_max: int) -> str:
    """Bytes for a terminal: escaped text where they are UTF-8, else hexadecimal."""
    shown = raw[:bytes_max] if bytes_max else raw
    rest = f" … and {len(raw) - len(shown):,} more bytes (--bytes-max)" if len(shown) < len(raw) else ""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return f"hex {shown.hex(' ')}{rest}"
    return _safe(shown.decode("utf-8", "ignore")) + rest
