"""Dates and times: form, calendar, precision, timezone, future and age (specification, Priority 6)."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Final, Literal

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.clinical.checks.scalars import shown
from touchstone.scorers.clinical.checks.timestamps import PRECISIONS, FhirKind, Malformed, Moment, Precision, read_compact, read_fhir
from touchstone.scorers.clinical.report import Context

#: Is an offset missing from a time of day a fault? required: major, recommended: minor.
Zone = Literal["required", "recommended", "none"]
#: Earlier dates are taken for errors (specification: "before 1900").
OLD_YEAR: Final = 1900
#: Clocks differ: a time this little ahead is not in the future.
CLOCK_SKEW: Final = timedelta(minutes=10)
_HL7_NULL: Final = '""'


def is_future(moment: Moment, context: Context) -> bool:
    """Return True if a time is in the future in every timezone in which it may have been written."""
    now = context.now().astimezone(UTC)
    # Nearly every date is in an earlier year. Only around New Year can a timezone put it into the future.
    if moment.year < now.year and (now.month > 1 or moment.year + 1 < now.year):
        return False
    return moment.bounds()[0] > now + CLOCK_SKEW


def is_unreasonably_old(moment: Moment) -> bool:
    """Return True if a time is before 1900."""
    return moment.year < OLD_YEAR


def check_plausible_moment(moment: Moment, path: str, context: Context, *, future: Severity | None = "minor") -> list[Finding]:
    """Report a time in the future (unless `future` is None, as for appointments), or before 1900."""
    if future is not None and is_future(moment, context):
        return [context.finding(future, "datetimes.future", path, "Date is in the future")]
    if is_unreasonably_old(moment):
        return [context.finding("minor", "datetimes.old", path, f"Date is before {OLD_YEAR}")]
    return []


def check_fhir(value: object, kind: FhirKind, path: str, context: Context, *, future: Severity | None = "minor") -> list[Finding]:
    """Check a FHIR date, dateTime, instant or time. A time of day without offset is major (corrections, Clinical 2)."""
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
    return found + check_plausible_moment(moment, path, context, future=future)


def check_hl7v2(value: object, path: str, context: Context, *, zone: Zone = "none") -> list[Finding]:
    """Check an HL7v2 DTM, TS.1 or DT. An empty value and `""` (HL7's null) pass."""
    if value in ("", _HL7_NULL):  # a set would hash the value, which may be a list
        return []
    return check_ccda(value, path, context, zone=zone, precision_min=None)


def check_ccda(
    value: object,
    path: str,
    context: Context,
    *,
    zone: Zone = "required",
    precision_min: Precision | None = "day",
    future: Severity | None = "minor",
) -> list[Finding]:
    """Check a C-CDA TS, which has HL7v2's form. `precision_min`: the coarsest precision that the element allows."""
    moment = read_compact(value)
    if isinstance(moment, Malformed):
        return [_malformed(moment, path, context, value)]
    return _zone_and_precision(moment, path, context, zone, precision_min) + check_plausible_moment(moment, path, context, future=future)


def check_period(start: Moment | Malformed | None, end: Moment | Malformed | None, path: str, context: Context) -> list[Finding]:
    """Report a period that certainly ends before it starts. Unreadable ends are reported elsewhere."""
    if not isinstance(start, Moment) or not isinstance(end, Moment) or not start.certainly_after(end):
        return []
    return [context.finding("major", "datetimes.period-order", path, "Period ends before it starts")]


def _malformed(problem: Malformed, path: str, context: Context, value: object) -> Finding:
    if problem.calendar:
        return context.finding("major", "datetimes.calendar", path, f"Date or time does not exist: {problem.problem}", value=shown(value))
    return context.finding("major", "datetimes.malformed", path, f"Date or time is malformed: {problem.problem}", value=shown(value))


def _zone_and_precision(moment: Moment, path: str, context: Context, zone: Zone, precision_min: Precision | None) -> list[Finding]:
    """Missing precision and offset of a compact time. A bare date needs no offset."""
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
