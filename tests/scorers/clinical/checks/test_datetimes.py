from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.scorers.clinical.checks import datetimes
from touchstone.scorers.clinical.checks.timestamps import Malformed, Moment, read_compact, read_fhir
from touchstone.scorers.clinical.report import Context

CONTEXT = Context(now=lambda: datetime(2026, 6, 15, 12, 0, tzinfo=UTC))


def told(found: list) -> list[tuple[str, str]]:
    return [(finding.severity, finding.code) for finding in found]


@pytest.mark.parametrize(
    ("text", "kind", "precision"),
    [
        ("2024", "date", "year"),
        ("2024-02", "date", "month"),
        ("2024-02-29", "date", "day"),
        ("2024", "dateTime", "year"),
        ("2024-02-29T10:00:00Z", "dateTime", "second"),
        ("2024-02-29T10:00:60+14:00", "dateTime", "second"),
        ("2024-02-29T10:00:00.123456-05:00", "instant", "second"),
        ("10:00:00.5", "time", "second"),
    ],
)
def test_fhir_times_are_read_with_their_precision(text: str, kind: str, precision: str) -> None:
    moment = read_fhir(text, kind)  # type: ignore[arg-type]
    assert isinstance(moment, Moment)
    assert moment.precision == precision


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        ("2024-2-1", "date", "malformed"),
        ("2024-02-01T10:00:00Z", "date", "malformed"),
        ("20240201", "date", "malformed"),
        ("2024-02-01 10:00:00Z", "dateTime", "malformed"),
        ("2024-02-01T10:00Z", "dateTime", "malformed"),
        ("2024-02-01T10", "dateTime", "malformed"),
        ("2024-02-01T10:00:00+0500", "dateTime", "malformed"),
        ("2024-02-01", "instant", "malformed"),
        ("25:00", "time", "malformed"),
        (" 2024", "date", "malformed"),
        ("2024\n", "date", "malformed"),
        ("２０２４", "date", "malformed"),
        (2024, "date", "malformed"),
        ("0000", "date", "calendar"),
        ("2023-02-29", "date", "calendar"),
        ("1900-02-29", "date", "calendar"),
        ("2024-13", "date", "calendar"),
        ("2024-04-31", "dateTime", "calendar"),
        ("2024-04-30T24:00:00Z", "dateTime", "calendar"),
        ("2024-04-30T10:61:00Z", "dateTime", "calendar"),
        ("2024-04-30T10:00:00+15:00", "dateTime", "calendar"),
        ("24:00:00", "time", "calendar"),
    ],
)
def test_a_fhir_time_is_refused_by_form_or_by_calendar(text: object, kind: str, code: str) -> None:
    assert told(datetimes.check_fhir(text, kind, "p", CONTEXT)) == [("major", f"datetimes.{code}")]  # type: ignore[arg-type]


def test_a_fhir_time_of_day_without_offset_is_major_and_not_malformed() -> None:
    assert told(datetimes.check_fhir("2024-02-01T10:00:00", "dateTime", "p", CONTEXT)) == [("major", "datetimes.zone-missing")]
    assert told(datetimes.check_fhir("2024-02-01T10:00:00", "instant", "p", CONTEXT)) == [("major", "datetimes.zone-missing")]


@given(st.dates(min_value=date(1900, 1, 1), max_value=date(2026, 6, 13)))
def test_every_day_of_the_calendar_passes_in_each_format(day: date) -> None:
    assert datetimes.check_fhir(day.isoformat(), "date", "p", CONTEXT) == []
    assert datetimes.check_hl7v2(day.strftime("%Y%m%d"), "p", CONTEXT) == []
    assert datetimes.check_ccda(day.strftime("%Y%m%d"), "p", CONTEXT) == []


@given(st.integers(0, 9999), st.integers(0, 99), st.integers(0, 99))
def test_days_exist_exactly_where_the_calendar_has_them(year: int, month: int, day: int) -> None:
    try:
        date(year, month, day)
        exists = True
    except ValueError:
        exists = False
    assert isinstance(read_fhir(f"{year:04d}-{month:02d}-{day:02d}", "date"), Moment) is exists


@pytest.mark.parametrize("text", ["2024", "202402", "20240229", "2024022910", "202402291030", "20240229103000.1234-0500", "20240229103000+0000", ""])
def test_hl7v2_times_of_every_precision_pass(text: str) -> None:
    assert datetimes.check_hl7v2(text, "p", CONTEXT) == []


def test_hl7v2_s_null_says_nothing() -> None:
    assert datetimes.check_hl7v2('""', "p", CONTEXT, zone="required") == []


@pytest.mark.parametrize("text", ["2024-02-29", "2024022", "20240229103000.12345", "20240229103000-05:00", "20240229T1030", None, 20240229])
def test_hl7v2_times_of_another_form_are_malformed(text: object) -> None:
    assert told(datetimes.check_hl7v2(text, "p", CONTEXT)) == [("major", "datetimes.malformed")]


def test_hl7v2_times_outside_the_calendar_are_told_as_such() -> None:
    assert told(datetimes.check_hl7v2("19801332", "p", CONTEXT)) == [("major", "datetimes.calendar")]
    assert told(datetimes.check_hl7v2("20240229103000+9900", "p", CONTEXT)) == [("major", "datetimes.calendar")]


