"""A breaker per stage: while a model or a service is unavailable, one case asks it and all others wait.

A stage is identified by the code of the `Unavailable` that reports it. It is down until it answers a case that it had failed, or
until no such case is left. Cases take turns in asking, so a case that never gets an answer does not block the others forever.
A stage that no case waits for may or may not work: all cases ask at once again, but its delays start from the shortest only
after an answer.

A stage may also begin to hang while it is down. A timeout counts as a failed attempt. After a few in a row, waiting in line would
cost every case its whole time limit, so all ask at once, as they do while no stage is down.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import Lost, Unavailable

T = TypeVar("T")

#: A case fails after this many timeouts; after this many in a row of one stage, all cases ask at once.
TIMEOUTS_MAX = 3


class BreakerEvents(Protocol):
    """Receives the state changes of stages."""

    def failed(self, code: str) -> None:
        """An attempt found the stage unavailable."""
        ...

    def opened(self, code: str) -> None:
        """The stage has gone down."""
        ...

    def closed(self, code: str) -> None:
        """The stage answers again."""
        ...


@dataclass(slots=True, eq=False)
class _Stage:
    """A stage that has failed and has not answered since.

    `needed_by`: cases that it has failed and that have no answer yet. `down`: cases take turns in asking it. `turn`: held by
    the case that asks; first come, first served. `tired`: it failed last, so the next attempt waits. `timeouts`: in a row.
    """

    code: str
    backoff: Backoff
    needed_by: int = 0
    down: bool = True
    tired: bool = True
    timeouts: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Breaker:
    """Lets cases ask all at once while every stage answers, and one at a time while one does not."""

    def __init__(self, backoff: Callable[[], Backoff], events: BreakerEvents) -> None:
        """`backoff`: makes the delays between the attempts of one outage."""
        self._backoff = backoff
        self._events = events
        self._failed: dict[str, _Stage] = {}  # until they answer
        self._down: dict[str, _Stage] = {}  # those of them for which cases wait

    @property
    def is_open(self) -> bool:
        """True if a stage is down."""
        return bool(self._down)

    @property
    def down(self) -> tuple[str, ...]:
        """The codes of the stages that are down, in order. Read from another thread, too."""
        return tuple(sorted(self._down.copy()))

    @property
    def is_settled(self) -> bool:
        """True if every stage that was ever unavailable has answered since. Until then, cases must use `call`, which notices the answer."""
        return not self._failed

    async def call(self, ask: Callable[[], Awaitable[T]], error: Unavailable | None = None) -> T:
        """Ask until there is an answer, and return it. `error`: the error of an attempt that was made before.

        Raises `Lost`, and whatever else `ask` raises that is not `Unavailable`; `TimeoutError`, while a stage is down, only the third time.
        """
        failed_by: list[_Stage] = []  # the latest last
        timeouts = 0
        try:
            while True:
                if error is not None:
                    self._fail(error, failed_by)
                    error = None
                needs = failed_by[-1] if failed_by else None
                stage = needs if needs is not None and needs.down else next(iter(self._down.values()), None)
                try:
                    if stage is None:
                        # No case waits for these stages any more, so any answer shows that they work.
                        unneeded = [one for one in self._failed.values() if not one.needed_by]
                        answer = await ask()
                        self._answered([*failed_by, *(one for one in unneeded if not one.needed_by)])
                        return answer
                    async with stage.turn:
                        if not stage.down:
                            continue  # it has answered another case meanwhile: all ask again
                        if stage.tired:
                            await asyncio.sleep(stage.backoff.next_s())
                            stage.tired = False
                        try:
                            answer = await ask()
                        except TimeoutError:
                            timeouts += 1
                            self._time_out(stage)
                            if timeouts >= TIMEOUTS_MAX:
                                raise
                            continue
                        # The answer to a case that may never have needed the stage proves nothing: the next one asks at once.
                        self._answered(failed_by)
                        return answer
                except Unavailable as unavailable:
                    error = unavailable
        finally:
            self._leave(failed_by)

    def _fail(self, error: Unavailable, failed_by: list[_Stage]) -> None:
        """Record that a stage has failed a case. Raises `Lost`: waiting would not help."""
        stage = self._failed.get(error.code)
        if stage is None:
            stage = self._failed[error.code] = _Stage(error.code, self._backoff())
            self._events.opened(error.code)
        stage.down = stage.tired = True
        stage.timeouts = 0
        self._down.setdefault(error.code, stage)
        self._events.failed(error.code)
        if isinstance(error, Lost):
            raise error
        # A case stays with every stage that has failed it: another stage's failure does not show that this one works.
        if stage in failed_by:
            failed_by.remove(stage)
        else:
            stage.needed_by += 1
        failed_by.append(stage)

    def _time_out(self, stage: _Stage) -> None:
        """Record an attempt that timed out while the stage was down."""
        self._events.failed(stage.code)
        stage.tired = True
        stage.timeouts += 1
        if stage.timeouts >= TIMEOUTS_MAX:
            self._release(stage)

    def _leave(self, failed_by: list[_Stage]) -> None:
        """Remove a case from its stages, and release those without cases."""
        for stage in failed_by:
            stage.needed_by -= 1
            if not stage.needed_by:
                self._release(stage)

    def _release(self, stage: _Stage) -> None:
        """Let all cases ask again, without an event: nobody knows yet if the stage answers."""
        stage.down = False
        if self._down.get(stage.code) is stage:
            del self._down[stage.code]

    def _answered(self, stages: list[_Stage]) -> None:
        """Record that stages answer again, and let all cases ask."""
        for stage in stages:
            if self._failed.get(stage.code) is stage:
                self._release(stage)
                del self._failed[stage.code]
                self._events.closed(stage.code)
