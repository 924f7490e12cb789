"""Collects results and report events of every suite while the demo runs, from the beginning of their topics."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.suite import Suite
from touchstone.streams.topics.log_reader import LogReader
from touchstone.streams.topics.tail import Describer, Sighting

#: (suite, concern, batch)
BatchName = tuple[str, str, str]


class Watch:
    """Follows the output topics. An async context manager; `until` waits for a condition.

    `labels`: suite → event id → label. `reports`: batch → its last report. `events`: suite → report events so far.
    """

    def __init__(self, settings: Settings, suites: Mapping[str, Suite]) -> None:
        self._settings = settings
        self._describer = Describer(settings.topics, suites, settings.worker.event_bytes_max)
        self._following: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()
        self.labels: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.reports: dict[BatchName, Sighting] = {}
        self.events: Counter[str] = Counter()
        #: Called with the first result of each event.
        self.on_result: Callable[[Sighting], None] = lambda _: None

    async def __aenter__(self) -> Self:
        """Begin."""
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop reading."""
        if self._following is not None:
            self._following.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._following

    async def until(self, wanted: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until the condition holds; False if the time is over. Raises the error that ended the reading."""
        assert self._following is not None
        waiting = asyncio.create_task(self._wait(wanted))
        try:
            await asyncio.wait({waiting, self._following}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if self._following.done():
                self._following.result()
            return waiting.done()
        finally:
            waiting.cancel()

    async def _wait(self, wanted: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(wanted)

    async def _follow(self) -> None:
        topics = self._settings.topics
        async with LogReader(self._settings.kafka, [topics.results, topics.reports]) as reader:
            async for record in reader.read("beginning", follow=True):
                async with self._changed:
                    self._see(self._describer.describe(record))
                    self._changed.notify_all()

    def _see(self, sighting: Sighting) -> None:
        """Record a result or a report. A repeated result changes nothing."""
        suite, facts = sighting.suite or "", sighting.facts
        if sighting.what == "result":
            event_id = str(facts["event_id"])
            if event_id not in self.labels[suite]:
                self.labels[suite][event_id] = str(sighting.label)
                self.on_result(sighting)
        elif sighting.what == "report":
            self.events[suite] += 1
            self.reports[suite, str(facts["concern_id"]), str(facts["batch_id"])] = sighting
