"""Keeps all cases of a process within a server's limits: requests in flight, requests and tokens per minute, and the pauses that it asks for."""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable

from aiolimiter import AsyncLimiter

from touchstone.scorers.judges.settings import JudgeSettings

#: After this time without a 429, one more request may be in flight.
CLEAN_S = 1.0
#: The share of a minute's rate that may be used at once. The rest is spread out, so that no minute has more than the rate, wherever it begins.
_AT_ONCE = 0.1
#: After a pause, requests start within this share of its length, and not all at once.
_SPREAD = 0.1
_SPREAD_S_MAX = 1.0


class Limits:
    """The limits of one model. Every request of the process lines up, waits until a pause ends, is sent, and leaves."""

    def __init__(self, settings: JudgeSettings, clock: Callable[[], float] = time.monotonic, uniform: Callable[[float, float], float] = random.uniform) -> None:
        self.places = Places(settings.concurrency, clock)
        self._rates = (Rate(settings.requests_per_minute), Rate(settings.tokens_per_minute))
        self._pause_s_max = settings.retry_after_max_s
        self._clock = clock
        self._uniform = uniform
        self._paused_until = 0.0

    def take_at_once(self) -> bool:
        """Take a place if one is free and there are no rates; `leave` frees it."""
        return not any(rate.is_limited for rate in self._rates) and self.places.take_at_once()

    async def line_up(self, tokens: int) -> None:
        """Wait for a place and for both rates. `tokens`: estimate for the request. `leave` frees the place."""
        await self.places.take()
        try:
            for rate, amount in zip(self._rates, (1, tokens), strict=True):
                await rate.take(amount)
        except asyncio.CancelledError:
            self.leave()
            raise

    async def pause(self) -> None:
        """Wait until the pause that the server asked for is over."""
        while (left_s := self.pause_left_s) > 0:  # noqa: ASYNC110 -- another request may prolong it
            await asyncio.sleep(left_s + self._uniform(0, min(left_s * _SPREAD, _SPREAD_S_MAX)))

    def leave(self) -> None:
        """Free the place."""
        self.places.free()

    def slow_down(self, begun: float, retry_after_s: float | None) -> None:
        """After a 429: halve the places, and send nothing until the server accepts requests again. `begun`: when the request was sent, by the clock."""
        self.places.halve(begun)
        if retry_after_s is not None:
            self.pause_for(retry_after_s)

    def pause_for(self, seconds: float) -> None:
        """Send nothing for so many seconds, at most `retry_after_max_s`."""
        self._paused_until = max(self._paused_until, self._clock() + min(seconds, self._pause_s_max))

    @property
    def pause_left_s(self) -> float:
        """Seconds until requests are sent again."""
        return max(0.0, self._paused_until - self._clock())


class Rate:
    """An amount per minute, first come, first served. 0: no limit."""

    def __init__(self, per_minute: int) -> None:
        self._at_once = max(1.0, per_minute * _AT_ONCE)
        # The burst comes on top of the steady rate, so the steady rate is lower.
        spread = per_minute - self._at_once if self._at_once > 1 else per_minute
        self._limiter = AsyncLimiter(self._at_once, self._at_once * 60 / spread) if per_minute else None
        # The limiter alone serves the smallest amount first, and long cases would starve.
        self._line = asyncio.Lock()

    @property
    def is_limited(self) -> bool:
        """True if there is a limit."""
        return self._limiter is not None

    async def take(self, amount: float) -> None:
        """Wait until the amount is within the rate."""
        if self._limiter is None:
            return
        async with self._line:
            while amount > 0:
                await self._limiter.acquire(min(amount, self._at_once))
                amount -= self._at_once


class Places:
    """Places for requests in flight, first come, first served: half as many after a 429, then one more for each second without."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._changed_at = clock()
        self._halved_at = float("-inf")
        self.limit = most
        self.used = 0

    def take_at_once(self) -> bool:
        """Take a place if one is free."""
        self._grow()
        if self.used >= self.limit or self._waiting:
            return False
        self.used += 1
        return True

    async def take(self) -> None:
        """Wait for a place."""
        if self.take_at_once():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.free()  # the place was assigned at the same moment
            raise

    def free(self) -> None:
        """Free a place."""
        self.used -= 1
        self._grow()
        self._wake()

    def halve(self, begun: float) -> None:
        """Halve the places, once for all requests in flight together. `begun`: a request sent before the last halving says nothing new."""
        if begun > self._halved_at:
            self.limit = max(1, self.limit // 2)
            self._halved_at = self._changed_at = self._clock()

    def _grow(self) -> None:
        now = self._clock()
        if self.limit < self._most and now - self._changed_at >= CLEAN_S:
            self.limit += 1
            self._changed_at = now

    def _wake(self) -> None:
        while self._waiting and self.used < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.used += 1
                turn.set_result(None)
