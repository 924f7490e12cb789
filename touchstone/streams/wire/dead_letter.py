"""Dead letters: the original bytes, key and headers, plus error headers in the manner of KIP-1034.

The added headers carry codes, paths and numbers, never text of the payload. A header of the event itself that has one of their
names is kept under `touchstone.original.`: the event may be another program's dead letter.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from touchstone.streams.wire.codec import Header, Record, header_text
from touchstone.streams.wire.headers import STAND_INS, UNREADABLE, batch_offsets, writable_name
from touchstone.streams.wire.message import Message

PREFIX = "__streams.errors."
EXCEPTION = PREFIX + "exception"
MESSAGE = PREFIX + "message"
TOPIC = PREFIX + "topic"
TOPIC_ID = "touchstone.source_topic_id"
PARTITION = PREFIX + "partition"
OFFSET = PREFIX + "offset"
SUITE = "touchstone.suite"
SUITE_VERSION = "touchstone.suite_version"
TIMESTAMP = "touchstone.failed_at"
SOURCE_TIMESTAMP = "touchstone.source_timestamp_ms"
OMITTED = "touchstone.payload_omitted"
#: Of a letter that holds a whole record batch: its offsets, as `first-last`.
BATCH = "touchstone.batch_offsets"
OURS = frozenset({EXCEPTION, MESSAGE, TOPIC, TOPIC_ID, PARTITION, OFFSET, SUITE, SUITE_VERSION, TIMESTAMP, SOURCE_TIMESTAMP, OMITTED, BATCH})
#: Prefix of the event's own headers that have one of these names or begin with it already, so that they can be restored one to one.
ORIGINAL = "touchstone.original."


def dead_letter(record: Record, *, suite: str, version: str, code: str, where: str, topic_id: str = "", payload: bool = True) -> Message:
    """The dead letter of one record. `topic_id`: of the record's topic; empty if its broker gives none.

    `payload=False` leaves key and value out and marks the letter: the last resort if the broker refuses the whole for its size;
    topic, partition and offset still name the original.
    """
    ours: list[Header] = [
        (EXCEPTION, code.encode()),
        (MESSAGE, header_text(f"{code} at {where}" if where else code)),
        (TOPIC, record.topic.encode()),
        (TOPIC_ID, topic_id.encode()),
        (PARTITION, str(record.partition).encode()),
        (OFFSET, str(record.offset).encode()),
        (SUITE, suite.encode()),
        (SUITE_VERSION, version.encode()),
        (TIMESTAMP, datetime.now(UTC).isoformat().encode()),
        (SOURCE_TIMESTAMP, str(record.timestamp).encode()),
    ]
    if (offsets := batch_offsets(record.headers)) is not None:
        ours.append((BATCH, offsets))
    if payload:
        return Message(record.key, record.value, [*_set_aside(record.headers), *ours])
    return Message(None, b"", [*ours, (OMITTED, b"too_large")])


def _set_aside(headers: Iterable[Header] | None) -> list[Header]:
    """The event's own headers, in order, none of them under one of the added names."""
    return [(_own_name(name), value) for name, value in headers or () if name not in STAND_INS]


def _own_name(name: str) -> str:
    """The name under which an event's own header goes into a dead letter. One that is not UTF-8 becomes digits whatever it begins with."""
    written = writable_name(name)
    return ORIGINAL + name if written == name and (name in OURS or name.startswith((ORIGINAL, UNREADABLE))) else written


def own_headers(headers: Iterable[Header] | None) -> list[Header]:
    """The event's own headers from its dead letter, as they were: names, values, order and repetitions.

    A name that is not UTF-8 stays in its hexadecimal digits: no client can write it, and the event can be read like this.
    """
    return [(writable_name(name.removeprefix(ORIGINAL)), value) for name, value in headers or () if name not in OURS]
