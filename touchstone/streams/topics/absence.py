"""Reports that a broker is away: once when it goes, once when it is back."""

import time
from collections.abc import Callable

#: Shows the user one line.
Say = Callable[[str], None]


class Absence:
    """Tracks whether a broker is away. `gone` and `back` may be called at every look; each change is one line."""

    def __init__(self, say: Say | None, *, when_gone: str, when_back: str) -> None:
        self._say = say
        self._when_gone = when_gone
        self._when_back = when_back
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        """How long it has been away; 0 while it is there."""
        return 0.0 if self._since is None else time.monotonic() - self._since

    def gone(self) -> None:
        """Note that it does not answer."""
        if self._since is None:
            self._since = time.monotonic()
            self._show(self._when_gone)

    def back(self) -> None:
        """Note that it has answered."""
        if self._since is not None:
            self._since = None
            self._show(self._when_back)

    def _show(self, line: str) -> None:
        if self._say is not None:
            self._say(line)
