"""Progress for people: on a terminal, on standard error, and only when a run is long."""

import time
from types import TracebackType
from typing import Self, TextIO

WAIT_S = 2.0
INTERVAL_S = 0.2
STEPS_PER_LOOK = 64
BAR_CELLS = 24


class Progress:
    """Rewrites one line with a count, beginning two seconds after it was made; silent where no person watches.

    `total`: how many steps there will be, for a bar and the time that is left. `every`: look at the clock once in so many
    steps; 1 for work of which a step takes long.
    """

    def __init__(self, what: str, stream: TextIO | None, *, total: int | None = None, every: int = STEPS_PER_LOOK) -> None:
        self._what = what
        self._stream = stream
        self._total = total
        self._every = every
        self._begun = time.monotonic()
        self._watched = stream is not None and stream.isatty()
        self._next = self._begun + WAIT_S
        self._shown = False

    def step(self, count: int) -> None:
        """Say how far the run is. Looks at the clock once in `every` steps, so it may be called for every case."""
        if self._stream is None or not self._watched or count % self._every:
            return
        now = time.monotonic()
        if now >= self._next:
            self._next = now + INTERVAL_S
            self._shown = True
            self._stream.write(f"\r{self._line(count, now)}")
            self._stream.flush()

    def _line(self, count: int, now: float) -> str:
        """The count; with a total also a bar, and the time that is left at this pace."""
        if not self._total:
            return f"{count:,} {self._what}"
        done = min(count / self._total, 1.0)
        filled = int(done * BAR_CELLS)
        left_s = (now - self._begun) / count * (self._total - count) if count else 0.0
        # Two spaces at the end: a shorter line must not leave the last characters of a longer one behind.
        return f"[{'#' * filled}{'.' * (BAR_CELLS - filled)}] {count:,}/{self._total:,} {self._what}, {max(left_s, 0.0):,.0f} s left  "

    def __enter__(self) -> Self:
        """The progress itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the line, so that what follows starts on its own."""
        if self._shown and self._stream is not None:
            self._stream.write("\n")
            self._stream.flush()
