"""Runs a call in a thread of its own, and gives it up where it takes longer than its time.

An XPath or an XML Schema that libxml2 has begun cannot be stopped, and a contrived document makes one take hours. It does let other threads run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, Literal, TypeVar

T = TypeVar("T")
Ended = Literal["done", "given up", "refused"]

#: Calls that were given up and still run: beyond so many nothing is begun, for each keeps a processor and its document.
GIVEN_UP_MAX: Final = 4
#: Things of one kind that are kept for later calls.
_IDLE_MAX: Final = 8
_given_up: Final[set[threading.Thread]] = set()
_guard: Final = threading.Lock()


def within(limit_s: float, call: Callable[[], None]) -> Ended:
    """Wait for a call until it ended, or has had its seconds of the processor (of the clock, where a system does not tell the time of a thread)."""
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
        except BaseException as error:  # noqa: BLE001 - it is raised again where the call was made
            failed.append(error)
        finally:
            done.set()

    # A daemon, so that a call that was given up does not hold the process at its end.
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
        # A thread uses no more of a processor than passes of the clock.
        done.wait(max(limit_s - used_s, 0.01))
    if failed:
        raise failed[0]
    return "done"


def _used_s(clock: list[int], began_s: float) -> float:
    try:
        return time.clock_gettime(clock[0]) if clock else time.monotonic() - began_s
    except OSError:  # the thread has just ended
        return 0.0


class Lent(Generic[T]):
    """Things that are for one call at a time: what a call that was given up holds never keeps another waiting."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._idle: list[T] = []

    @contextmanager
    def one(self) -> Iterator[T]:
        """One that no other call has; made where none is idle."""
        try:
            thing = self._idle.pop()
        except IndexError:
            thing = self._make()
        try:
            yield thing
        finally:
            if len(self._idle) < _IDLE_MAX:
                self._idle.append(thing)
