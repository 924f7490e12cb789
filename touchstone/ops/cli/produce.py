"""`touchstone produce`: sends files as events to Kafka."""

import json
import re
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import BootstrapOption, ConfigOption, JsonOption, fail, one_line_errors, settings_from

if TYPE_CHECKING:
    from touchstone.ops.batch.outgoing import Checked
    from touchstone.streams.topics.produce import Outgoing, Sent


class CloudEvents(StrEnum):
    """How events are wrapped as CloudEvents, if at all."""

    none = "none"
    binary = "binary"
    structured = "structured"


class Key(StrEnum):
    """What the record's key is."""

    id = "id"
    none = "none"


@app.command()
def produce(
    files: Annotated[list[Path], typer.Argument(metavar="FILE|DIR", help="Batch files, directories of them, or - for standard input.")],
    topic: Annotated[
        str | None, typer.Option("--topic", help="Role or name of the topic. Default: where the suites of the event's kind read.", show_default=False)
    ] = None,
    rate: Annotated[str | None, typer.Option("--rate", help="Send at most this many events: 50/s, 600/m. Default: no limit.", show_default=False)] = None,
    key: Annotated[Key, typer.Option("--key", help="id: repeats of an event go to the same partition. none: spread evenly.")] = Key.id,
    cloudevents: Annotated[CloudEvents, typer.Option("--cloudevents", help="Wrap events as CloudEvents 1.0.")] = CloudEvents.none,
    partial: Annotated[bool, typer.Option("--partial", help="The batches continue in other files: declare no batch_size.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Send each line unchanged and unchecked, to try out broken producers.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
) -> None:
    """Send the cases of batch files as events, and wait until the broker has acknowledged every one.

    Reads the same files as `touchstone safe score`. SAFE cases get missing fields: kind, concern, batch, batch_size, and an id
    made of their content, so the same file sent twice scores once. Events of other kinds are sent unchanged. Everything
    is checked first: if one line is wrong, nothing is sent.

    Example: touchstone produce data/I25/I25_batch_1.jsonl --rate 50/s
    """
    from touchstone.ops.batch.outgoing import Checked, Outgoings, Way, event_files, raw_lines, twice_readable
    from touchstone.ops.cli.common.running import print_line, run
    from touchstone.ops.cli.common.scoring import print_left_out
    from touchstone.scorers.registry import usable_suites
    from touchstone.streams.topics.produce import send_events
    from touchstone.streams.topics.provision import resolve_topic

    settings = settings_from(config, bootstrap)
    target = resolve_topic(settings.topics, topic) if topic else None
    rate_per_s = _rate(rate)
    started = time.monotonic()
    with one_line_errors(), twice_readable(files) as (paths, names):
        if raw:
            missing = [path for path in paths if not path.is_file()]
            if missing:
                fail(f"{missing[0]}: no such file; check the path")
            checked = Checked(topics={target or settings.topics.generations})
            events = raw_lines(paths, names, target or settings.topics.generations)
        else:
            left_out: list[Path] = []
            listed = event_files(paths, names, left_out)
            print_left_out(left_out)
            outgoings = Outgoings(settings, list(usable_suites().values()), listed, names, Way(target, cloudevents.value, key is Key.id, partial))
            checked = outgoings.check()
            events = outgoings.events()
        sent = run(send_events(settings, _counted(events), checked.topics, rate_per_s=rate_per_s, say=print_line))
    _report(sent, checked, time.monotonic() - started, as_json)


def _counted(events: "Iterator[Outgoing]") -> "Iterator[Outgoing]":
    """The events, with a counter on the terminal."""
    from touchstone.ops.cli.common.progress import Progress

    with Progress("events handed over") as progress:
        for number, event in enumerate(events, 1):
            yield event
            progress.step(number)


def _report(sent: "Sent", checked: "Checked", seconds: float, as_json: bool) -> None:
    """Print what was sent, and where."""
    from touchstone.scorers.reporting.words import counted, visible

    topics = sorted({topic for topic, _ in sent.acknowledged})
    by_topic = {topic: {part: count for (name, part), count in sorted(sent.acknowledged.items()) if name == topic} for topic in topics}
    batches: list[dict[str, Any]] = [
        {"concern_id": concern, "batch_id": batch, "cases": cases, "batch_size": checked.sizes.get((concern, batch))}
        for (concern, batch), cases in sorted(checked.cases.items())
    ]
    if as_json:
        typer.echo(json.dumps({"sent": sent.total, "topics": by_topic, "batches": batches, "seconds": round(seconds, 3)}))
        return
    for topic, partitions in by_topic.items():
        where = ", ".join(f"[{part}] {count:,}" for part, count in partitions.items())
        typer.echo(f"{counted(sum(partitions.values()), 'event')} to {topic}, every one acknowledged: {where}")
    for batch in batches:
        size = f", declared as the whole batch ({batch['batch_size']})" if batch["batch_size"] else ""
        typer.echo(visible(f"  {batch['concern_id']}/{batch['batch_id']}: {counted(batch['cases'], 'case')}{size}"))
    if not sent.total:
        typer.echo("nothing to send", err=True)


def _rate(text: str | None) -> float | None:
    """Events per second. Ends with exit 3 for an invalid rate."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(?:/([sm]))?", text.strip())
    if not match or float(match[1]) <= 0:
        fail("--rate: give a number of events per second or minute, as 50/s or 600/m")
    return float(match[1]) / (60 if match[2] == "m" else 1)
