"""Runs a call in its own thread, and gives it up when its time is over.

An XPath or XML Schema validation in libxml2 cannot be stopped, and a contrived document makes one take hours. Other threads can run meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, Literal, TypeVar

T = TypeVar("T")
Ended = Literal["done", "given up", "refused"]

#: With so many given-up calls still running, no call is begun: each of them keeps a processor and a document.
GIVEN_UP_MAX: Final = 4
#: Idle objects that a pool keeps.
_IDLE_MAX: Final = 8
_given_up: Final[set[threading.Thread]] = set()
_guard: Final = threading.Lock()


def within(limit_s: float, call: Callable[[], None]) -> Ended:
    """Wait until a call has ended or has used its processor time (wall-clock time on systems that do not measure threads)."""
    with _guard:
        _given_up.intersection_update([one for one in _given_up if one.is_alive()])
        if len(_given_up) >= GIVEN_UP_MAX:
            return "refused"
    done, begun = threading.Event(), threading.Event()
    clock: list[int] = []
    failed: list[BaseException] = []

    def run() -> None:
        of_thread = getattr(time, "pthread_getcpuclockid", None)
        if of_thread is not None:
            clock.append(of_thread(threading.get_ident()))
        begun.set()
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failed.append(error)
        finally:
            done.set()

    # A daemon, so that a given-up call does not keep the process from ending.
    thread = threading.Thread(target=run, name="ccda", daemon=True)
    thread.start()
    begun.wait()
    began_s = time.monotonic()
    while not done.is_set():
        used_s = _used_s(clock, began_s)
        if used_s >= limit_s:
            with _guard:
                _given_up.add(thread)
            return "given up"
        # Processor time of a thread never exceeds wall-clock time.
        done.wait(max(limit_s - used_s, 0.01))
    if failed:
        raise failed[0]
    return "done"


def _used_s(clock: list[int], began_s: float) -> float:
    try:
        return time.clock_gettime(clock[0]) if clock else time.monotonic() - began_s
    except OSError:  # the thread has just ended
        return 0.0


class Pool(Generic[T]):
    """Objects for one call at a time. An object that a given-up call holds never makes another call wait."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._idle: list[T] = []

    @contextmanager
    def one(self) -> Iterator[T]:
        """An idle object, or a new one."""
        try:
            taken = self._idle.pop()
        except IndexError:
            taken = self._make()
        try:
            yield taken
        finally:
            if len(self._idle) < _IDLE_MAX:
                self._idle.append(taken)
