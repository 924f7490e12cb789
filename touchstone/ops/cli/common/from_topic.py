"""One record of a topic as a case to score: `touchstone score SUITE --from-topic TOPIC[PARTITION]@OFFSET`."""

import re
from typing import TYPE_CHECKING

from touchstone.ops.cli.common.running import run
from touchstone.ops.cli.common.shared import settings_from

if TYPE_CHECKING:
    from touchstone.ops.batch.cases import BatchCase
    from touchstone.schemas.result import Problem
    from touchstone.schemas.settings.house import KafkaSettings
    from touchstone.scorers.suite import Suite
    from touchstone.streams.wire.codec import Record

PLACE = "TOPIC[PARTITION]@OFFSET"
#: What an offset may be at most, on the wire.
OFFSET_MAX = 2**63 - 1
_WRITTEN = re.compile(r"([A-Za-z0-9._-]{1,249})\[(\d{1,9})\]@(\d{1,19})(?:#([A-Za-z0-9_-]{22}))?")


def case_at(place: str, suite: "Suite", bootstrap: str | None) -> "BatchCase | Problem":
    """The case at a place, with the event id that the suite's worker gives it; a problem if the worker would make it a dead letter.

    A place may end in `#` and the topic's id: another event is at the same place of a topic that was made anew.
    Raises `ConfigError`: no such record, or one of a kind that the suite does not score.
    """
    from touchstone.ops.batch.cases import BatchCase
    from touchstone.schemas.result import Problem
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.registry import known_signatures
    from touchstone.streams.topics.provision import resolve_topic
    from touchstone.streams.wire.codec import Codec, Read, Reject, source_of

    written = _WRITTEN.fullmatch(place)
    if written is None or int(written[3]) > OFFSET_MAX:
        raise ConfigError(f"--from-topic: write {PLACE}, as in 'touchstone.generations[2]@499'")
    settings = settings_from(None, bootstrap)
    topic = resolve_topic(settings.topics, written[1])
    record, topic_id = run(_record(settings.kafka, topic, int(written[2]), int(written[3])))
    if written[4] and topic_id and topic_id != written[4]:
        raise ConfigError(f"{place}: this event is gone: its topic was deleted, and another one of the same name was made")
    signatures = known_signatures()
    step = Codec(suite.cases, signatures, settings.worker.event_bytes_max, signatures).read(record, topic_id)
    source = source_of(record, topic_id)
    if isinstance(step, Read):
        return BatchCase(step.case, step.event_id, source)
    if isinstance(step, Reject):
        return Problem(source=source, what=f"is not a case: {step.code}{f' at {step.where}' if step.where else ''}")
    raise ConfigError(f"{place}: {suite.name} does not score events of this kind; name the suite that does")


async def _record(kafka: "KafkaSettings", topic: str, partition: int, offset: int) -> "tuple[Record, str]":
    """The record, and its topic's id."""
    from touchstone.streams.topics.identity import ids_of
    from touchstone.streams.topics.log_reader import LogReader

    async with LogReader(kafka, [topic]) as reader:
        return await reader.record_at(topic, partition, offset), (await ids_of(kafka, [topic]))[topic]
