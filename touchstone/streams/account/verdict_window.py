"""Verdicts of the latest time, counted by spans: a span is counted again only after results of it were written.

A count of a day of results reads a million rows. Here it reads them once, at the start and in steps, and later only the span that is still running and those
that a replay has touched. What is removed from the store counts until its span ends.
"""

import threading
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from touchstone.streams.account.judge_port import JudgeSource, Verdicts, Way
from touchstone.streams.account.projection import ResultRow

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
#: Spans of a window. The window is that much coarser than its settings say: it moves on by a span.
SPANS: Final = 96
#: Counting pauses after this time, and goes on at the next look.
COUNT_S: Final = 1.0


class VerdictWindow:
    """Counts for the results of the last `window_s` seconds. `touch` may be called from another thread than the rest."""

    def __init__(self, source: JudgeSource, window_s: float) -> None:
        self._source = source
        self._span = max(1, round(window_s * 1e6 / SPANS))
        self._wanted: dict[str, tuple[str, ...]] = {}
        self._counted: dict[tuple[str, int], dict[Way, Verdicts]] = {}
        self._touched: set[tuple[str, int]] = set()
        self._lock = threading.Lock()
        self._last = 0

    def watch(self, wanted: Mapping[str, Iterable[str]]) -> None:
        """Which suites to count, and by which values beside their labels. A suite for which others are wanted than before is counted anew."""
        now = {suite: tuple(sorted(values)) for suite, values in wanted.items()}
        kept = {suite for suite, values in now.items() if self._wanted.get(suite) == values}
        self._counted = {place: counts for place, counts in self._counted.items() if place[0] in kept}
        self._wanted = now

    def touch(self, rows: Iterable[ResultRow]) -> None:
        """Results were written, or may have been."""
        with self._lock:
            self._touched.update((row.suite, (row.scored_at - _EPOCH) // _MICROSECOND // self._span) for row in rows if row.suite in self._wanted)

    def count(self, now: float, count_s: float = COUNT_S) -> bool:
        """Count what is not counted yet, the latest first; False if the time was too short for all of it."""
        self._last = int(now * 1e6) // self._span
        with self._lock:
            touched, self._touched = self._touched, set()
        first = self._last - SPANS + 1
        self._counted = {place: counts for place, counts in self._counted.items() if first <= place[1] <= self._last and place not in touched}
        until = time.monotonic() + count_s
        for number in range(self._last, first - 1, -1):
            for suite, values in self._wanted.items():
                if (suite, number) in self._counted:
                    continue
                if time.monotonic() >= until:
                    return False
                self._counted[suite, number] = self._source.verdicts(suite, values, number * self._span, (number + 1) * self._span)
        return True

    def bounds(self) -> tuple[int, int]:
        """The window as it was counted last, in microseconds since the epoch. Its last span is still running."""
        return (self._last - SPANS + 1) * self._span, (self._last + 1) * self._span

    def totals(self, suite: str) -> dict[Way, Verdicts]:
        """Verdicts of a suite in the window, by what its results were scored with."""
        found: dict[Way, Verdicts] = {}
        for (name, _), counts in self._counted.items():
            if name == suite:
                for way, verdicts in counts.items():
                    found.setdefault(way, Verdicts()).add(verdicts)
        return found

    def newest(self, suite: str, way: Way, value: str | None) -> Mapping[str, Any]:
        """The newest result event of the window that was scored so and has the value."""
        numbers = [number for (name, number), counts in self._counted.items() if name == suite and way in counts and counts[way].of(value)[1]]
        if not numbers:
            return {}
        return self._source.newest(suite, way, value, max(numbers) * self._span, (max(numbers) + 1) * self._span)
