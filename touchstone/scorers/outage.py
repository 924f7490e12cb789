"""A server that has been away for longer than cases wait: they are told at once, and one of them asks now and then whether it is back."""

import time
from collections.abc import Callable
from typing import Final

from touchstone.scorers.base import Unavailable

#: So many cases in a row must have waited in vain until their deadlines.
WAITED_MIN: Final = 3


class Away:
    """Counts cases that waited in vain. A thousand cases in a file must not each wait for a server that nobody has reached."""

    def __init__(self, ask_every_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask_every_s, self._clock = ask_every_s, clock
        self._waited = 0
        self._code = ""
        self._ask_at = 0.0

    def check(self) -> None:
        """Pass a case on that may ask. Raises `Unavailable` for any other while the server is away."""
        if self._waited < WAITED_MIN:
            return
        if self._clock() < self._ask_at:
            raise Unavailable(self._code)
        self._ask_at = self._clock() + self._ask_every_s

    def waited(self, code: str) -> None:
        """A case has waited until its deadline."""
        self._waited += 1
        self._code = code
        if self._waited == WAITED_MIN:
            self._ask_at = self._clock() + self._ask_every_s

    def answered(self) -> None:
        """The server has answered a case."""
        self._waited = 0
