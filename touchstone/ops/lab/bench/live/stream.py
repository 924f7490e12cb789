"""The events of the live bench, and the bytes that a client must get for them."""

import json
from bisect import bisect_right
from itertools import accumulate
from typing import Any

from touchstone.streams.subscription.positions import Clock, position_text, read_positions

#: What the service and the raw server call an event, and the positions before the first one.
TYPE = b"touchstone.result"
START = position_text({("r", 0): 0, ("p", 0): 0}).encode()


def result(number: int) -> bytes:
    """A numbered result event."""
    document: dict[str, Any] = {
        "result_id": f"r{number}", "event_id": str(number), "case_id": None, "kind": "safe", "suite": "bench", "suite_version": "1", "config_digest": "d",
        "outcome": "scored", "label": "Pass", "values": {"CR": 1.0, "AH": 1.0, "AC": 0.5, "composite": 0.83}, "findings": [], "failures": [],
        "attributes": {"concern_id": "c", "batch_id": "b"}, "correlation": {}, "source": {"topic": "t", "partition": 0, "offset": number},
        "scored_at": "2026-01-01T00:00:00+00:00", "duration_ms": {"score": 0.1},
    }  # fmt: skip
    return json.dumps(document, separators=(",", ":")).encode()


class Expected:
    """The bytes of a stream from the first event to the last. `ends`: where each event ends in them."""

    def __init__(self, total: int) -> None:
        clock, events = Clock({("r", 0): 0, ("p", 0): 0}), []
        for number in range(total):
            clock.advance(("r", 0), number + 1)
            events.append(b"id: %b\nevent: %b\ndata: %b\n\n" % (clock.text.encode(), TYPE, result(number)))
        self.text = b"".join(events)
        self.ends = list(accumulate(map(len, events)))

    def events_in(self, length: int) -> int:
        """How many events are complete in so many bytes."""
        return bisect_right(self.ends, length)

    def before(self, block: bytes) -> int:
        """Where the event begins with which a block begins."""
        positions = read_positions(block[len(b"id: ") : block.index(b"\n")].decode())
        count = (positions or {})["r", 0] - 1
        return self.ends[count - 1] if count else 0
