"""`python -m touchstone.ops.local.kafka.minder`: ends the nodes of a program that has gone without ending them.

The program holds this process's standard input open and writes one line, `pid marker`, per node it starts. When the
input closes, for whatever reason, the nodes that still run are killed. A JVM cannot watch its parent by itself, and
PR_SET_PDEATHSIG follows the starting *thread*, which may end long before its program.
"""

import signal
import sys

from touchstone.ops.local.kafka.processes import send


def main() -> None:
    """Collect nodes until the input closes, then kill those that are left."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nodes = [line.rstrip("\n").partition(" ") for line in sys.stdin]
    for pid, _, marker in nodes:
        send(int(pid), marker, signal.SIGKILL)


if __name__ == "__main__":
    main()
