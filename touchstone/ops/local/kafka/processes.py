"""Processes that outlive the one that started them, found again by process id and a marker."""

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

#: Below Linux's ephemeral ports (from 32768): a client that keeps knocking at a dead node's ephemeral port may be
#: given that very port for its own end, connect to itself, and keep the node from coming back.
PORTS = range(20_000, 32_000)


def is_running(pid: int, marker: str) -> bool:
    """True if process `pid` runs with `marker` on its command line. The marker guards against reused process ids."""
    if pid <= 0:
        return False
    proc = Path("/proc")
    if (proc / "self" / "cmdline").exists():
        try:
            # A process that has ended but was not yet reaped has an empty command line here.
            return marker.encode() in (proc / str(pid) / "cmdline").read_bytes()
        except OSError:
            return False
    listing = subprocess.run(["ps", "-p", str(pid), "-o", "command="], capture_output=True, text=True, check=False)
    return marker in listing.stdout


def send(pid: int, marker: str, number: signal.Signals) -> None:
    """Signal the process if it is still the one meant."""
    if is_running(pid, marker):
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def wait_until(condition: Callable[[], bool], timeout_s: float, *, interval_s: float = 0.05) -> bool:
    """Poll until the condition holds; False when the time is over."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(interval_s)
    return True


def port_is_free(host: str, port: int) -> bool:
    """True if a server could listen on the port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_ports(host: str, count: int, taken: Iterable[int] = ()) -> list[int]:
    """Distinct ports that are free now, none of them ephemeral. Raises `OSError` where too few are left."""
    found: list[int] = []
    avoid = set(taken)
    with ExitStack() as held:
        for port in random.sample(PORTS, len(PORTS)):
            if len(found) == count:
                return found
            if port in avoid:
                continue
            probe = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            found.append(port)
    raise OSError(f"no {count} free ports between {PORTS.start} and {PORTS.stop}")
