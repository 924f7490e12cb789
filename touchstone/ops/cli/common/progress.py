"""Progress for people, on standard error, and only when a run is long: a bar on a terminal, lines in the log of a run that asks for them."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

import typer

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

WAIT_S = 2.0
#: Between two lines of a log.
LINE_S = 10.0
#: Steps between two looks at the clock; 1 if a step takes long.
STEPS_PER_LOOK = 64


class Progress:
    """A bar or a counter that appears two seconds after it was made; silent where the output is not a terminal, unless `lines` is set.

    `total`: how much there will be, for a bar and the time that is left; None for a counter alone. `lines`: off a terminal, print a line every ten seconds.
    """

    def __init__(self, what: str, stream: TextIO | None = None, *, total: int | None = None, every: int = STEPS_PER_LOOK, lines: bool = False) -> None:
        self._what = what
        self._stream = sys.stderr if stream is None else stream
        self._total = total
        self._every = every
        self._watched = self._stream is not None and self._stream.isatty()
        self._lines = lines and self._stream is not None and not self._watched
        self._at = time.monotonic() + WAIT_S
        #: Counts: the last step, and the one that was printed last, if any was.
        self._count = 0
        self._printed: int | None = None
        self._bar: RichProgress | None = None
        self._task: Any = None

    def step(self, count: int, done: int | None = None) -> None:
        """Report progress; may be called for every case. `done`: part of the total, if steps differ in size."""
        self._count = count
        if self._lines and time.monotonic() >= self._at:
            self._print_line(count)
        if not self._watched or (count % self._every and self._bar is None):
            return
        if self._bar is None:
            if time.monotonic() < self._at:
                return
            self._open()
        if self._bar is not None:
            self._bar.update(self._task, completed=count if done is None else done, description=f"{count:,} {self._what}")

    def _print_line(self, count: int) -> None:
        self._at, self._printed = time.monotonic() + LINE_S, count
        of_all = f" of {self._total:,}" if self._total else ""
        typer.echo(f"{count:,}{of_all} {self._what}", file=self._stream)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (BarColumn(24), TimeRemainingColumn()) if self._total else (SpinnerColumn(), TimeElapsedColumn())
        self._bar = Progress(TextColumn("{task.description}"), *columns, console=Console(file=self._stream), transient=True)
        self._task = self._bar.add_task(self._what, total=self._total)
        self._bar.start()

    def __enter__(self) -> Self:
        """The progress itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Remove the line, so that later output starts on a fresh one. A log that has lines gets the last count too."""
        if self._printed not in (None, self._count):
            self._print_line(self._count)
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Shows the current step in one line that disappears at the end. Silent if standard error is not a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("…") as status:
        yield lambda line: status.update(escaped(line))


def escaped(line: str) -> str:
    """The line with rich's markup escaped."""
    from rich.markup import escape

    return escape(line)
