"""Processes of the benchmarks: a function that runs alone in a fresh one, one with a pipe to it, and the processor time of any."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import psutil

START_S = 120.0
_SPAWN = get_context("spawn")
ResultT = TypeVar("ResultT")


def run_apart(function: Callable[..., ResultT], *arguments: object) -> ResultT:
    """The result of a function that is called in a fresh process, so that no other work's memory is counted."""
    with _SPAWN.Pool(1) as pool:
        return pool.apply(function, arguments)


@contextmanager
def process(target: Callable[..., None], *arguments: object) -> Iterator[tuple[Connection, int]]:
    """A process that runs `target(pipe, *arguments)`: our end of the pipe, and its process id. It is ended with the block."""
    ours, theirs = _SPAWN.Pipe()
    child = _SPAWN.Process(target=target, args=(theirs, *arguments), daemon=True)
    child.start()
    theirs.close()
    try:
        yield ours, child.pid or 0
    finally:
        child.terminate()
        child.join()
        ours.close()


def received(pipe: Connection, within_s: float = START_S) -> Any:
    """The next message of a process. Raises `TimeoutError`."""
    if not pipe.poll(within_s):
        raise TimeoutError(f"a process of the benchmark sent nothing within {within_s:.0f} s")
    return pipe.recv()


def cpu_s(pid: int) -> float:
    """User and system seconds of a running process; 0 if it has just ended or the platform does not report it."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def taken_s() -> float:
    """Processor seconds of all cores that the host of this virtual machine has given to others, since its start; 0 where the platform does not tell."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0))
