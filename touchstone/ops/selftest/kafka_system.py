"""A system under test behind a pair of Kafka topics of its own."""

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.scorers.selftest.system import OUTPUT_CHARS_MAX, Outcome, SystemFault, Task, outcome_of
from touchstone.scorers.selftest.system_settings import KafkaSystem
from touchstone.streams.topics.request_reply import RequestReply, Undelivered

#: Room for UTF-8 and JSON's escapes, so that an allowed output is never refused for its size in bytes.
REPLY_BYTES_MAX = 6 * OUTPUT_CHARS_MAX + 65_536


class KafkaTopics:
    """Sends each task, and each reply to it, as a request; the first reply with a final status is the outcome.

    A request is JSON: the task, `kind` (`selftest`), `correlation_id`, and for a reply `task_id` and `reply`. The system answers with `status`, `output`
    and the same correlation id; a status like `RUNNING` may come before.
    """

    def __init__(self, settings: KafkaSystem, kafka: KafkaSettings) -> None:
        """Opens no connection."""
        self.name = f"kafka:{settings.request_topic},{settings.reply_topic}"
        self._topics = RequestReply(kafka, settings.request_topic, settings.reply_topic)
        self._asked = 0

    async def open(self) -> None:
        """Connect. Raises `ConfigError`."""
        await self._topics.open()

    async def ask(self, task: Task, timeout_s: float) -> Outcome:
        """Send the task and wait for its outcome."""
        return await self._exchanged(task, {}, None, timeout_s)

    async def reply(self, task: Task, before: Outcome, text: str, timeout_s: float) -> Outcome:
        """Send the reply and wait for the next outcome."""
        return await self._exchanged(task, {"task_id": before.task_id, "reply": text}, before.task_id, timeout_s)

    async def close(self) -> None:
        """Disconnect."""
        await self._topics.close()

    async def _exchanged(self, task: Task, more: Mapping[str, Any], task_id: str | None, timeout_s: float) -> Outcome:
        self._asked += 1
        # A new id for each request, so that a late reply to an earlier one is not mistaken for this one's.
        correlation = f"{task.session_id}{self._asked:04d}"
        document = task.document(kind="selftest", correlation_id=correlation, **more)
        try:
            async with asyncio.timeout(timeout_s), self._topics.exchange(correlation, task.session_id.encode(), document) as next_reply:
                while True:
                    outcome = _outcome(await next_reply(), task_id or task.session_id)
                    if outcome.is_final:
                        return outcome
        except TimeoutError:
            raise SystemFault("timeout") from None
        except Undelivered as error:
            raise SystemFault("unreachable", str(error)) from None


def _outcome(value: bytes, task_id: str) -> Outcome:
    if len(value) > REPLY_BYTES_MAX:
        raise SystemFault("too_large", f"a reply of more than {REPLY_BYTES_MAX} bytes")
    try:
        return outcome_of(orjson.loads(value), task_id)
    except orjson.JSONDecodeError:
        raise SystemFault("unreadable", "no JSON") from None
