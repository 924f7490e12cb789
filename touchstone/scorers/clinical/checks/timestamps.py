"""Points in time with the precision they were written in, read from FHIR, HL7v2 and C-CDA."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal

Precision = Literal["year", "month", "day", "hour", "minute", "second"]
#: Coarse to fine; a time is compared at the coarser of two.
PRECISIONS: Final[tuple[Precision, ...]] = ("year", "month", "day", "hour", "minute", "second")
FhirKind = Literal["date", "dateTime", "instant", "time"]
#: Longer text is not a time in any of the formats.
MOMENT_LENGTH_MAX: Final = 48
MOMENTS_CACHED: Final = 4_096

_ZONE_MINUTES_MAX: Final = 14 * 60
#: A time without an offset may be in any timezone.
_ZONE_UNKNOWN: Final = timedelta(hours=14)
_FIRST: Final = datetime(1, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time as written. `offset_min`: minutes east of UTC, None if none was written; ignored after a bare date."""

    year: int
    month: int | None = None
    day: int | None = None
    hour: int | None = None
    minute: int | None = None
    second: int | None = None
    offset_min: int | None = None

    @property
    def precision(self) -> Precision:
        """The finest part that was written."""
        parts = (self.year, self.month, self.day, self.hour, self.minute, self.second)
        return PRECISIONS[sum(part is not None for part in parts) - 1]

    @property
    def has_time(self) -> bool:
        """True if at least an hour was written."""
        return self.hour is not None

    def bounds(self) -> tuple[datetime, datetime]:
        """Return the earliest and latest instant that it can mean, in UTC; both within the range of datetime."""
        try:
            start = datetime(self.year, self.month or 1, self.day or 1, self.hour or 0, self.minute or 0, min(self.second or 0, 59), tzinfo=UTC)
            end = start + self._span()
            if self.offset_min is None or not self.has_time:
                return start - _ZONE_UNKNOWN, end + _ZONE_UNKNOWN
            shift = timedelta(minutes=self.offset_min)
            return start - shift, end - shift
        except (OverflowError, ValueError):
            # Only at the edges of the years 0001 and 9999.
            edge = _FIRST if self.year < 5000 else _LAST
            return edge, edge

    def _span(self) -> timedelta:
        days = {"year": 337 + _days_in_month(self.year, 2), "month": _days_in_month(self.year, self.month or 1), "day": 1}
        unit = {"hour": timedelta(hours=1), "minute": timedelta(minutes=1), "second": timedelta(seconds=1)}
        return (unit.get(self.precision) or timedelta(days=days[self.precision])) - timedelta(seconds=1)

    def certainly_after(self, other: Moment) -> bool:
        """Return True if it is after the other, whatever the unwritten parts of both.

        Two times without an offset, and two dates, are taken to be in the same timezone.
        """
        if (self.offset_min is None or not self.has_time) and (other.offset_min is None or not other.has_time):
            return self._shared(other) > other._shared(self)
        return self.bounds()[0] > other.bounds()[1]

    def _shared(self, other: Moment) -> tuple[int, ...]:
        finest = min(PRECISIONS.index(self.precision), PRECISIONS.index(other.precision)) + 1
        parts = (self.year, self.month, self.day, self.hour, self.minute, self.second)
        return tuple(part or 0 for part in parts[:finest])


@dataclass(frozen=True, slots=True)
class Malformed:
    """Why a text is not a point in time. `calendar`: its form is right, but no such day or time exists."""

    problem: str
    calendar: bool = False


_FHIR: Final = re.compile(
    r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:T(\d{2}):(\d{2}):(\d{2})(\.\d{1,30})?(Z|[+-]\d{2}:\d{2})?)?)?)?",
    re.ASCII,
)
_FHIR_TIME: Final = re.compile(r"(\d{2}):(\d{2}):(\d{2})(?:\.\d{1,30})?", re.ASCII)
_COMPACT: Final = re.compile(
    r"(\d{4})(?:(\d{2})(?:(\d{2})(?:(\d{2})(?:(\d{2})(?:(\d{2})(?:\.\d{1,4})?)?)?)?)?)?([+-]\d{4})?",
    re.ASCII,
)
_FHIR_FORMS: Final[Mapping[FhirKind, str]] = {
    "date": "YYYY, YYYY-MM or YYYY-MM-DD",
    "dateTime": "YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DDThh:mm:ss+zz:zz",
    "instant": "YYYY-MM-DDThh:mm:ss.sss+zz:zz",
    "time": "hh:mm:ss",
}


def read_fhir(value: object, kind: FhirKind) -> Moment | Malformed:
    """Read a FHIR date, dateTime, instant or time; a `time` as one of the year 1. A missing offset is not malformed: callers report it."""
    if not isinstance(value, str) or len(value) > MOMENT_LENGTH_MAX:
        return _malformed(kind)
    return _read_fhir_text(value, kind)


def _malformed(kind: FhirKind) -> Malformed:
    return Malformed(f"not a FHIR {kind} ({_FHIR_FORMS[kind]})")


@lru_cache(maxsize=MOMENTS_CACHED)
def _read_fhir_text(value: str, kind: FhirKind) -> Moment | Malformed:
    """Cached, because the same times repeat: all observations of one visit have the same."""
    malformed = _malformed(kind)
    if kind == "time":
        match = _FHIR_TIME.fullmatch(value)
        return malformed if match is None else _moment(("0001", "01", "01", *match.groups()), None)
    match = _FHIR.fullmatch(value)
    if match is None:
        return malformed
    parts, zone = match.groups()[:6], match[8]
    if (kind == "date" and parts[3] is not None) or (kind == "instant" and parts[5] is None):
        return malformed
    return _moment(parts, None if zone is None else zone.replace(":", ""))


def read_compact(value: object) -> Moment | Malformed:
    """Read an HL7v2 DTM, TS.1 or DT, or a C-CDA TS: YYYY[MM[DD[HH[MM[SS[.SSSS]]]]]][+/-ZZZZ]."""
    match = _COMPACT.fullmatch(value) if isinstance(value, str) and len(value) <= MOMENT_LENGTH_MAX else None
    if match is None:
        return Malformed("not of the form YYYY[MM[DD[HH[MM[SS[.SSSS]]]]]][+/-ZZZZ]")
    return _moment(match.groups()[:6], match[7])


def _days_in_month(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in {4, 6, 9, 11} else 31


def _moment(parts: tuple[str | None, ...], zone: str | None) -> Moment | Malformed:
    """The moment of some parts, if the calendar has it. `zone`: Z, +hhmm or -hhmm."""
    year, month, day, hour, minute, second = (None if part is None else int(part) for part in parts)
    assert year is not None
    if year == 0:
        return Malformed("there is no year 0", calendar=True)
    if month is not None and not 1 <= month <= 12:
        return Malformed("there is no such month", calendar=True)
    if day is not None and not 1 <= day <= _days_in_month(year, month or 1):
        return Malformed("there is no such day in that month", calendar=True)
    # All formats allow a leap second.
    if (hour or 0) > 23 or (minute or 0) > 59 or (second or 0) > 60:
        return Malformed("there is no such time of day", calendar=True)
    offset = None
    if zone is not None:
        offset = 0 if zone == "Z" else int(zone[1:3]) * 60 + int(zone[3:5])
        if offset > _ZONE_MINUTES_MAX or (zone != "Z" and int(zone[3:5]) > 59):
            return Malformed("there is no such timezone offset", calendar=True)
        offset = -offset if zone[0] == "-" else offset
    return Moment(year, month, day, hour, minute, second, offset)
