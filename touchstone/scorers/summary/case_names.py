"""The name of a generated summary for people."""

import re

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def name_of(event_id: str, case_id: str | None) -> str:
    """The name of a case: the event's own id, because a gold has many summaries. A UUID is shortened and follows the gold's name."""
    return f"{case_id or 'event'} {event_id[:8]}" if _UUID.fullmatch(event_id) else event_id
