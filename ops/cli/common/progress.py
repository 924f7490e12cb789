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
    steps; 1 for work of which a step takes long. `work`: what all steps come to, where they differ in size.
    """

    def __init__(self, what: str, stream: TextIO | None, *, total: int | None = None, every: int = STEPS_PER_LOOK, work: int | None = None) -> None:
        self._what = what
        self._stream = stream
        self._total = total
        self._work = work or total
        self._every = every
        self._watched = stream is not None and stream.isatty()
        self._next = time.monotonic() + WAIT_S
        #: When the first step was done, and what it came to: what was loaded before it says nothing of the pace.
        self._first: tuple[float, int] | None = None
        self._shown = False

    def step(self, count: int, done: int | None = None) -> None:
        """Say how far the run is. Looks at the clock once in `every` steps, so it may be called for every case. `done`: of the work."""
        if self._stream is None or not self._watched or (count % self._every and self._first is not None):
            return
        now = time.monotonic()
        done = count if done is None else done
        self._first = self._first or (now, done)
        if now >= self._next and not count % self._every:
            self._next = now + INTERVAL_S
            self._shown = True
            self._stream.write(f"\r{self._line(count, done, now)}")
            self._stream.flush()

    def _line(self, count: int, done: int, now: float) -> str:
        """The count; with a total also a bar, and the time that is left at this pace once there is one."""
        if not self._total or not self._work or self._first is None:
            return f"{count:,} {self._what}"
        filled = int(min(done / self._work, 1.0) * BAR_CELLS)
        begun, at_first = self._first
        left = "" if done <= at_first else f", {max((now - begun) / (done - at_first) * (self._work - done), 0.0):,.0f} s left"
        # Blanks at the end: a shorter line must not leave the last characters of a longer one behind.
        return f"[{'#' * filled}{'.' * (BAR_CELLS - filled)}] {count:,}/{self._total:,} {self._what}{left}  "

    def __enter__(self) -> Self:
        """The progress itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the line, so that what follows starts on its own."""
        if self._shown and self._stream is not None:
            self._stream.write("\n")
            self._stream.flush()