@pytest.mark.parametrize(("zone", "expected"), [("required", "major"), ("recommended", "minor")])
def test_a_missing_offset_is_told_apart_and_weighs_what_the_field_says(zone: str, expected: str) -> None:
    found = datetimes.check_hl7v2("20240229103000", "MSH-7", CONTEXT, zone=zone)  # type: ignore[arg-type]
    assert told(found) == [(expected, "datetimes.zone-missing")]


def test_a_bare_date_needs_no_offset() -> None:
    assert datetimes.check_hl7v2("20240229", "PID-7", CONTEXT, zone="required") == []


def test_a_ccda_time_must_be_precise_to_the_day() -> None:
    assert told(datetimes.check_ccda("202402", "p", CONTEXT)) == [("major", "datetimes.precision")]
    assert datetimes.check_ccda("2024", "birthTime", CONTEXT, precision_min="year", zone="none") == []
    assert told(datetimes.check_ccda("202402291030", "p", CONTEXT)) == [("major", "datetimes.zone-missing")]


def test_only_what_is_ahead_in_every_timezone_is_in_the_future() -> None:
    # It is 15 June, 12:00 UTC; in the easternmost zone the 16th has begun.
    assert datetimes.check_fhir("2026-06-16", "date", "p", CONTEXT) == []
    assert told(datetimes.check_fhir("2026-06-17", "date", "p", CONTEXT)) == [("minor", "datetimes.future")]
    assert told(datetimes.check_fhir("2026-06-15T12:30:00Z", "dateTime", "p", CONTEXT, future="major")) == [("major", "datetimes.future")]
    assert datetimes.check_fhir("2026-06-15T12:05:00Z", "dateTime", "p", CONTEXT) == []
    assert datetimes.check_fhir("2030-01-01", "date", "p", CONTEXT, future=None) == []
    assert datetimes.check_fhir("2026", "date", "p", CONTEXT) == []


def test_at_new_year_a_time_of_the_old_year_may_still_lie_ahead() -> None:
    new_year = Context(now=lambda: datetime(2027, 1, 1, 0, 1, tzinfo=UTC))
    assert told(datetimes.check_fhir("2026-12-31T23:59:00-10:00", "dateTime", "p", new_year)) == [("minor", "datetimes.future")]
    assert datetimes.check_fhir("2026-12-31T23:59:00Z", "dateTime", "p", new_year) == []


def test_a_date_before_1900_is_unreasonably_old() -> None:
    assert told(datetimes.check_hl7v2("18991231", "PID-7", CONTEXT)) == [("minor", "datetimes.old")]
    assert datetimes.check_hl7v2("19000101", "PID-7", CONTEXT) == []


def test_a_period_that_certainly_ends_before_it_starts_is_major() -> None:
    def period(start: str, end: str) -> list[tuple[str, str]]:
        return told(datetimes.check_period(read_fhir(start, "dateTime"), read_fhir(end, "dateTime"), "p", CONTEXT))

    assert period("2024-02-02", "2024-02-01") == [("major", "datetimes.period-order")]
    assert period("2024-02-02", "2024-02") == []
    assert period("2024-02-01T10:00:00+02:00", "2024-02-01T08:30:00Z") == []
    assert period("2024-02-01T10:00:00+02:00", "2024-02-01T07:59:00Z") == [("major", "datetimes.period-order")]
    assert period("not a time", "2024") == []


def test_what_was_left_unwritten_is_never_held_against_a_period() -> None:
    half_past, whole_minute = read_compact("20240201100030+0000"), read_compact("202402011000+0000")
    assert datetimes.check_period(half_past, whole_minute, "p", CONTEXT) == []
    assert told(datetimes.check_period(read_compact("20240201100100+0000"), whole_minute, "p", CONTEXT)) == [("major", "datetimes.period-order")]


@pytest.mark.parametrize(("year", "leaps"), [(1900, False), (2000, True), (2023, False), (2024, True), (2100, False), (2400, True)])
def test_leap_years_are_those_of_the_gregorian_calendar(year: int, leaps: bool) -> None:
    assert isinstance(read_fhir(f"{year}-02-29", "date"), Moment) is leaps


@given(st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 28)), st.integers(-14 * 60, 14 * 60))  # noqa: DTZ001  # an offset is added
def test_a_moment_s_bounds_hold_the_instant_it_was_written_for(at: datetime, offset_min: int) -> None:
    aware = at.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=offset_min)))
    sign, minutes = "-" if offset_min < 0 else "+", abs(offset_min)
    written = f"{at.year:04d}{aware:%m%d%H%M%S}{sign}{minutes // 60:02d}{minutes % 60:02d}"
    moment = read_compact(written)
    assert isinstance(moment, Moment)
    assert moment.bounds()[0] == aware


@given(st.text(max_size=60) | st.from_regex(r"\A[0-9:+.TZ-]{0,40}\Z"))
def test_any_text_is_a_moment_or_malformed(text: str) -> None:
    for read in (read_compact, lambda value: read_fhir(value, "dateTime"), lambda value: read_fhir(value, "time")):
        moment = read(text)
        assert isinstance(moment, (Moment, Malformed))
        if isinstance(moment, Moment):
            low, high = moment.bounds()
            assert low <= high
