"""`touchstone topics`: creates and describes the topics."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.groups import Group
from touchstone.ops.cli.common.shared import BootstrapOption, ConfigOption, JsonOption, fail, settings_from

if TYPE_CHECKING:
    from touchstone.streams.topics.provision import TopicFacts

topics_app = Group(name="topics", help="Create and describe the topics named in the settings.", no_args_is_help=True)
app.add_typer(topics_app)


@topics_app.command()
def create(config: ConfigOption = None, bootstrap: BootstrapOption = None, as_json: JsonOption = False) -> None:
    """Create every topic that is missing; existing topics are listed and left unchanged.

    Partitions, replication and names come from the topics section of the settings.

    Example: touchstone topics create --bootstrap localhost:9092
    """
    from touchstone.ops.cli.common.running import run
    from touchstone.scorers.reporting.words import counted
    from touchstone.streams.topics.provision import create_topics

    made = run(create_topics(settings_from(config, bootstrap)))
    if as_json:
        typer.echo(json.dumps([asdict(topic) for topic in made]))
        return
    width = max(len(topic.name) for topic in made)
    for topic in made:
        outcome = "existed" if topic.outcome == "existed" else "created"
        typer.echo(f"{topic.name:<{width}}  {outcome}, {counted(topic.partitions, 'partition')}")
        for difference in topic.differs:
            typer.echo(f"{'':<{width}}  note: {difference}")
    if any(topic.outcome == "created_by_broker" for topic in made):
        typer.echo("This broker has no CreateTopics request: it created the topics on first use, with its own number of partitions.")


@topics_app.command()
def describe(config: ConfigOption = None, bootstrap: BootstrapOption = None, as_json: JsonOption = False) -> None:
    """Show partitions, leaders, offsets and the configuration that matters; exit 3 where a topic is missing.

    Example: touchstone topics describe --json | jq '.[].partitions'
    """
    from touchstone.ops.cli.common.running import run
    from touchstone.streams.topics.provision import describe_topics

    settings = settings_from(config, bootstrap)
    facts = run(describe_topics(settings))
    if as_json:
        typer.echo(json.dumps([asdict(topic) for topic in facts]))
    else:
        for topic in facts:
            _print(topic)
    missing = [topic.name for topic in facts if not topic.exists]
    if missing:
        fail(f"missing on {settings.kafka.bootstrap_servers}: {', '.join(missing)}; run `touchstone topics create`")


def _print(topic: "TopicFacts") -> None:
    """One topic for people."""
    if not topic.exists:
        typer.echo(f"{topic.name} ({topic.role}): missing")
        return
    records = sum((part.end or 0) - (part.begin or 0) for part in topic.partitions)
    typer.echo(f"{topic.name} ({topic.role}): {len(topic.partitions)} partitions, {records:,} offsets kept")
    for part in topic.partitions:
        leader = f"leader {part.leader}" if part.leader >= 0 else "NO LEADER"
        short = "" if part.in_sync == part.replicas else "  UNDER-REPLICATED"
        span = "offsets unknown" if part.begin is None else f"offsets {part.begin} to {part.end}"
        typer.echo(f"  {part.partition:>4}  {leader}, {part.in_sync}/{part.replicas} replicas in sync, {span}{short}")
    if topic.configuration is None:
        typer.echo("  configuration: not reported by this broker")
    else:
        typer.echo("  " + ", ".join(f"{key}={value}" for key, value in sorted(topic.configuration.items())))
