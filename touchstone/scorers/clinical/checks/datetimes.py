"""Dates and times: form, calendar, precision, timezone, future and age (specification, Priority 6)."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Final, Literal

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.clinical.checks.scalars import shown
from touchstone.scorers.clinical.checks.timestamps import PRECISIONS, FhirKind, Malformed, Moment, Precision, read_compact, read_compact_time, read_fhir
from touchstone.scorers.clinical.report import Context

#: Whether a time of day must (major), should (minor) or need not carry a timezone offset.
Zone = Literal["required", "recommended", "none"]
#: Dates before this year are taken for a slip (specification: "before 1900").
OLD_YEAR: Final = 1900
#: Two clocks differ; a time this little ahead is not in the future.
CLOCK_SKEW: Final = timedelta(minutes=10)
_HL7_NULL: Final = '""'


def is_future(moment: Moment, context: Context) -> bool:
    """Whether it lies ahead of the clock in every timezone it may have been written in."""
    now = context.now().astimezone(UTC)
    # Nearly every date is of an earlier year; only at New Year may a timezone make one of them lie ahead.
    if moment.year < now.year and (now.month > 1 or moment.year + 1 < now.year):
        return False
    return moment.bounds()[0] > now + CLOCK_SKEW


def is_unreasonably_old(moment: Moment) -> bool:
    """Whether it lies before 1900."""
    return moment.year < OLD_YEAR


def check_plausible_moment(moment: Moment, path: str, context: Context, *, future: Severity | None = "minor", old: Severity | None = "minor") -> list[Finding]:
    """A date ahead of the clock, or before 1900; a severity of None switches that question off (appointments lie ahead)."""
    if future is not None and is_future(moment, context):
        return [context.finding(future, "datetimes.future", path, "Date is in the future")]
    if old is not None and is_unreasonably_old(moment):
        return [context.finding(old, "datetimes.old", path, f"Date is before {OLD_YEAR}")]
    return []


def check_fhir(
    value: object,
    kind: FhirKind,
    path: str,
    context: Context,
    *,
    future: Severity | None = "minor",
    old: Severity | None = "minor",
) -> list[Finding]:
    """A FHIR date, dateTime, instant or time. A dateTime with a time and no offset breaks R4's type: major (corrections, Clinical 2)."""
    moment = read_fhir(value, kind)
    if isinstance(moment, Malformed):
        return [_malformed(moment, path, context, value)]
    if kind == "time":
        return []
    found = []
    if moment.has_time and moment.offset_min is None:
        message = "Time without timezone may cause interpretation issues; R4 requires an offset"
        if kind == "instant":
            message = "instant requires a timezone (Z or +/-HH:MM)"
        found.append(context.finding("major", "datetimes.zone-missing", path, message, suggestion="Append Z or +/-HH:MM", value=shown(value)))
    return found + check_plausible_moment(moment, path, context, future=future, old=old)


def check_hl7v2(
    value: object,
    path: str,
    context: Context,
    *,
    zone: Zone = "none",
    precision_min: Precision | None = None,
    future: Severity | None = "minor",
    old: Severity | None = "minor",
) -> list[Finding]:
    """An HL7v2 DTM, TS.1 or DT. Empty and `""` (HL7's null) say nothing and pass; a missing offset is a finding of its own."""
    if value in ("", _HL7_NULL):  # a set would hash what may be no text
        return []
    moment = read_compact(value)
    if isinstance(moment, Malformed):
        return [_malformed(moment, path, context, value)]
    return _zone_and_precision(moment, path, context, zone, precision_min) + check_plausible_moment(moment, path, context, future=future, old=old)


def check_hl7v2_time(value: object, path: str, context: Context) -> list[Finding]:
    """An HL7v2 TM."""
    if value in ("", _HL7_NULL):  # a set would hash what may be no text
        return []
    moment = read_compact_time(value)
    return [_malformed(moment, path, context, value)] if isinstance(moment, Malformed) else []


def check_ccda(
    value: object,
    path: str,
    context: Context,
    *,
    zone: Zone = "required",
    precision_min: Precision | None = "day",
    future: Severity | None = "minor",
    old: Severity | None = "minor",
) -> list[Finding]:
    """A C-CDA TS value: HL7v2's form, with the precision that a US Realm date and time must have. An absent value is the caller's matter."""
    moment = read_compact(value)
    if isinstance(moment, Malformed):
        return [_malformed(moment, path, context, value)]
    return _zone_and_precision(moment, path, context, zone, precision_min) + check_plausible_moment(moment, path, context, future=future, old=old)


def check_period(start: Moment | Malformed | None, end: Moment | Malformed | None, path: str, context: Context) -> list[Finding]:
    """An end that certainly lies before its start is major; an unreadable end is reported elsewhere."""
    if not isinstance(start, Moment) or not isinstance(end, Moment) or not start.certainly_after(end):
        return []
    return [context.finding("major", "datetimes.period-order", path, "Period ends before it starts")]


def _malformed(problem: Malformed, path: str, context: Context, value: object) -> Finding:
    if problem.calendar:
        return context.finding("major", "datetimes.calendar", path, f"Date or time does not exist: {problem.problem}", value=shown(value))
    return context.finding("major", "datetimes.malformed", path, f"Date or time is malformed: {problem.problem}", value=shown(value))


def _zone_and_precision(moment: Moment, path: str, context: Context, zone: Zone, precision_min: Precision | None) -> list[Finding]:
    """What HL7v2 and C-CDA times lack; an offset after a bare date says nothing and is not asked for."""
    found = []
    if precision_min is not None and PRECISIONS.index(moment.precision) < PRECISIONS.index(precision_min):
        message = f"Date or time must be precise to the {precision_min}; it is given to the {moment.precision}"
        found.append(context.finding("major", "datetimes.precision", path, message))
    if moment.has_time and moment.offset_min is None and zone != "none":
        suggestion = "Append the offset from UTC, e.g. -0500 or +0000"
        if zone == "required":
            message = "Timezone offset required (use +/-ZZZZ format, e.g., -0500)"
            found.append(context.finding("major", "datetimes.zone-missing", path, message, suggestion=suggestion))
        else:
            message = "Timezone recommended for clinical timestamps"
            found.append(context.finding("minor", "datetimes.zone-missing", path, message, suggestion=suggestion))
    return found
