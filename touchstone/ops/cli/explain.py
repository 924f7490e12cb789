"""`touchstone explain`: shows how a record would be read and routed."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import ConfigOption, JsonOption, fail, one_line_errors, settings_from, until_read_no_more

if TYPE_CHECKING:
    from touchstone.schemas.settings.house import Settings

BYTES_MAX = 268_435_456
#: Not a verdict, but useful in scripts that try out a producer.
EXIT_REJECTED = 1
WORDS = {"dead": "rejected"}


@app.command()
def explain(
    file: Annotated[Path, typer.Argument(help="A record, JSON lines, or a batch file; - for standard input.")],
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", help="Header to read every record with, name=value (repeatable).", show_default=False)
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Read the file as one record, whatever it looks like.")] = False,
    topic: Annotated[str | None, typer.Option("--topic", help="Role or name of the topic. Default: those that the suites read.", show_default=False)] = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show how each record would be read: its format, kind and id, which suites score it, or why and where it is rejected, and what to do.

    Uses the same code as the workers and shows no payload text. Nothing is sent. Exit codes: 0 no record would be rejected by every suite that reads it,
    1 at least one would be and become a dead letter, 3 an error.

    Example: touchstone explain events.jsonl --topic generations
    """
    from touchstone.scorers.registry import usable_suites
    from touchstone.streams.topics.provision import resolve_topic

    settings = settings_from(config)
    headers = [_header(text) for text in header or ()]
    with one_line_errors():
        readings = Readings(settings, list(usable_suites().values()), resolve_topic(settings.topics, topic) if topic else None)
        records = [readings.of(where, value, headers) for where, value in _records(_read(file), file, whole)]
    with until_read_no_more():
        if as_json:
            typer.echo(json.dumps(records, indent=2))
        else:
            for line in (line for record in records for line in _lines(record)):
                typer.echo(line)
    if not as_json:
        _print_counts(records)
    raise typer.Exit(EXIT_REJECTED if any(record["outcome"] == "dead" for record in records) else 0)


def _print_counts(records: Sequence[dict[str, Any]]) -> None:
    """Print how many records have each outcome."""
    counts: dict[str, int] = {}
    for record in records:
        word = WORDS.get(record["outcome"], record["outcome"])
        counts[word] = counts.get(word, 0) + 1
    typer.echo(f"{len(records)} record{'' if len(records) == 1 else 's'}: {', '.join(f'{count} {name}' for name, count in sorted(counts.items()))}", err=True)


class Readings:
    """How the workers of every installed suite read a record."""

    def __init__(self, settings: "Settings", suites: Sequence[Any], topic: str | None) -> None:
        from touchstone.scorers.registry import known_signatures
        from touchstone.streams.wire.codec import Codec

        signatures = known_signatures()
        self._suites = [
            (suite, settings.topics.inputs(suite.topics), Codec(suite.cases, signatures, settings.worker.event_bytes_max, signatures)) for suite in suites
        ]
        self._topic = topic

    def of(self, where: str, value: bytes, headers: Sequence[tuple[str, bytes]]) -> dict[str, Any]:
        """One record as JSON types. `outcome`: scored, skipped, dead, or not read, the best outcome over the suites."""
        from touchstone.ops.batch.outgoing import Probe
        from touchstone.ops.cli.common.next_step import next_step
        from touchstone.streams.wire.codec import Read, Reject

        reading: dict[str, Any] = {"where": where, "bytes": len(value), "format": None, "kind": None, "event_id": None, "case_id": None, "suites": []}
        for suite, inputs, codec in self._suites:
            entry: dict[str, Any] = {"suite": suite.name, "version": suite.version, "topics": list(inputs)}
            reading["suites"].append(entry)
            if self._topic is not None and self._topic not in inputs:
                entry |= {"outcome": "not read", "reason": "other_topic"}
                continue
            step = codec.read(Probe(value, headers, topic=self._topic or inputs[0]))
            reading["format"] = step.format
            if isinstance(step, Read):
                own = step.case.id is not None
                reading |= {"kind": step.case.kind, "case_id": step.case.case_id, "event_id": step.event_id if own or headers else None}
                reading["event_id_from"] = "its own" if own else "the CloudEvent" if "cloudevents" in step.format else "its place on the topic"
                if reading["event_id_from"] == "its place on the topic":
                    reading["event_id"] = None  # not known before it is on the topic
                entry["outcome"] = "scored"
            elif isinstance(step, Reject):
                entry |= {"outcome": "dead", "reason": step.code, "path": step.where}
            else:
                entry |= {"outcome": "skipped", "reason": step.reason}
        outcomes = [entry["outcome"] for entry in reading["suites"]]
        reading["outcome"] = next((one for one in ("scored", "dead", "skipped", "not read") if one in outcomes), "not read")
        reading["next"] = None
        if reading["outcome"] == "dead":
            reason = next(entry["reason"] for entry in reading["suites"] if entry["outcome"] == "dead")
            reading["next"] = next_step(where, value, reason, [suite for suite, _, _ in self._suites])
        return reading


