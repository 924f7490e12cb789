"""Decides who may send a request while a judge's server answers nobody.

If a request fails while nobody is answered, the gate closes: one request at a time tries, and the others wait. If there is no answer for a whole deadline,
the server is away: cases that wait, and new ones, fail at once, and from time to time one of them tries. So a server that does not answer gets the requests
that were in flight, and then one at each interval, however it fails. After an answer, each answer allows one more request at a time.

A case may fail alone, for instance because its text makes the server hang, and a server with one place may serve nobody meanwhile. Hence a failure counts
only if nobody was answered since the request was sent; cases with fewer failures go first; and a single case that fails neither delays the others nor makes
the server count as away.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import Unavailable
from touchstone.scorers.judges.serve.faults import NO_CONNECTION, Fault
from touchstone.scorers.judges.settings import JudgeSettings

#: So many cases must have failed before the server can be away. Fewer may have failed because of their texts.
CASES_MIN: Final = 3
#: Timers may fire this much too early.
_TIMER_S: Final = 0.002
#: Cases whose failures are remembered.
_FAILED_MAX: Final = 10_000


@dataclass(slots=True, eq=False)
class Passage:
    """The right of a case to send one request. `round`: how often the gate had closed. `answers`: how many there had been when it was sent."""

    key: bytes
    round: int
    probes: bool = False
    answers: int = 0
    begun: float | None = None


class Gate:
    """Closed while a server answers nobody. `answers`: how many there were."""

    def __init__(self, settings: JudgeSettings, pace_s: Callable[[], float] = lambda: 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        """`pace_s`: the least seconds between two tries."""
        self._pace_s = pace_s
        self._new_backoff: Callable[[], Backoff] = lambda: Backoff(settings.retry_backoff_min_s, settings.retry_backoff_max_s)
        self._deadline_s = settings.deadline_s
        self._failures_max = settings.attempts_max
        self._concurrency = settings.concurrency
        self._clock = clock
        self._waiters: set[asyncio.Future[None]] = set()
        self._passages: set[Passage] = set()
        self._probe: Passage | None = None
        self._round = 0
        #: How many may send at a time; None: all.
        self._limit: int | None = None
        #: Case → how often it has failed while the gate was not wide open; and how many wait with so many failures.
        self._failures_of: Counter[bytes] = Counter()
        self._waiting: Counter[int] = Counter()
        self.answers = 0
        self._silence_ends()

    def _silence_ends(self) -> None:
        """Forget what counts only until the next answer."""
        self._code: str | None = None
        self._failed: set[bytes] = set()
        self._failures = 0
        self._concerns_all = self._waited_in_vain = False
        self._next_at, self._silent_at = 0.0, float("inf")
        self._backoff = self._new_backoff()

    @property
    def code(self) -> str | None:
        """Why the last request failed, while the gate is closed."""
        return self._code

    @property
    def is_up(self) -> bool:
        """False once the server counts as down: a few requests of different cases have failed in a row, or a case has waited in vain until its deadline."""
        return not (self._is_away or self._waited_in_vain or (self._failures >= self._failures_max and len(self._failed) >= CASES_MIN))

    def has_failed(self, key: bytes) -> bool:
        """True if a request for this case has failed since the last answer."""
        return key in self._failed

    def enter_at_once(self, key: bytes) -> Passage | None:
        """As `enter`, where nobody has to wait; None otherwise."""
        if self._code is not None or self._limit is not None:
            return None
        passage = Passage(key, self._round)
        self._passages.add(passage)
        return passage

    async def enter(self, key: bytes) -> Passage:
        """Wait until a case may send a request, at most for a deadline without an answer. Raises `Unavailable` if the server is away."""
        failures = self._failures_of[key] if self._failures_of else 0
        self._waiting[failures] += 1
        try:
            while not self._may_pass(failures):
                if self._may_probe(key, failures):
                    self._probe = Passage(key, self._round, probes=True)
                    self._passages.add(self._probe)
                    return self._probe
                if self._code is not None and (self._is_away or (self._is_silent and self.has_failed(key))):
                    raise Unavailable(self._code)
                await self._until_changed()
        except asyncio.CancelledError:
            self._wake()  # another one may be the next
            raise
        finally:
            self._waiting[failures] -= 1
            if not self._waiting[failures]:
                del self._waiting[failures]
        passage = Passage(key, self._round)
        self._passages.add(passage)
        return passage

    def begin(self, passage: Passage) -> bool:
        """Call this before a request is sent. False: the gate has closed meanwhile, so the case has to enter again."""
        if passage.round != self._round and not passage.probes:
            return False
        passage.answers, passage.begun = self.answers, self._clock()
        return True

    def end(self, passage: Passage) -> None:
        """Call this after a request, or if it is not sent after all."""
        self._passages.discard(passage)
        if self._probe is passage:
            self._probe = None
            if self._code is not None:
                self._pace()
        if self._code is not None or self._limit is not None:
            self._wake()

    def answered(self, passage: Passage) -> None:
        """Note an answer."""
        self.answers += 1
        if self._code is not None:
            self._silence_ends()
            self._limit = 1
        if self._limit is not None:
            del self._failures_of[passage.key]
            self._limit += 1
            if self._limit > self._concurrency:
                self._limit = None
                self._failures_of.clear()
            self._wake()

    def failed(self, passage: Passage, fault: Fault) -> None:
        """Note a request that failed, if the fault may pass."""
        if passage.answers == self.answers and passage.begun is not None:
            self._close(passage.key, fault.code, passage.begun, concerns_all=fault is NO_CONNECTION or fault.code == "judge_quota")

    def hindered(self) -> None:
        """Note that no case can send a request now, for want of money. Without a request nobody fails any more, and those that wait would wait for ever."""
        if self._code is not None:
            self._concerns_all = True
            self._wake()

    def waited_in_vain(self, key: bytes, code: str, answers: int) -> None:
        """Note that a case was not answered within its deadline. `answers`: how many there had been when the case began."""
        if answers == self.answers:
            self._waited_in_vain = True
            if not self.has_failed(key):
                self._close(key, code, self._clock() - self._deadline_s)

    def _close(self, key: bytes, code: str, begun: float, *, concerns_all: bool = False) -> None:
        """`concerns_all`: the failure cannot be due to the case's text."""
        if self._code is None:
            self._round += 1
            self._pace()
            self._silent_at = begun + self._deadline_s
        self._code = code
        self._failures += 1
        if len(self._failures_of) < _FAILED_MAX:
            self._failed.add(key)
            self._failures_of[key] += 1
        self._concerns_all |= concerns_all
        self._wake()

    @property
    def _is_silent(self) -> bool:
        """True if nobody has been answered for a whole deadline."""
        return self._clock() >= self._silent_at

    @property
    def _is_away(self) -> bool:
        """True if no case need wait any longer."""
        return self._is_silent and (len(self._failed) >= CASES_MIN or self._concerns_all)

    def _may_pass(self, failures: int) -> bool:
        """True if the gate is open for a case with so many failures."""
        if self._code is not None or self._limit is None:
            return self._code is None
        return failures <= min(self._waiting) and sum(one.round == self._round for one in self._passages) < self._limit

    def _may_probe(self, key: bytes, failures: int) -> bool:
        """True if the gate is closed and it is this case's turn to try."""
        if self._code is None:
            return False
        is_new = not self.has_failed(key)
        if is_new and len(self._failed) <= 1 and all(one.begun is None or self.has_failed(one.key) for one in self._passages) and self._probe is None:
            return True  # as far as we know, it is that one case which fails
        if self._clock() < self._next_at or failures > min(self._waiting):
            return False
        return self._probe is None or (is_new and self.has_failed(self._probe.key))

    def _pace(self) -> None:
        """Let nobody try before the next interval is over."""
        self._next_at = self._clock() + max(self._backoff.next_s(), self._pace_s())

    async def _until_changed(self) -> None:
        """Wait until something has changed, or it is time for a try or for giving up.

        Each waits by its own clock: a judge may be asked from one event loop after another, and a timer ends with its loop.
        """
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(turn)
        now = self._clock()
        try:
            await asyncio.wait({turn}, timeout=min((at - now + _TIMER_S for at in (self._next_at, self._silent_at) if at > now), default=None))
        finally:
            self._waiters.discard(turn)

    def _wake(self) -> None:
        """Let those that wait look again."""
        for turn in self._waiters:
            if not turn.done():
                turn.set_result(None)
