"""`touchstone tail`: watches topics without a consumer group and without payload text."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import BootstrapOption, ConfigOption, JsonOption, fail, one_line, settings_from

if TYPE_CHECKING:
    from touchstone.schemas.settings.house import Settings
    from touchstone.streams.topics.tail import Sighting


class Start(StrEnum):
    """Where to begin."""

    beginning = "beginning"
    end = "end"


@dataclass(frozen=True, slots=True)
class View:
    """What to show of the topics."""

    topics: Sequence[str]
    start: Start
    follow: bool
    limit: int | None
    suite: str | None
    label: str | None
    as_json: bool

    def admits(self, sighting: "Sighting") -> bool:
        """True if the record passes the filters. A label filter hides records without a label."""
        fits = self.suite is None or sighting.suite == self.suite
        return fits and (self.label is None or (sighting.label or "").lower() == self.label.lower())


@app.command()
def tail(
    topics: Annotated[
        list[str] | None, typer.Argument(help="results, reports, dead, generations, traces, judge, or a topic's name. Default: results.", show_default=False)
    ] = None,
    start: Annotated[Start | None, typer.Option("--from", help="Default: end when following, else beginning.", show_default=False)] = None,
    follow: Annotated[bool, typer.Option("--follow/--no-follow", help="Keep watching until Ctrl-C, or stop at the current end.")] = True,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Stop after this many lines.", show_default=False)] = None,
    suite: Annotated[str | None, typer.Option("--suite", help="Only records of this suite.", show_default=False)] = None,
    label: Annotated[str | None, typer.Option("--label", help="Only results with this label (Pass, Review, Fail, …).", show_default=False)] = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
) -> None:
    """Show records as they arrive: time, suite, label, case, values; never payload text.

    Reads without a consumer group, so no committed offsets move. Press Ctrl-C to stop.

    Example: touchstone tail results reports --from beginning --label Fail
    """
    from touchstone.ops.cli.common.running import run
    from touchstone.streams.topics.provision import resolve_topic

    settings = settings_from(config, bootstrap)
    names = [resolve_topic(settings.topics, name) for name in topics or ["results"]]
    if label is not None:
        _check_label(label)
    if suite is not None:
        _check_suite(suite)
    begin = start or (Start.end if follow else Start.beginning)
    try:
        run(_watch(settings, View(names, begin, follow, limit, suite, label, as_json)))
    except KeyboardInterrupt:
        raise typer.Exit(0 if follow else 130) from None  # following has no other end


def _check_label(label: str) -> None:
    """Refuse a label that no result can have: the command would wait forever."""
    from touchstone.schemas.result import Label

    labels = get_args(Label)
    if label.lower() not in {known.lower() for known in labels}:
        fail(f"--label {label[:40]}: not a label; give one of {', '.join(labels)}")


def _check_suite(suite: str) -> None:
    """Warn that a suite is not installed here; its results may come from elsewhere."""
    from touchstone.scorers.registry import suite_entry_points

    names = sorted(suite_entry_points())
    if suite not in names:
        typer.echo(one_line(f"--suite {suite[:64]} is not installed here (installed: {', '.join(names)}); watching for its records anyway"), err=True)


async def _watch(settings: "Settings", view: View) -> None:
    """Print until the limit, the end or Ctrl-C."""
    import sys

    from touchstone.ops.cli.common.running import print_line
    from touchstone.scorers.registry import usable_suites
    from touchstone.streams.topics.log_reader import LogReader
    from touchstone.streams.topics.tail import Describer

    describer = Describer(settings.topics, usable_suites(), settings.worker.event_bytes_max)
    shown = 0
    async with LogReader(settings.kafka, view.topics, print_line) as reader:
        if view.follow and not view.as_json and sys.stderr.isatty():
            typer.echo(f"watching {', '.join(view.topics)} on {settings.kafka.bootstrap_servers} from the {view.start}; Ctrl-C ends it", err=True)
        async for record in reader.read(view.start.value, follow=view.follow):
            sighting = describer.describe(record)
            if not view.admits(sighting):
                continue
            typer.echo(json.dumps(sighting.as_json()) if view.as_json else line(sighting, several=len(view.topics) > 1))
            shown += 1
            if shown == view.limit:
                return


def line(sighting: "Sighting", *, several: bool = False) -> str:
    """A sighting for people, safe for a terminal."""
    from touchstone.scorers.reporting.words import visible

    place = f"{sighting.topic}[{sighting.partition}] {sighting.offset}" if several else f"[{sighting.partition}] {sighting.offset}"
    return visible(f"{sighting.at:%H:%M:%S}  {place}  {sighting.text}")
