"""A breaker per stage: while a model or a service is unavailable, one case asks it and all others wait.

A stage is identified by the code of the `Unavailable` that reports it. It is down from then on, until a case that it had
failed is answered, or until no case is left that it has failed. Cases take turns in asking, so one that a stage never answers
blocks no other case forever.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import Lost, Unavailable

T = TypeVar("T")


class BreakerEvents(Protocol):
    """Receives the state changes of stages."""

    def failed(self, code: str) -> None:
        """An attempt found the stage unavailable."""
        ...

    def opened(self, code: str) -> None:
        """The stage has gone down."""
        ...

    def closed(self, code: str) -> None:
        """The stage no longer counts as down."""
        ...


@dataclass(slots=True, eq=False)
class _Stage:
    """A stage that is down. `needed_by`: cases that it has failed. `turn`: held by the case that asks; first come, first served."""

    code: str
    backoff: Backoff
    needed_by: int = 0
    down: bool = True
    tired: bool = True
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Breaker:
    """Lets cases ask all at once while every stage answers, and one at a time while one does not."""

    def __init__(self, backoff: Callable[[], Backoff], events: BreakerEvents) -> None:
        """`backoff`: makes the delays between the attempts of one outage."""
        self._backoff = backoff
        self._events = events
        self._down: dict[str, _Stage] = {}

    @property
    def is_open(self) -> bool:
        """Whether some stage is down."""
        return bool(self._down)

    async def call(self, ask: Callable[[], Awaitable[T]], error: Unavailable | None = None) -> T:
        """Ask until there is an answer, and return it. `error`: the error of a first attempt, where one was made.

        Raises `Lost`, and whatever else `ask` raises that is not `Unavailable`.
        """
        needs: _Stage | None = None
        try:
            while True:
                if error is not None:
                    needs, error = self._fail(error, needs), None
                stage = needs if needs is not None and needs.down else next(iter(self._down.values()), None)
                try:
                    if stage is None:
                        return await ask()
                    async with stage.turn:
                        if not stage.down:
                            continue  # it answered another case meanwhile: all ask again
                        if stage.tired:
                            await asyncio.sleep(stage.backoff.next_s())
                            stage.tired = False
                        answer = await ask()
                        # The answer to a case that may never have needed the stage proves nothing: the next one asks at once.
                        if stage is needs:
                            self._close(stage)
                        return answer
                except Unavailable as told:
                    error = told
        finally:
            self._leave(needs)

    def _fail(self, error: Unavailable, needs: _Stage | None) -> _Stage:
        """Note that a stage has failed a case; return it. Raises `Lost`: waiting would not bring that back."""
        stage = self._down.get(error.code)
        if stage is None:
            stage = self._down[error.code] = _Stage(error.code, self._backoff())
            self._events.opened(error.code)
        self._events.failed(error.code)
        if isinstance(error, Lost):
            raise error
        stage.tired = True
        if stage is not needs:
            stage.needed_by += 1
            self._leave(needs)
        return stage

    def _leave(self, stage: _Stage | None) -> None:
        """Remove a case from a stage; once the last case has left, the stage no longer counts as down."""
        if stage is not None:
            stage.needed_by -= 1
            if not stage.needed_by:
                self._close(stage)

    def _close(self, stage: _Stage) -> None:
        """Let all cases ask again."""
        if stage.down:
            stage.down = False
            del self._down[stage.code]
            self._events.closed(stage.code)
