"""The batcher of an engine: it batches the items of all cases in flight, within a budget of tokens, in two threads.

One thread (the collector) closes batches and prepares them; the other (inference) computes them, so the next batch is ready when
the device is. A batch is closed when its budget is full, when the device is idle (at once, with everything queued), when its oldest item
has waited long enough for a busy device, or to drain the queue at the end. Both threads sleep on one condition; nothing polls.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from touchstone.scorers.base import Lost, Reading, Unavailable
from touchstone.scorers.engines.batch_queue import LookAhead, rounded
from touchstone.scorers.engines.batcher_metrics import Counts
from touchstone.scorers.engines.pending_calls import Call, Entry, ItemFailed, ItemT, ItemTooLarge, Limits, Work, answer, answer_all, post, wake

PreparedT = TypeVar("PreparedT")
RowT = TypeVar("RowT")

__all__ = ["RECOVER_AFTER_BATCHES", "Batcher", "ItemFailed", "ItemTooLarge", "Limits", "Work"]

RECOVER_AFTER_BATCHES = 16
RECOVER_BY = 1.25


class _Crew:
    """A collector and an inference thread, and the batches that they exchange."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.slot: tuple[list[Entry], Any] | None = None  # closed and prepared, not yet started
        self.computing: list[Entry] = []
        self.collecting: list[Entry] = []
        self.finished = False

    def alive(self) -> bool:
        return all(thread.is_alive() for thread in self.threads)


def _no_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError)


