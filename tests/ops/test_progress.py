import io
import re

import pytest

from touchstone.ops.cli.common.progress import Progress

_CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> str:
        """What was written, without what moves the cursor and colours."""
        return _CODES.sub("", self.getvalue())


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    at = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: at[0])
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return at


def test_a_counter_is_shown_on_a_terminal_after_two_seconds_and_taken_away_at_the_end(now: list[float]) -> None:
    terminal = Terminal()
    with Progress("cases scored", terminal) as progress:
        progress.step(64)
        assert terminal.shown == ""
        now[0] = 3.0
        progress.step(65)
        assert terminal.shown == ""  # it looks at the clock once in 64 steps
        progress.step(128)
    assert "128 cases scored" in terminal.shown
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is cleared


def test_a_known_total_is_shown_as_a_bar(now: list[float]) -> None:
    terminal = Terminal()
    with Progress("summaries scored", terminal, total=12, every=1) as progress:
        now[0] = 1.0
        progress.step(1)
        now[0] = 3.0
        progress.step(6)
    (line,) = [line for line in terminal.shown.splitlines() if line.startswith("6 summaries scored")]
    assert line.count("━") >= 12
    assert "-:--:--" in line or re.search(r"\d:\d\d:\d\d", line)


def test_steps_of_different_sizes_count_by_their_work(now: list[float]) -> None:
    terminal = Terminal()
    with Progress("files validated", terminal, total=1_000, every=1) as progress:
        now[0] = 4.0
        progress.step(2, 500)
        assert progress._bar is not None
        assert progress._bar.tasks[0].percentage == 50
    assert "2 files validated" in terminal.shown


def test_it_is_silent_where_nobody_watches(now: list[float]) -> None:
    pipe = io.StringIO()
    with Progress("cases scored", pipe) as progress:
        now[0] = 10.0
        progress.step(64)
    assert pipe.getvalue() == ""


def test_a_run_that_asks_for_lines_gets_one_every_ten_seconds_in_a_log(now: list[float]) -> None:
    pipe = io.StringIO()
    with Progress("tests evaluated", pipe, total=40, every=1, lines=True) as progress:
        for at, done in ((1.0, 1), (3.0, 2), (4.0, 3), (13.0, 4), (22.9, 5), (60.0, 40)):
            now[0] = at
            progress.step(done)
    assert pipe.getvalue().splitlines() == ["2 of 40 tests evaluated", "4 of 40 tests evaluated", "40 of 40 tests evaluated"]


def test_the_last_count_stands_in_the_log_of_a_run_that_has_lines(now: list[float]) -> None:
    pipe = io.StringIO()
    with Progress("tests evaluated", pipe, total=12, every=1, lines=True) as progress:
        for at, done in ((2.5, 1), (4.0, 12)):
            now[0] = at
            progress.step(done)
    assert pipe.getvalue().splitlines() == ["1 of 12 tests evaluated", "12 of 12 tests evaluated"]


def test_a_short_run_says_nothing(now: list[float]) -> None:
    terminal = Terminal()
    with Progress("cases scored", terminal, every=1) as progress:
        progress.step(1)
    assert terminal.getvalue() == ""


def test_without_a_stream_it_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    with Progress("cases") as progress:
        progress.step(64)
