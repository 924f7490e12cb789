"""What keeps all cases of a process together within what a server allows: requests in flight, requests and tokens per minute, and the pauses it asks for."""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable

from aiolimiter import AsyncLimiter

from touchstone.scorers.judges.settings import JudgeSettings

#: One more request in flight after this long without a 429.
CLEAN_S = 1.0
#: Of a rate's minute, so much may come at once; the rest is spread over it, so that no minute anywhere holds more than the rate.
_AT_ONCE = 0.1
#: Calls that waited for a pause start within this share of it after its end, not all at one instant.
_SPREAD = 0.1
_SPREAD_S_MAX = 1.0


class Limits:
    """The limits of one model. Every request of the process lines up, waits for a pause to end, is sent, and leaves."""

    def __init__(self, settings: JudgeSettings, clock: Callable[[], float] = time.monotonic, uniform: Callable[[float, float], float] = random.uniform) -> None:
        self.places = Places(settings.concurrency, clock)
        self._rates = (Rate(settings.requests_per_minute), Rate(settings.tokens_per_minute))
        self._pause_s_max = settings.retry_after_max_s
        self._clock = clock
        self._uniform = uniform
        self._paused_until = 0.0

    async def line_up(self, tokens: int) -> None:
        """Wait for a place and for both rates, for a request of about so many tokens; `leave` gives the place back."""
        await self.places.take()
        try:
            for rate, amount in zip(self._rates, (1, tokens), strict=True):
                await rate.take(amount)
        except asyncio.CancelledError:
            self.leave()
            raise

    async def pause(self) -> None:
        """Wait while the server wants to be left alone."""
        while (left_s := self.pause_left_s) > 0:  # noqa: ASYNC110 -- it may have been prolonged meanwhile
            await asyncio.sleep(left_s + self._uniform(0, min(left_s * _SPREAD, _SPREAD_S_MAX)))

    def leave(self) -> None:
        """Give the place back."""
        self.places.free()

    def told_to_wait(self, begun: float, retry_after_s: float | None) -> None:
        """Note a 429 for a request that was sent at `begun` (by the clock): fewer at a time, and none at all until the server wants to be asked again."""
        self.places.halve(begun)
        if retry_after_s is not None:
            self.pause_for(retry_after_s)

    def pause_for(self, seconds: float) -> None:
        """Send nothing for so long, within the bound."""
        self._paused_until = max(self._paused_until, self._clock() + min(seconds, self._pause_s_max))

    @property
    def pause_left_s(self) -> float:
        """How long nothing is sent from now on."""
        return max(0.0, self._paused_until - self._clock())


class Rate:
    """So much per minute, first come, first served. 0: without limit."""

    def __init__(self, per_minute: int) -> None:
        self._at_once = max(1.0, per_minute * _AT_ONCE)
        # What may come at once comes on top of what flows, so that flows slower.
        spread = per_minute - self._at_once if self._at_once > 1 else per_minute
        self._limiter = AsyncLimiter(self._at_once, self._at_once * 60 / spread) if per_minute else None
        # The limiter alone serves the smallest first, and a long case would never be asked.
        self._line = asyncio.Lock()

    async def take(self, amount: float) -> None:
        """Wait until so much more is within the rate."""
        if self._limiter is None:
            return
        async with self._line:
            while amount > 0:
                await self._limiter.acquire(min(amount, self._at_once))
                amount -= self._at_once


class Places:
    """Places for requests in flight, first come, first served: half as many after a 429, one more for every while without."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._changed_at = clock()
        self._halved_at = float("-inf")
        self.limit = most
        self.used = 0

    async def take(self) -> None:
        """Wait for a place."""
        self._grow()
        if self.used < self.limit and not self._waiting:
            self.used += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.free()  # the place came in the same instant
            raise

    def free(self) -> None:
        """Give a place back."""
        self.used -= 1
        self._grow()
        self._wake()

    def halve(self, begun: float) -> None:
        """Halve the places, once for all requests that were in flight together: those sent before the last time tell nothing new."""
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
