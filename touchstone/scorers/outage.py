"""A long outage of a server: cases fail at once instead of each waiting until its deadline, and one of them tries from time to time."""

import time
from collections.abc import Callable
from typing import Final

from touchstone.scorers.base import Unavailable

#: An outage begins when so many cases in a row have waited in vain until their deadlines.
WAITED_MIN: Final = 3


class Outage:
    """Counts cases that waited in vain. Without it, each of a thousand cases in a file would wait for a server that is down."""

    def __init__(self, try_every_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._try_every_s, self._clock = try_every_s, clock
        self._waited = 0
        self._code = ""
        self._try_at = 0.0

    def check(self) -> None:
        """Return if this case may ask. Raises `Unavailable` for the others during an outage."""
        if self._waited < WAITED_MIN:
            return
        if self._clock() < self._try_at:
            raise Unavailable(self._code)
        self._try_at = self._clock() + self._try_every_s

    def waited(self, code: str) -> None:
        """Note that a case has waited in vain until its deadline."""
        self._waited += 1
        self._code = code
        if self._waited == WAITED_MIN:
            self._try_at = self._clock() + self._try_every_s

    def answered(self) -> None:
        """Note that the server has answered a case."""
        self._waited = 0
