"""Dead letters: the original bytes, key and headers, plus error headers in the manner of KIP-1034.

The headers carry codes, paths and numbers, never a word of the payload.
"""

from datetime import UTC, datetime

from streams.codec import Header, Record, header_text
from streams.outbox import Message

PREFIX = "__streams.errors."
EXCEPTION = PREFIX + "exception"
MESSAGE = PREFIX + "message"
TOPIC = PREFIX + "topic"
PARTITION = PREFIX + "partition"
OFFSET = PREFIX + "offset"
SUITE = "touchstone.suite"
SUITE_VERSION = "touchstone.suite_version"
TIMESTAMP = "touchstone.failed_at"
SOURCE_TIMESTAMP = "touchstone.source_timestamp_ms"
OMITTED = "touchstone.payload_omitted"
OURS = frozenset({EXCEPTION, MESSAGE, TOPIC, PARTITION, OFFSET, SUITE, SUITE_VERSION, TIMESTAMP, SOURCE_TIMESTAMP, OMITTED})


def dead_letter(record: Record, *, suite: str, version: str, code: str, where: str, payload: bool = True) -> Message:
    """The dead letter of one record.

    `payload=False` leaves key and value out and says so: the last resort where the broker refuses the whole for its size;
    topic, partition and offset still name the original.
    """
    ours: list[Header] = [
        (EXCEPTION, code.encode()),
        (MESSAGE, header_text(f"{code} at {where}" if where else code)),
        (TOPIC, record.topic.encode()),
        (PARTITION, str(record.partition).encode()),
        (OFFSET, str(record.offset).encode()),
        (SUITE, suite.encode()),
        (SUITE_VERSION, version.encode()),
        (TIMESTAMP, datetime.now(UTC).isoformat().encode()),
        (SOURCE_TIMESTAMP, str(record.timestamp).encode()),
    ]
    original = [(name, value) for name, value in record.headers or () if name not in OURS]
    if payload:
        return Message(record.key, record.value, [*original, *ours])
    return Message(None, b"", [*ours, (OMITTED, b"too_large")])
