"""Delays between attempts: growing, and random so that clients do not retry in step."""

import random
from collections.abc import Callable


class Backoff:
    """Random delays ("full jitter"): from `min_s` up to a ceiling that doubles with each attempt, at most `max_s`."""

    __slots__ = ("_ceiling_s", "_max_s", "_min_s", "_uniform")

    def __init__(self, min_s: float, max_s: float, uniform: Callable[[float, float], float] = random.uniform) -> None:
        """`uniform(low, high)` draws a delay; tests replace it."""
        self._max_s = max_s
        self._min_s = min(min_s, max_s)
        self._uniform = uniform
        self._ceiling_s = 0.0
        self.reset()

    def next_s(self) -> float:
        """The seconds to wait before the next attempt."""
        delay_s = self._uniform(self._min_s, self._ceiling_s)
        self._ceiling_s = min(self._ceiling_s * 2, self._max_s)
        return delay_s

    def reset(self) -> None:
        """Start again from the shortest delay, after an attempt that succeeded."""
        self._ceiling_s = min(self._min_s * 2, self._max_s)
