"""The message that is handed to a producer."""

from collections.abc import Sequence
from dataclasses import dataclass

from touchstone.streams.wire.codec import Header


@dataclass(slots=True)
class Message:
    """One record to publish."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
