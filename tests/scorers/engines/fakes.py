"""A device for tests: it doubles numbers, can be held busy, and fails where told to."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from touchstone.scorers.engines.batcher import Batcher, Limits, Work

PATIENCE_S = 20.0


class Device:
    """Doubles each item; `batches`: what it was given; `held`: it waits in the forward until `free` is called."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.prepared: list[list[int]] = []
        self.fail: Callable[[Sequence[int]], None] = lambda _: None
        self.entered = threading.Event()
        self._open = threading.Event()
        self._open.set()
        self._seen = threading.Condition()

    def hold(self) -> None:
        """Let the next forward wait inside."""
        self.entered.clear()
        self._open.clear()

    def free(self) -> None:
        self._open.set()

    def prepare(self, items: Sequence[int]) -> list[int]:
        with self._seen:
            self.prepared.append(list(items))
            self._seen.notify_all()
        return list(items)

    def forward(self, items: list[int]) -> list[int]:
        self.batches.append(items)
        self.entered.set()
        assert self._open.wait(PATIENCE_S)
        self.fail(items)
        return [item * 2 for item in items]

    def wait_prepared(self, count: int) -> None:
        """Until so many batches were closed and prepared."""
        with self._seen:
            assert self._seen.wait_for(lambda: len(self.prepared) >= count, PATIENCE_S)


def works(*items: int, length: int = 1) -> list[Work[int]]:
    """Items that are their own keys."""
    return [Work(item, item, length) for item in items]


def limits(**changed: float) -> Limits:
    """Bounds that get in nobody's way."""
    return Limits(**{"batch_tokens": 1000, "wait_s": 1000.0} | changed)  # type: ignore[arg-type]


def made(device: Device, **changed: float) -> Batcher[int, list[int], int]:
    return Batcher("test", device.prepare, device.forward, limits(**changed))


@asynccontextmanager
async def running(device: Device, **changed: float) -> AsyncIterator[Batcher[int, list[int], int]]:
    """The same, closed at the end."""
    batcher = made(device, **changed)
    try:
        yield batcher
    finally:
        device.free()
        await batcher.close(PATIENCE_S)


def count(batcher: Batcher[int, list[int], int], name: str, **labels: str) -> float:
    for reading in batcher.readings():
        if reading.name == name and set(labels.items()) <= set(reading.labels):
            return reading.value
    raise AssertionError(name)
