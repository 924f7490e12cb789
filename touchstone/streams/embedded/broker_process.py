"""The embedded broker's own process: `python -m touchstone.streams.embedded.broker_process --control` beside a program, or by hand without it.

It is a process of its own so that a test can talk to it as to any broker, and so that a fault in librdkafka's
experimental code ends the broker and not the program. Standard library only: it starts in about 0.1 s.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NoReturn

from touchstone.scorers.process import when_parent_ends
from touchstone.streams.embedded.fixed_port import FixedPort, PortTaken
from touchstone.streams.embedded.mock_cluster import CallFailed, MockCluster, Unsupported

RETENTION_BYTES = 64 * 1024 * 1024
EXIT_UNSUPPORTED = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Start the broker, create the topics, then serve commands (`--control`) or wait for Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m touchstone.streams.embedded.broker_process", description="An in-memory Kafka broker on loopback, for tests and demos."
    )
    parser.add_argument("--topic", action="append", default=[], metavar="NAME[:PARTITIONS]", help="create a topic (default: 4 partitions)")
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--retention-bytes", type=int, default=RETENTION_BYTES, help="kept per partition, in memory")
    parser.add_argument("--port", type=int, default=0, help="where clients find it first; 0 takes a free port")
    parser.add_argument("--control", action="store_true", help="read commands as JSON lines and end with the program that started this")
    arguments = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, _leave)
    try:
        door = FixedPort(arguments.port) if arguments.port else None
        cluster = MockCluster(arguments.brokers, retention_bytes=arguments.retention_bytes)
        retention = {}
        for topic in arguments.topic:
            name, _, partitions = topic.partition(":")
            retention[name] = cluster.create_topic(name, int(partitions or 4))
    except (Unsupported, CallFailed, PortTaken) as error:
        if arguments.control:
            _say({"error": str(error)})
        else:
            sys.stderr.write(f"embedded broker: {error}\n")
        return EXIT_UNSUPPORTED
    address = cluster.bootstrap_servers
    if door is not None:
        door.forward(address.partition(",")[0])
        address = door.address
    if arguments.control:
        _say({"bootstrap_servers": address, "version": cluster.version, "retention_bytes": retention})
        serve(cluster)
    else:
        _wait_by_hand(cluster, address)
    # librdkafka's threads need no shutdown: they hold only memory, and the ports close with the process.
    os._exit(0)


def serve(cluster: MockCluster) -> None:
    """Answer one JSON line per command until standard input closes or the parent ends: a forked sibling may hold the input open after that."""
    when_parent_ends(lambda: os._exit(0))
    for line in sys.stdin.buffer:
        _say(answer(cluster, line))


def answer(cluster: MockCluster, line: bytes) -> dict[str, Any]:
    """Do what one command line asks; `{"ok": …}`, or `{"error": …}` for a command that is wrong or refused."""
    commands: dict[str, Callable[..., Any]] = {
        "create_topic": cluster.create_topic,
        "inject_errors": cluster.inject_errors,
        "clear_errors": cluster.clear_errors,
        "set_down": cluster.set_down,
        "set_up": cluster.set_up,
        "set_rtt": cluster.set_rtt,
        "set_leader": cluster.set_leader,
    }
    try:
        command = json.loads(line)
        return {"ok": commands[command.pop("do")](**command)}
    except (CallFailed, KeyError, TypeError, ValueError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _wait_by_hand(cluster: MockCluster, address: str) -> None:
    """Print the broker's address, and that it keeps nothing, then wait for Ctrl-C."""
    try:
        sys.stdout.write(f"Embedded broker (librdkafka {cluster.version}) on {address}\n")
        sys.stdout.write("Volatile: everything is kept in memory and is gone when this ends. Press Ctrl-C to end it.\n")
        sys.stdout.write(f"  export KAFKA_BOOTSTRAP_SERVERS={address}\n")
        sys.stdout.flush()
        signal.pause()
    except KeyboardInterrupt:
        sys.stdout.write("\n")


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
