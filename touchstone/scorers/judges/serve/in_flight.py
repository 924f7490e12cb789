"""Identical questions that are asked at the same time share one answer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Flight(Generic[T]):
    """A question in flight, and how many callers wait for its answer."""

    def __init__(self, task: asyncio.Task[T]) -> None:
        self.task = task
        self.waiting = 0


class InFlight(Generic[T]):
    """Questions in flight. One that nobody waits for any more is cancelled."""

    def __init__(self) -> None:
        self._flights: dict[Any, _Flight[T]] = {}

    async def ask(self, question: Any, answer: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """The answer, and True if it was shared with an earlier caller. `answer` returns its failures, so that each caller can raise its own exception."""
        flight = self._flights.get(question)
        shared = flight is not None
        if flight is None:
            flight = self._flights[question] = _Flight(asyncio.ensure_future(answer()))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task), shared
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                if self._flights.get(question) is flight:
                    del self._flights[question]
                flight.task.cancel()

    async def close(self) -> None:
        """Cancel all questions."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
