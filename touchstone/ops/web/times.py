"""Times as documents write them."""

from datetime import UTC, datetime

MINUTE_MS = 60_000


def utc(at_ms: float) -> str:
    """A time in ISO 8601, UTC."""
    return datetime.fromtimestamp(min(max(at_ms, 0), 253_402_300_799_000) / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