def _lines(record: dict[str, Any]) -> Iterator[str]:
    """One record for people."""
    from touchstone.scorers.reporting.words import visible

    parts = [f"{record['bytes']:,} bytes", f"format {record['format'] or 'unread'}"]
    if record["kind"]:
        event_id = record["event_id"] or "UUIDv5 of its place on the topic"
        source = f" ({record['event_id_from']})" if record["event_id"] else ""
        named = [f"case {record['case_id']}"] if record["case_id"] is not None else []
        parts += [f"kind {record['kind']}", *named, f"event id {event_id}{source}"]
    rejected = ": no suite scores it, and it would become a dead letter" if record["outcome"] == "dead" else ""
    yield visible(f"{record['where']}: {', '.join(parts)}{rejected}")
    for entry in record["suites"]:
        why = f": {entry['reason']}{' at ' + entry['path'] if entry.get('path') else ''}" if "reason" in entry else ""
        word = WORDS.get(entry["outcome"], entry["outcome"])
        yield visible(f"  {entry['suite']} {entry['version']} ({', '.join(entry['topics'])}): {word}{why}")
    if record["next"]:
        yield visible(f"  -> {record['next']}")


def _read(file: Path) -> bytes:
    """The whole file, within a bound. Ends with exit 3 where it cannot be read."""
    try:
        if file == Path("-"):
            data = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with file.open("rb") as stream:
                data = stream.read(BYTES_MAX + 1)
    except OSError as error:
        fail(f"{file}: cannot be read ({error.strerror}); check the path")
    if len(data) > BYTES_MAX:
        fail(f"{file}: larger than {BYTES_MAX} bytes; explain a part of it")
    return data


def _records(data: bytes, file: Path, whole: bool) -> Iterator[tuple[str, bytes]]:
    """The records of a file: the cases of a batch file as they would be sent, else its lines, else all of it."""
    import orjson

    name = "standard input" if file == Path("-") else str(file)
    try:
        document = None if whole else orjson.loads(data)
    except orjson.JSONDecodeError:
        document = None
        lines = data.splitlines() if len(data.splitlines()) > 1 else []
        # A first line that is JSON by itself makes JSON lines; anything else is one unreadable record.
        if lines and (file.suffix in {".jsonl", ".ndjson"} or _is_json(lines[0])):
            yield from ((f"{name}, line {number}", line) for number, line in enumerate(lines, 1))
            return
    cases = document if isinstance(document, list) else document.get("cases") if isinstance(document, dict) else None
    if not isinstance(cases, list):
        # The line end that an editor adds is not part of what a producer sends.
        yield name, data if whole else data.removesuffix(b"\n")
        return
    above = {key: document[key] for key in ("concern_id", "batch_id") if document.get(key)} if isinstance(document, dict) else {}
    for number, case in enumerate(cases, 1):
        yield f"{name}, case {number}", orjson.dumps(above | case if isinstance(case, dict) else case)


def _is_json(line: bytes) -> bool:
    """True if a line is a JSON document."""
    import orjson

    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _header(text: str) -> tuple[str, bytes]:
    """`name=value` as a header."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        fail(f"--header {name or '…'}: write name=value")
    return name, value.encode(errors="surrogateescape")  # the very bytes of the command line
