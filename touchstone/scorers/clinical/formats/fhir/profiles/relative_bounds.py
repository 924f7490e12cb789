"""Bounds of dates that are a time span from now (R4: ElementDefinition.minValue[x] and maxValue[x])."""

from __future__ import annotations

import calendar
from datetime import datetime, timedelta
from typing import Any, Final

from touchstone.scorers.clinical.formats.fhir.fhirpath.values import Undecided, compare_times

_UCUM: Final = "http://unitsofmeasure.org"
#: Units that a calendar counts, in months; units of fixed length, in seconds.
_MONTHS: Final = {"a": 12, "a_j": 12, "a_g": 12, "mo": 1, "mo_j": 1, "mo_g": 1}
_SECONDS: Final = {"wk": 604_800.0, "d": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0, "ms": 0.001}


def limit_of(span: dict[str, Any], now: datetime, direction: int) -> datetime | None:
    """Return now and a span added (`direction` 1) or subtracted (-1); None if the span is not a time in UCUM, or leads beyond the calendar."""
    amount, unit = span.get("value"), span.get("code")
    if isinstance(amount, bool) or not isinstance(amount, int | float) or span.get("system") not in {None, _UCUM}:
        return None
    try:
        if unit in _MONTHS and float(amount * _MONTHS[unit]).is_integer():
            return _by_months(now, direction * int(amount * _MONTHS[unit]))
        if unit in _MONTHS:
            return now + timedelta(days=direction * amount * _MONTHS[unit] * 365.25 / 12)
        return now + timedelta(seconds=direction * amount * _SECONDS[unit]) if isinstance(unit, str) and unit in _SECONDS else None
    except (OverflowError, ValueError):
        return None


def _by_months(now: datetime, months: int) -> datetime:
    year, month = divmod(now.year * 12 + now.month - 1 + months, 12)
    return now.replace(year=year, month=month + 1, day=min(now.day, calendar.monthrange(year, month + 1)[1]))


def against_now(text: str, span: dict[str, Any], now: datetime, direction: int) -> int | None:
    """Order a date or time and the limit that a span sets: -1, 0 or 1; None if that cannot be decided.

    R4: "The duration value is positive, and is subtracted from the current clock to determine the minimum allowable value" (added, for the maximum).
    A day has no time zone, so a day beside the limit counts as on it.
    """
    limit = limit_of(span, now, direction)
    if limit is None:
        return None
    if "T" in text:
        return _ordered(text, limit.isoformat(timespec="milliseconds"))
    orders = {_ordered(text, (limit + timedelta(days=days)).date().isoformat()) for days in (-1, 0, 1)}
    return orders.pop() if len(orders) == 1 else None if None in orders else 0


def _ordered(text: str, limit: str) -> int | None:
    try:
        return compare_times(text, limit)
    except Undecided:
        return None
