"""Whether a topic is still the one that its records were fetched from, and not another one that was made under its name.

A client fetches by name, so records and committed offsets of two topics look alike; only the id differs. An answer that was asked for after a fetch,
and names the id that was there before it, shows that the records are of that topic, because no id ever comes again. That holds as far as the broker that
answers knows what the one that was fetched from knew: the brokers of a cluster learn of a topic within milliseconds of each other, and not at once.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

import structlog

from touchstone.scorers.backoff import Backoff

log = structlog.get_logger(__name__)

#: Shortest time between two questions. All slices that were fetched before one share its answer.
PAUSE_S = 0.01


class Incarnations:
    """The input topics of one process, as they were when it began. `known`: name → id; empty where the broker gives none.

    `ask`: the topics as they are now, without those that do not exist; whatever it raises, it is asked again, after the pauses of a `backoff`.
    """

    def __init__(self, known: Mapping[str, str], ask: Callable[[], Awaitable[Mapping[str, str]]], backoff: Callable[[], Backoff]) -> None:
        self._known = dict(known)
        self._ask = ask
        self._backoff = backoff
        self._asking: asyncio.Task[Mapping[str, str]] | None = None
        self._next: asyncio.Task[Mapping[str, str]] | None = None
        self._asked_at = float("-inf")

    def id_of(self, topic: str) -> str:
        """The id that the topic had when the process began."""
        return self._known.get(topic, "")

    def is_other(self, topic: str, topic_id: str) -> bool:
        """True if this is the id of another topic. Not every broker gives ids, for instance while a cluster is upgraded: an empty one says nothing."""
        known = self.id_of(topic)
        return bool(known and topic_id) and topic_id != known

    async def find(self, topic: str, since: float | None = None) -> bool | None:
        """True if no other topic has the name, asked after `since` (monotonic time; None: this call); None if no topic has it.

        Waits while the broker is away.
        """
        if not self.id_of(topic):
            return True
        topic_id = (await self._answer(since)).get(topic)
        return None if topic_id is None else not self.is_other(topic, topic_id)

    async def is_still(self, topic: str, since: float | None = None) -> bool:
        """As `find`; waits while no topic has the name."""
        backoff = self._backoff()
        while True:
            is_still = await self.find(topic, since)
            if is_still is not None:
                return is_still
            since = None
            await asyncio.sleep(backoff.next_s())

    async def _answer(self, since: float | None) -> Mapping[str, str]:
        """An answer that is asked for after `since`, shared by all that wait for one: the latest if it will do."""
        if since is not None and self._asking is not None and self._asked_at > since:
            return await asyncio.shield(self._asking)
        if self._next is None:
            self._next = asyncio.create_task(self._question(self._asking))
        return await asyncio.shield(self._next)

    async def _question(self, before: asyncio.Task[Mapping[str, str]] | None) -> Mapping[str, str]:
        if before is not None:
            await asyncio.wait({before})
        await asyncio.sleep(max(self._asked_at + PAUSE_S - time.monotonic(), 0))
        self._asking, self._next = self._next, None
        backoff = self._backoff()
        while True:
            self._asked_at = time.monotonic()
            try:
                return await self._ask()
            except Exception as error:  # noqa: BLE001 -- whatever it is, without an answer nothing may be published
                log.debug("topics_not_answered", code=type(error).__name__)
            await asyncio.sleep(backoff.next_s())

    async def close(self) -> None:
        """End the questions that are under way."""
        tasks = {task for task in (self._asking, self._next) if task is not None}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
