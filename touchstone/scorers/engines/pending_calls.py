"""The objects that callers and the batcher exchange: items of work, waiting calls, and answers across threads and event loops."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

ItemT = TypeVar("ItemT")


class ItemFailed(Exception):
    """The model failed on one item by itself; `kind` is the type of the exception, never its message."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"the model failed on an input of this call ({kind})")
        self.kind = kind


class ItemTooLarge(ItemFailed):
    """One item alone is more than the device's memory holds."""

    def __init__(self, tokens: int) -> None:
        super().__init__("OutOfMemory")
        self.args = (f"an input of {tokens} tokens does not fit the device's memory; use a device with more, or a smaller model",)
        self.tokens = tokens


class Work(NamedTuple, Generic[ItemT]):
    """One item to compute. `key`: items with the same key are the same computation; `length`: in tokens."""

    key: Hashable
    item: ItemT
    length: int


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one batcher. `step`: lengths are padded to multiples of it; `deaths_max`: threads lost in a row before it stays down."""

    batch_tokens: int
    wait_s: float = 0.02
    look_ahead_items: int = 4096
    queue_items_max: int = 65_536
    step: int = 1
    deaths_max: int = 3


class Call:
    """One caller's items: the rows computed so far, and how many are missing."""

    __slots__ = ("error", "future", "gone", "left", "loop", "rows", "turn")

    def __init__(self, loop: asyncio.AbstractEventLoop, count: int) -> None:
        self.loop = loop
        self.future: asyncio.Future[list[Any]] = loop.create_future()
        self.turn: asyncio.Future[None] = loop.create_future()
        self.rows: list[Any] = [None] * count
        self.left = count
        self.gone = False  # answered, failed or given up: nobody waits for it any more
        self.error: BaseException | None = None


class Entry:
    """One queued computation and the calls that wait for it."""

    __slots__ = ("arrived", "item", "key", "length", "taken", "waiters")

    def __init__(self, work: Work[Any], arrived: float) -> None:
        self.key, self.item, self.length = work
        self.arrived = arrived
        self.taken = False
        self.waiters: list[tuple[Call, int]] = []

    def unwanted(self) -> bool:
        """True if no call waits for it any more."""
        return all(call.gone for call, _ in self.waiters)


def answer_all(calls: list[Call]) -> None:
    """Answer calls, with one message per event loop."""
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[Call]] = defaultdict(list)
    for call in calls:
        by_loop[call.loop].append(call)
    for loop, ready in by_loop.items():
        post(loop, answer, ready)


def post(loop: asyncio.AbstractEventLoop, function: Callable[[Any], None], argument: object) -> bool:
    """Run `function(argument)` on the loop soon. False if the loop is closed."""
    try:
        loop.call_soon_threadsafe(function, argument)
    except RuntimeError:
        return False  # the loop is closed, so no caller is left
    return True


def answer(calls: list[Call]) -> None:
    """Give each caller its rows or its error; runs on its own loop."""
    for call in calls:
        if call.future.done():
            continue
        if call.error is not None:
            call.future.set_exception(call.error)
        else:
            call.future.set_result(call.rows)


def wake(call: Call) -> None:
    """Let a waiting caller check for room in the queue; runs on its own loop."""
    if not call.turn.done():
        call.turn.set_result(None)
