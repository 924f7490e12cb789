"""The shared clinical checks as the HL7 v2 rules call them, loaded on first use: one place that knows their signatures."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from touchstone.schemas.result import Finding, NotChecked
from touchstone.scorers.clinical.checks.parameters import Parameter, Sex
from touchstone.scorers.clinical.formats.hl7v2.findings import Notes
from touchstone.scorers.clinical.report import Context

#: What table 0396 calls LOINC, and what senders call it.
LOINC_SYSTEMS = frozenset({"LN", "LOINC", "2.16.840.1.113883.6.1"})
#: Longer units are looked at each time.
_REMEMBERED_LENGTH_MAX = 40
Zone = Literal["required", "recommended", "none"]


def time(value: str, path: str, context: Context, *, zone: Zone = "none") -> list[Finding]:
    """What is wrong with a date or time: form, calendar, offset, future, age."""
    from touchstone.scorers.clinical.checks.datetimes import check_hl7v2

    return check_hl7v2(value, path, context, zone=zone)


@lru_cache(maxsize=4_096)
def zone_missing(path: str, zone: Zone) -> list[Finding]:
    """The finding for a time of a past day without its offset, where nothing of the time itself is shown."""
    return time("20000101120000", path, Context(), zone=zone)


def authority(path: str, context: Context, *, identifier: str, universal_id: str, universal_id_type: str, type_code: str) -> list[Finding]:
    """What is wrong with the parts of a value that name its assigning authority."""
    from touchstone.scorers.clinical.checks.identifiers import check_assigning_authority

    return check_assigning_authority(path, context, identifier=identifier, universal_id=universal_id, universal_id_type=universal_id_type, type_code=type_code)


@lru_cache(maxsize=2_048)
def is_good_unit(written: str, loinc: str | None, system: str) -> bool:
    """Whether nothing is to be said of a unit beside a LOINC code; remembered, since few units make up most results."""
    from touchstone.scorers.clinical.checks.ucum_reader import reader_installed
    from touchstone.scorers.clinical.checks.unit_checks import check_unit

    return reader_installed() and len(written) <= _REMEMBERED_LENGTH_MAX and not check_unit(written, "", Context(), loinc=loinc, system=system or None)


def unit(unit_written: str, path: str, notes: Notes, *, loinc: str | None, system: str | None) -> list[Finding]:
    """What is wrong with a unit, by itself and for its LOINC code."""
    from touchstone.scorers.clinical.checks.ucum_reader import reader_installed
    from touchstone.scorers.clinical.checks.unit_checks import NOT_INSTALLED, check_unit

    if not reader_installed():
        notes.report.skip("units", NOT_INSTALLED)
    return check_unit(unit_written, path, notes.context, loinc=loinc, system=system)


@lru_cache(maxsize=2_048)
def _line(loinc: str, unit: str) -> tuple[Parameter, float, float] | None:
    """The parameter of a LOINC code, and the scale and offset that lead a unit into the parameter's; None where it cannot be converted."""
    from touchstone.scorers.clinical.checks.parameters import find_parameter
    from touchstone.scorers.clinical.checks.plausibility import convert

    parameter = find_parameter(loinc)
    if parameter is None or len(unit) > _REMEMBERED_LENGTH_MAX:
        return None
    zero, one = convert(0.0, unit, parameter, loinc), convert(1.0, unit, parameter, loinc)
    return None if zero is None or one is None else (parameter, one - zero, zero)


def is_usual_value(number: float, loinc: str, unit: str, age_years: float | None, sex: Sex | None) -> bool:
    """Whether a value lies in its usual range, so that nothing is to be said of it."""
    line = _line(loinc, unit)
    if line is None:
        return False
    parameter, scale, offset = line
    low, high = parameter.ranges(age_years, sex)[1]
    return low <= number * scale + offset <= high


class Usual(NamedTuple):
    """Where numbers of one test in one unit need no look: how they lead into the parameter's unit, and a range that is usual at any age and sex."""

    scale: float
    offset: float
    low: float
    high: float


@lru_cache(maxsize=2_048)
def usual_of(identifier: str, system: str, unit: str, unit_system: str) -> Usual | None:
    """What a numeric result of this code (OBX-3) in this unit (OBX-6) may be without a word; None where it must be looked at."""
    if not unit or "\\" in unit or system not in LOINC_SYSTEMS or max(len(identifier), len(unit_system)) > _REMEMBERED_LENGTH_MAX:
        return None
    line = _line(identifier, unit) if is_good_unit(unit, identifier, unit_system) else None
    if line is None:
        return None
    parameter, scale, offset = line
    lows, highs = zip(parameter.usual, *(band.usual for band in parameter.bands), strict=True)
    return Usual(scale, offset, max(lows), min(highs))


@lru_cache(maxsize=256)
def _not_judged(reason: str) -> NotChecked:
    return NotChecked(check="plausibility", reason=reason)


@lru_cache(maxsize=2_048)
def _without_ranges(loinc: str) -> NotChecked | None:
    """The finding for every value of a LOINC code that has no ranges; None where it has some."""
    from touchstone.scorers.clinical.checks.plausibility import judge_value

    judged = judge_value("0", "", Context(), loinc=loinc)
    return _not_judged(judged.reason) if judged.parameter is None and judged.reason else None


def value(
    number: str,
    path: str,
    notes: Notes,
    *,
    unit: str | None,
    loinc: str | None,
    name: str | None,
    age_years: float | None,
    sex: Sex | None,
    comparator: str | None,
) -> list[Finding]:
    """What is implausible about a value; a value that was not judged is named as not checked."""
    from touchstone.scorers.clinical.checks.plausibility import judge_value

    if loinc is not None and len(loinc) <= _REMEMBERED_LENGTH_MAX and (unjudged := _without_ranges(loinc)) is not None:
        notes.not_checked(unjudged)
        return []
    judged = judge_value(number, path, notes.context, unit=unit, loinc=loinc, name=name, age_years=age_years, sex=sex, comparator=comparator)
    if judged.judged:
        notes.report.fired("plausibility")
    elif judged.reason:
        notes.not_checked(_not_judged(judged.reason))
    return list(judged.findings)


def reference_range(low: str, high: str, path: str, notes: Notes) -> list[Finding]:
    """What is wrong with a reference range."""
    from touchstone.scorers.clinical.checks.plausibility import check_reference_range

    return check_reference_range(low, high, path, notes.context)


def blood_pressure(systolic: str, diastolic: str, units: tuple[str, str], path: str, notes: Notes) -> list[Finding]:
    """What is wrong between two blood pressures, in these units."""
    from touchstone.scorers.clinical.checks.plausibility import check_blood_pressure

    return check_blood_pressure(systolic, diastolic, path, notes.context, systolic_unit=units[0], diastolic_unit=units[1])


def codes(table: str) -> frozenset[str]:
    """The codes that the shared value sets list for an HL7 table; empty where they list none."""
    from touchstone.scorers.clinical.checks.valuesets import codes_of

    return codes_of(table) or frozenset()
