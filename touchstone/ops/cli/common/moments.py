"""Times as people give and read them on a command line."""

import re
from datetime import UTC, datetime, timedelta

from touchstone.scorers.base import ConfigError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parse_since(text: str, now: datetime | None = None) -> datetime:
    """`90s`, `15m`, `2h`, `7d` ago, or an ISO 8601 time (UTC unless it says otherwise). Raises `ConfigError`."""
    if match := re.fullmatch(r"(\d{1,9})([smhd])", text.strip()):
        try:
            return (now or datetime.now(UTC)) - timedelta(seconds=int(match[1]) * _UNITS[match[2]])
        except OverflowError:
            raise ConfigError("--since: that is before the year 1; give a shorter time span") from None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError("--since: give a time span (15m, 2h, 7d) or an ISO time (2026-01-31T12:00)") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def age(moment: datetime, now: datetime | None = None) -> str:
    """How long ago, in one unit."""
    seconds = max(0, int(((now or datetime.now(UTC)) - moment).total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"
