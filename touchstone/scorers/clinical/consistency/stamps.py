"""Times as they compare across formats: at the coarser precision of the two, and as instants if both have a timezone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

from touchstone.scorers.clinical.checks.timestamps import PRECISIONS, Malformed, Moment, read_compact, read_fhir
from touchstone.scorers.clinical.consistency.record import Stamp

_DAY, _MINUTE, _SECOND = (PRECISIONS.index(precision) for precision in ("day", "minute", "second"))
#: Timezones differ by whole quarters of an hour, and by 26 hours at most.
_QUARTER: Final = timedelta(minutes=15)
#: Fractions of a second are cut off by some systems and rounded by others.
_ROUNDED: Final = timedelta(seconds=1)
_ZONES_APART_MAX: Final = timedelta(hours=26)


def fhir_stamp(role: str, value: object, path: str) -> Stamp | None:
    """A FHIR date, dateTime or instant; None if it cannot be read."""
    moment = read_fhir(value, "dateTime")
    return None if isinstance(moment, Malformed) else Stamp(role, moment, path)


def compact_stamp(role: str, value: object, path: str) -> Stamp | None:
    """An HL7 v2 or C-CDA time; None if it cannot be read."""
    text = value.strip() if isinstance(value, str) else value
    moment = read_compact(text)
    if isinstance(moment, Malformed):
        return None
    return Stamp(role, moment, path)


def is_same_time(one: Moment, other: Moment) -> bool:
    """True if two moments may be the same: equal at the coarser precision, in the same zone or in UTC."""
    coarser = min(PRECISIONS.index(one.precision), PRECISIONS.index(other.precision))
    if coarser <= _DAY:
        return not _days(one, coarser).isdisjoint(_days(other, coarser))
    if (one.offset_min is None) == (other.offset_min is None):
        return abs(_cut(_utc(one), coarser) - _cut(_utc(other), coarser)) <= _ROUNDED
    # One has no zone: the same wall clock time, or a difference that two zones can have.
    if _cut(_wall(one), coarser) == _cut(_wall(other), coarser):
        return True
    apart = abs(_cut(_utc(one), coarser) - _cut(_utc(other), coarser))
    return apart <= _ZONES_APART_MAX and not apart % _QUARTER


def is_same_day(one: Moment, other: Moment) -> bool:
    """True if two moments may be on one day; for births, whose time of day only some formats have."""
    coarser = min(PRECISIONS.index(one.precision), PRECISIONS.index(other.precision), _DAY)
    return not _days(one, coarser).isdisjoint(_days(other, coarser))


def in_utc(moment: Moment) -> Moment:
    """The same moment in UTC, if it has a time and a zone."""
    if not moment.has_time or moment.offset_min is None:
        return moment
    one = _utc(moment)
    return Moment(one.year, one.month, one.day, one.hour, one.minute, moment.second and one.second, 0)


def _days(moment: Moment, precision: int) -> set[tuple[int, ...]]:
    """The day as written and, for a time with a zone, the day in UTC: systems that write only a day write either. Midnight counts as a day."""
    days = {_wall(moment).date()}
    is_midnight = not (moment.hour or moment.minute or moment.second)
    if moment.has_time and moment.offset_min is not None and not is_midnight:
        days.add(_utc(moment).date())
    return {_parts(day)[: precision + 1] for day in days}


def _parts(day: date) -> tuple[int, ...]:
    return day.year, day.month, day.day


def _wall(moment: Moment) -> datetime:
    return datetime(moment.year, moment.month or 1, moment.day or 1, moment.hour or 0, moment.minute or 0, min(moment.second or 0, 59), tzinfo=UTC)


def _utc(moment: Moment) -> datetime:
    try:
        return _wall(moment) - timedelta(minutes=(moment.offset_min or 0) if moment.has_time else 0)
    except OverflowError:
        return _wall(moment)


def _cut(instant: datetime, precision: int) -> datetime:
    """The instant cut to a precision of hour, minute or second."""
    return instant.replace(minute=instant.minute if precision >= _MINUTE else 0, second=instant.second if precision >= _SECOND else 0)
