"""`python -m touchstone.ops.local.kafka.minder`: ends the nodes of a program that has gone without ending them.

The program holds this process's standard input open and writes one line, `pid marker`, per node it starts. When the input closes, or the
program has ended while something that it forked still holds the input open, the nodes that still run are killed. A JVM cannot watch its parent
by itself.
"""

import os
import signal
import sys
from typing import NoReturn

from touchstone.ops.local.kafka.processes import send
from touchstone.scorers.process import when_parent_ends


def main() -> NoReturn:
    """Collect nodes until the input closes or the parent ends, then kill those that are left."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nodes: list[tuple[int, str]] = []
    when_parent_ends(lambda: _kill(nodes))
    for line in sys.stdin:
        pid, _, marker = line.rstrip("\n").partition(" ")
        nodes.append((int(pid), marker))
    _kill(nodes)


def _kill(nodes: list[tuple[int, str]]) -> NoReturn:
    for pid, marker in nodes:
        send(pid, marker, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main()
