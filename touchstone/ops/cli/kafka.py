"""`touchstone kafka`: Apache Kafka on this machine without Docker."""

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.groups import Group
from touchstone.ops.cli.common.shared import EXIT_ERROR, JsonOption, fail, one_line_errors

if TYPE_CHECKING:
    from touchstone.ops.local.kafka.cluster import KafkaCluster

kafka_app = Group(
    name="kafka",
    help="Run Apache Kafka on this machine, on loopback, without Docker (needs Java 17 or newer; Maven the first time).",
    no_args_is_help=True,
)
app.add_typer(kafka_app)

DataDirOption = Annotated[
    Path | None, typer.Option("--data-dir", help="Where the cluster keeps its files. Default: ~/.local/state/touchstone/kafka.", show_default=False)
]


@kafka_app.command()
def start(
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, max=3, help="One, or three (replicated). Default: as before, else one.", show_default=False)
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65_535, help="Port of node 1; 0 takes a free one. Default: 9092 where it is free.", show_default=False)
    ] = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start Kafka, wait until it is ready, and print how to use it. A second start changes nothing.

    It keeps running after this command. Records survive stop and start.

    Example: touchstone kafka start --port 9092
    """
    from touchstone.ops.local.kafka.artifacts import libs_folder, missing
    from touchstone.ops.local.kafka.cluster import KafkaCluster

    folder = data_dir or default_data_dir()
    begun = time.monotonic()
    with one_line_errors():
        cluster = KafkaCluster.load(folder, port=port)
        if cluster is None:
            cluster = KafkaCluster(folder, nodes=nodes or 1, port=port)
        _refuse_another_shape(cluster, nodes, port)
        if not libs_folder().is_dir() and missing() is None:
            typer.echo("Fetching Apache Kafka through Maven, once (44 MB) …", err=True)
        already = all(cluster.alive().values())
        cluster.start()
    report(cluster, as_json, "already running" if already else f"ready after {time.monotonic() - begun:.1f} s")


@kafka_app.command()
def stop(data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """Stop Kafka; topics, records and committed offsets stay for the next start.

    Example: touchstone kafka stop
    """
    cluster = _load(data_dir)
    running = cluster is not None and any(cluster.alive().values())
    if cluster is not None and running:
        cluster.stop()
    if as_json:
        typer.echo(json.dumps({"stopped": running}))
    else:
        typer.echo("Kafka stopped." if running else "Kafka was not running.")


@kafka_app.command()
def status(data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """Show whether Kafka runs, and where; exit 3 unless every node runs.

    Example: touchstone kafka status --json
    """
    cluster = _load(data_dir)
    if cluster is None:
        if as_json:
            typer.echo(json.dumps({"running": False, "nodes": []}))
        else:
            typer.echo("Kafka has not been started here. Start it: touchstone kafka start")
        raise typer.Exit(EXIT_ERROR)
    whole = all(cluster.alive().values())
    report(cluster, as_json, "running" if whole else "not running" if not any(cluster.alive().values()) else "partly running")
    if not whole:
        raise typer.Exit(EXIT_ERROR)


def default_data_dir() -> Path:
    """One cluster per user, wherever the command is called."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "touchstone" / "kafka"


def report(cluster: "KafkaCluster", as_json: bool, condition: str) -> None:
    """Print where the cluster is and how to use it."""
    from touchstone.ops.local.kafka.artifacts import KAFKA_VERSION

    alive = cluster.alive()
    if as_json:
        nodes = [{"id": node.node_id, "pid": node.pid, "alive": alive[node.node_id], "log": str(node.log_file)} for node in cluster.nodes]
        document: dict[str, Any] = {
            "running": all(alive.values()),
            "kafka": KAFKA_VERSION,
            "bootstrap_servers": cluster.bootstrap_servers,
            "data_dir": str(cluster.data_dir),
            "nodes": nodes,
        }
        typer.echo(json.dumps(document))
        return
    count = len(cluster.nodes)
    where = "" if cluster.data_dir == default_data_dir().resolve() else f" --data-dir {cluster.data_dir}"
    typer.echo(f"Apache Kafka {KAFKA_VERSION}, {count} node{'s' if count > 1 else ''}: {condition}. Files: {cluster.data_dir}")
    for node in cluster.nodes:
        typer.echo(f"  node {node.node_id}: {'process ' + str(node.pid) if alive[node.node_id] else 'down'}, log {node.log_file}")
    if all(alive.values()):
        typer.echo(f"Use it:   export KAFKA_BOOTSTRAP_SERVERS={cluster.bootstrap_servers}")
        typer.echo(f"Stop it:  touchstone kafka stop{where}")
    else:
        typer.echo(f"Start it: touchstone kafka start{where}")


def _load(data_dir: Path | None) -> "KafkaCluster | None":
    from touchstone.ops.local.kafka.cluster import KafkaCluster

    with one_line_errors():
        return KafkaCluster.load(data_dir or default_data_dir())


def _refuse_another_shape(cluster: "KafkaCluster", nodes: int | None, port: int | None) -> None:
    """Refuse another number of nodes than the cluster was created with, or another port while it runs."""
    if nodes is not None and nodes != len(cluster.nodes):
        fail(f"{cluster.data_dir} holds a cluster of {len(cluster.nodes)} node(s), not {nodes}: use another --data-dir, or stop it and remove that folder")
    if port and any(cluster.alive().values()) and port != cluster.nodes[0].ports["PLAINTEXT"]:
        fail(f"Kafka is already running on {cluster.bootstrap_servers}: stop it before moving it to port {port}")