class Batcher(Generic[ItemT, PreparedT, RowT]):
    """Batches items of many callers, on any event loops, for one model.

    `prepare(items)`: builds the model's input from items of ascending length, in the collector's thread; `forward(prepared)`: one row per item,
    in the inference thread. `is_out_of_memory` recognises that error; `release` is called after one. An `Unavailable` from either
    fails the whole batch. `clock`: monotonic seconds.
    """

    def __init__(
        self,
        engine: str,
        prepare: Callable[[Sequence[ItemT]], PreparedT],
        forward: Callable[[PreparedT], Sequence[RowT]],
        limits: Limits,
        *,
        is_out_of_memory: Callable[[BaseException], bool] = _no_memory,
        release: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._prepare = prepare
        self._forward = forward
        self._limits = limits
        self._is_out_of_memory = is_out_of_memory
        self._release = release
        self._clock = clock
        self._changed = threading.Condition()
        self._queue: LookAhead[Entry] = LookAhead(limits.look_ahead_items, step=limits.step)
        self._entries: dict[Hashable, Entry] = {}  # queued or in flight
        # Callers that wait for room, in turn; one queue per event loop, because a loop that stopped must not hold up the others.
        self._lines: dict[asyncio.AbstractEventLoop, deque[Call]] = {}
        self._caller_left = False
        self._closing = False
        self._crew: _Crew | None = None
        self._deaths_in_a_row = 0
        self._budget = limits.batch_tokens
        self._good_batches = 0
        self._counts = Counts(engine)

    async def ask(self, works: Sequence[Work[ItemT]]) -> list[RowT]:
        """The rows of `works`, in their order. Waits while the queue is full.

        Raises: Unavailable (`engine_closed`, `engine_died`), ItemFailed, ItemTooLarge.
        """
        if not works:
            return []
        loop = asyncio.get_running_loop()
        call = Call(loop, len(works))
        try:
            await self._admit(call, works)
            return await call.future
        finally:
            self._leave(call)

    def readings(self) -> Iterable[Reading]:
        """Its current readings."""
        with self._changed:
            up = not self._closing and self._deaths_in_a_row < self._limits.deaths_max
            return list(self._counts.readings(depth=len(self._queue), limit=self._limits.queue_items_max, budget=self._budget, up=up))

    async def close(self, timeout_s: float = 60.0) -> None:
        """Finish what was accepted and refuse what is new; the rest fails after `timeout_s` with `engine_closed`."""
        with self._changed:
            self._closing = True
            self._start()
            crew = self._crew
            self._changed.notify_all()
        if crew is not None:
            await asyncio.to_thread(self._join, crew, timeout_s)
        with self._changed:
            self._abandon("engine_closed")
            self._crew = None

    @staticmethod
    def _join(crew: _Crew, timeout_s: float) -> None:
        until = time.monotonic() + timeout_s
        for thread in crew.threads:
            thread.join(max(0.0, until - time.monotonic()))

    # The callers' side: any event loop's thread.

    async def _admit(self, call: Call, works: Sequence[Work[ItemT]]) -> None:
        with self._changed:
            if self._closing:
                raise Unavailable("engine_closed")
            self._check_threads()
            done = 0 if call.loop in self._lines else self._push(call, works, 0)
            if done < len(works):
                self._lines.setdefault(call.loop, deque()).append(call)
        # Woken only at the end of this turn of the loop, the collector batches everything that was submitted in it.
        call.loop.call_soon(self._wake)
        if done == len(works):
            return
        try:
            while done < len(works):
                await asyncio.wait((call.turn, call.future), return_when=asyncio.FIRST_COMPLETED)
                with self._changed:
                    if call.gone:
                        return
                    call.turn = call.loop.create_future()
                    if self._lines[call.loop][0] is call:
                        done = self._push(call, works, done)
                        self._changed.notify_all()
        finally:
            with self._changed:
                line = self._lines.get(call.loop)
                if line is not None and call in line:
                    line.remove(call)
                if not line:
                    self._lines.pop(call.loop, None)
                self._call_next()
                self._changed.notify_all()

    def _push(self, call: Call, works: Sequence[Work[ItemT]], start: int) -> int:
        """Queue as many items as there is room for. Returns the position of the next one."""
        now = self._clock()
        for position in range(start, len(works)):
            work = works[position]
            entry = self._entries.get(work.key)
            if entry is None:
                if len(self._queue) >= self._limits.queue_items_max:
                    return position
                entry = self._entries[work.key] = Entry(work, now)
                self._queue.add(entry)
            else:
                self._counts.collapsed += 1
            entry.waiters.append((call, position))
        return len(works)

    def _leave(self, call: Call) -> None:
        """Remove a caller that has its answer, was cancelled, or was never admitted."""
        if not call.future.cancel() and not call.future.cancelled():
            call.future.exception()  # retrieved, so that asyncio does not warn about a cancelled caller's failure
        if not call.gone:
            with self._changed:
                call.gone = self._caller_left = True

    def _wake(self) -> None:
        with self._changed:
            self._start()
            self._changed.notify_all()

    def _call_next(self) -> None:
        """Wake the first caller of each queue, because there may be room; drop callers whose loop is closed. The lock is held."""
        if len(self._queue) >= self._limits.queue_items_max:
            return
        for loop, line in list(self._lines.items()):
            if not post(loop, wake, line[0]):
                del self._lines[loop]
                for call in line:
                    call.gone = self._caller_left = True

    # Starting threads, and what happens when one dies.

    def _check_threads(self) -> None:
        """Notice a thread that ended. Raises: Unavailable if that happened too often in a row. The lock is held."""
        if self._crew is not None and not self._crew.alive():
            self._give_up(self._crew)
        if self._crew is None and self._deaths_in_a_row >= self._limits.deaths_max:
            raise Lost("engine_died")

    def _start(self) -> None:
        """Start the threads where there is work and there are none. The lock is held."""
        if self._crew is not None or not len(self._queue):
            return
        crew = self._crew = _Crew()
        for name, work in (("collector", self._collect), ("inference", self._infer)):
            crew.threads.append(threading.Thread(target=self._run, args=(work, crew), name=f"{self._engine}-{name}", daemon=True))
        for thread in crew.threads:
            thread.start()

    def _run(self, work: Callable[[_Crew], None], crew: _Crew) -> None:
        try:
            work(crew)
        except BaseException:  # noqa: BLE001 - whatever ends the thread, its callers get an answer; a printed traceback could quote them
            with self._changed:
                self._give_up(crew)

    def _give_up(self, crew: _Crew) -> None:
        """Fail every call that needs the threads of a crew; the next call starts new threads. The lock is held."""
        if self._crew is not crew:
            return
        self._crew = None
        self._counts.deaths += 1
        self._deaths_in_a_row += 1
        self._abandon("engine_died", crew)

    def _abandon(self, code: str, crew: _Crew | None = None) -> None:
        crew = crew or self._crew or _Crew()
        waiting = [*crew.computing, *(crew.slot[0] if crew.slot else ()), *crew.collecting, *self._queue.purge(lambda _: True)]
        self._fail(waiting, lambda: Unavailable(code))
        for line in self._lines.values():
            for call in line:
                call.error, call.gone = Unavailable(code), True
                post(call.loop, answer, [call])
        self._lines.clear()
        self._changed.notify_all()

    # The collector's thread.

    def _collect(self, crew: _Crew) -> None:
        while True:
            with self._changed:
                entries = self._close_batch(crew)
                if not entries:
                    return
                crew.collecting = entries
            try:
                prepared = self._prepare([entry.item for entry in entries])
            except Exception:  # noqa: BLE001 - the inference thread prepares it again, in halves, and finds the item at fault
                prepared = None
            with self._changed:
                crew.slot, crew.collecting = (entries, prepared), []
                self._changed.notify_all()

    def _close_batch(self, crew: _Crew) -> list[Entry]:
        """Sleep until a batch is due; an empty one ends the thread. The lock is held, and released while asleep."""
        while self._crew is crew:
            self._sweep()
            if self._closing:
                self._call_next()
            if crew.slot is None and len(self._queue):
                reason, wait_s = self._due(crew)
                if reason:
                    self._counts.flushes[reason] += 1
                    entries = self._queue.take(self._budget)
                    self._call_next()
                    return entries
                self._changed.wait(wait_s)
            elif crew.slot is None and self._closing and not self._lines:
                crew.finished = True
                self._changed.notify_all()
                return []
            else:
                self._changed.wait()
        return []

    def _due(self, crew: _Crew) -> tuple[str | None, float]:
        """Why the next batch is to be closed now, or None and the seconds to wait."""
        if self._queue.tokens >= self._budget:
            return "budget", 0.0
        if self._closing:
            return "drain", 0.0
        if not crew.computing:
            return "idle", 0.0
        wait_s = self._queue.oldest().arrived + self._limits.wait_s - self._clock()
        return ("deadline" if wait_s <= 0 else None), wait_s

    def _sweep(self) -> None:
        """Drop queued work that no caller waits for."""
        if not self._caller_left:
            return
        self._caller_left = False
        for entry in self._queue.purge(Entry.unwanted):
            self._forget(entry)
        self._call_next()

    def _forget(self, entry: Entry) -> None:
        self._counts.dropped += 1
        self._entries.pop(entry.key, None)

    # The inference thread.

    def _infer(self, crew: _Crew) -> None:
        while True:
            with self._changed:
                while crew.slot is None:
                    if crew.finished or self._crew is not crew:
                        return
                    self._changed.wait()
                (entries, prepared), crew.slot = crew.slot, None
                crew.computing = entries
                now = self._clock()
                for entry in entries:
                    self._counts.wait_s.observe(now - entry.arrived)
                wanted = [entry for entry in entries if not entry.unwanted()]
                for entry in entries if len(wanted) < len(entries) else ():
                    if entry.unwanted():
                        self._forget(entry)
                self._changed.notify_all()
            self._compute(wanted, prepared if len(wanted) == len(entries) else None)
            with self._changed:
                crew.computing = []
                self._changed.notify_all()

    def _compute(self, entries: list[Entry], prepared: PreparedT | None) -> None:
        """Run a batch. Where it fails, run its halves, so that only the item at fault gets no answer."""
        todo: list[tuple[list[Entry], PreparedT | None]] = [(entries, prepared)] if entries else []
        while todo:
            entries, prepared = todo.pop()
            # Halves are tried after the error's handler has ended: its traceback holds memory that they need.
            rows, error = self._attempt(entries, prepared)
            prepared = None
            if error is None:
                self._settle(entries, rows)
                continue
            memory = self._is_out_of_memory(error)
            if memory:
                self._lower_budget(entries)
            if len(entries) > 1 and not isinstance(error, Unavailable):
                half = len(entries) // 2
                todo += [(entries[half:], None), (entries[:half], None)]
            else:
                self._blame(entries, error, memory=memory)

    def _blame(self, entries: list[Entry], error: Exception, *, memory: bool) -> None:
        with self._changed:
            if isinstance(error, Unavailable):
                code = error.code
                self._fail(entries, lambda: Unavailable(code))
                return
            self._counts.poisoned += 1
            kind, tokens = type(error).__name__, entries[0].length
            self._fail(entries, lambda: ItemTooLarge(tokens) if memory else ItemFailed(kind))

    def _attempt(self, entries: list[Entry], prepared: PreparedT | None) -> tuple[Sequence[RowT], Exception | None]:
        rows: Sequence[RowT] = ()
        began = time.perf_counter()
        failure: Exception | None = None
        try:
            if prepared is None:
                prepared = self._prepare([entry.item for entry in entries])
            rows = self._forward(prepared)
            if len(rows) != len(entries):
                raise ValueError(f"{len(rows)} rows for {len(entries)} items")
        except Exception as error:  # noqa: BLE001 - judged by the caller
            failure = error.with_traceback(None)
        took = time.perf_counter() - began
        padded = rounded(entries[-1].length, self._limits.step) * len(entries)
        real = sum(entry.length for entry in entries)
        with self._changed:
            counts = self._counts
            counts.forward_s.observe(took)
            counts.batch_items.observe(len(entries))
            counts.batch_tokens.observe(padded)
            counts.inferences += len(entries)
            counts.batches += 1
            counts.tokens += real
            counts.padding_tokens += padded - real
        return rows, failure

    def _lower_budget(self, entries: list[Entry]) -> None:
        self._release()
        padded = rounded(entries[-1].length, self._limits.step) * len(entries)
        with self._changed:
            self._counts.out_of_memory += 1
            if len(entries) > 1:
                self._budget = max(1, min(self._budget, padded) // 2)
            self._good_batches = 0

    def _settle(self, entries: list[Entry], rows: Sequence[RowT]) -> None:
        """Give these items' rows to the calls that wait for them. A call is answered when its last row is there."""
        ready: list[Call] = []
        with self._changed:
            self._deaths_in_a_row = 0
            self._good_batches += 1
            if self._good_batches % RECOVER_AFTER_BATCHES == 0 and self._budget < self._limits.batch_tokens:
                self._budget = min(self._limits.batch_tokens, int(self._budget * RECOVER_BY) + 1)
            for entry, row in zip(entries, rows, strict=True):
                for call, position in self._release_entry(entry):
                    if call.gone:
                        continue
                    call.rows[position] = row
                    call.left -= 1
                    if not call.left:
                        call.gone = True
                        ready.append(call)
        answer_all(ready)

    def _fail(self, entries: Iterable[Entry], error: Callable[[], Exception]) -> None:
        """Fail the calls that wait for any of these. The lock is held."""
        failed: list[Call] = []
        for entry in entries:
            for call, _ in self._release_entry(entry):
                if not call.gone:
                    call.gone, call.error = True, error()
                    failed.append(call)
        self._caller_left = self._caller_left or bool(failed)
        answer_all(failed)

    def _release_entry(self, entry: Entry) -> list[tuple[Call, int]]:
        if self._entries.get(entry.key) is entry:
            del self._entries[entry.key]
        waiters, entry.waiters = entry.waiters, []
        return waiters
