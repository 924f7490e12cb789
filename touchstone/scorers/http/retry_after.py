"""The `Retry-After` header."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds after which a server wants to be asked again: a number, or an HTTP date compared with the server's own clock (`Date`) if it sends that.

    `headers`: with names in lower case. None without a header that can be read.
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    if text is None:
        return None
    if (seconds := _number(text)) is not None:
        return seconds
    until, at = _date(text), _date(headers.get("date")) or now or datetime.now(UTC)
    return None if until is None else max(0.0, (until - at).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _date(text: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(text) if text else None
    except (ValueError, TypeError, IndexError, OverflowError):  # a year or an offset that no clock has
        return None
    return date if date is None or date.tzinfo else date.replace(tzinfo=UTC)
