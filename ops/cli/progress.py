"""Progress for people: on a terminal, on standard error, and only when a run is long."""

import time
from types import TracebackType
from typing import Self, TextIO

WAIT_S = 2.0
INTERVAL_S = 0.2
STEPS_PER_LOOK = 64


class Progress:
    """Rewrites one line with a count, beginning two seconds after it was made; silent where no person watches."""

    def __init__(self, what: str, stream: TextIO | None) -> None:
        self._what = what
        self._stream = stream
        self._watched = stream is not None and stream.isatty()
        self._next = time.monotonic() + WAIT_S
        self._shown = False

    def step(self, count: int) -> None:
        """Say how far the run is. Looks at the clock once in 64 steps, so it may be called for every case."""
        if self._stream is None or not self._watched or count % STEPS_PER_LOOK:
            return
        now = time.monotonic()
        if now >= self._next:
            self._next = now + INTERVAL_S
            self._shown = True
            self._stream.write(f"\r{count:,} {self._what}")
            self._stream.flush()

    def __enter__(self) -> Self:
        """The progress itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the line, so that what follows starts on its own."""
        if self._shown and self._stream is not None:
            self._stream.write("\n")
            self._stream.flush()
