"""Units and values of numeric observations, through the shared checks (specification, Priorities 8 and 9)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date

from touchstone.scorers.clinical.checks.parameters import Sex
from touchstone.scorers.clinical.formats.hl7v2 import shared_checks
from touchstone.scorers.clinical.formats.hl7v2.escapes import unescape
from touchstone.scorers.clinical.formats.hl7v2.findings import Notes
from touchstone.scorers.clinical.formats.hl7v2.lexer import Segment

#: OBX-7 as an interval: `3.5-5.5`, `3.5 - 5.5`, `-2 to 2`.
INTERVAL = re.compile(r"\s*([+-]?\d{1,12}(?:\.\d{1,12})?)\s*(?:-|–|to)\s*([+-]?\d{1,12}(?:\.\d{1,12})?)\s*", re.ASCII)
NUMBER = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})", re.ASCII)
#: Text longer than NUMBER is not a measurement.
DIGITS_MAX = 20
LONG_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)", re.ASCII)
DAY = re.compile(r"\d{8}", re.ASCII)
DAYS_PER_YEAR = 365.25


@dataclass(frozen=True, slots=True)
class Patient:
    """What the checks of values may know of the patient: PID-7 as it is written, and the sex that ranges are chosen by."""

    birth: str = ""
    sex: Sex | None = None
    ages: dict[str, float | None] = field(default_factory=dict)

    def age_years(self, on: str) -> float | None:
        """The age on a day (`YYYYMMDD…`); None where either day is not known to the day."""
        day = on[:8]
        if day not in self.ages:
            born, then = _day(self.birth), _day(day)
            self.ages[day] = None if born is None or then is None or then < born else (then - born).days / DAYS_PER_YEAR
        return self.ages[day]


def _day(written: str) -> date | None:
    if DAY.match(written) is None:
        return None
    try:
        return date(int(written[:4]), int(written[4:6]), int(written[6:8]))
    except ValueError:
        return None


def loinc_of(parts: list[str]) -> str | None:
    """The LOINC code of OBX-3's components, from the identifier or the alternate one."""
    for code, system in ((0, 2), (3, 5)):
        if len(parts) > system and parts[system] in shared_checks.LOINC_SYSTEMS and parts[code]:
            return parts[code]
    return None


def _number(value: str, kind: str) -> tuple[str, str | None]:
    """The number of an NM or SN value and its comparator; empty where it has none, or is a ratio or an interval."""
    if kind == "NM":
        return value.split("~", 1)[0].strip(), None
    parts = value.split("~", 1)[0].split("^")
    if len(parts) > 2 and parts[2]:
        return "", None
    return (parts[1].strip() if len(parts) > 1 else ""), parts[0] or None


def check_observation(segment: Segment, patient: Patient, notes: Notes) -> None:
    """Check the unit, the value and the reference range of one NM or SN observation."""
    fields = segment.fields
    size = len(fields)
    identifier = fields[3].split("^", 6) if size > 3 else [""]
    loinc = loinc_of(identifier)
    unit_parts = fields[6].split("~", 1)[0].split("^", 4) if size > 6 else [""]
    unit = unescape(unit_parts[0])
    if unit and unit != '""':
        system = unit_parts[2] if len(unit_parts) > 2 else ""
        notes.report.fired("units")
        if not shared_checks.is_good_unit(unit, loinc, system):
            notes.shared(shared_checks.unit(unit, f"{segment.path}-6", notes, loinc=loinc, system=system or None))
    number, comparator = _number(fields[5], segment.component(2, 1)) if size > 5 else ("", None)
    if NUMBER.fullmatch(number):
        age = patient.age_years(segment.field(14) or segment.field(19)) if patient.birth else None
        if loinc is not None and comparator is None and shared_checks.is_usual_value(float(number), loinc, unit, age, patient.sex):
            notes.report.fired("plausibility")
        else:
            name = identifier[1] if loinc is None and len(identifier) > 1 else None
            found = shared_checks.value(
                number, f"{segment.path}-5", notes, unit=unit or None, loinc=loinc, name=name, age_years=age, sex=patient.sex, comparator=comparator
            )
            notes.shared(found)
    elif LONG_NUMBER.fullmatch(number):
        message = f"A number of more than {DIGITS_MAX} digits before or after its point is no measurement, and was not judged"
        notes.add("major", "plausibility.digits", f"{segment.path}-5", message)
    interval = INTERVAL.fullmatch(fields[7]) if size > 7 and fields[7] else None
    if interval:
        notes.report.fired("plausibility")
        notes.shared(shared_checks.reference_range(interval[1], interval[2], f"{segment.path}-7", notes))


def check_pressures(systolic: tuple[Segment, str], diastolic: tuple[Segment, str], notes: Notes) -> None:
    """Check the two blood pressures (segment, value) of one group against each other; the finding stands at the systolic one."""
    above, below = systolic[1].strip(), diastolic[1].strip()
    if NUMBER.fullmatch(above) and NUMBER.fullmatch(below):
        notes.report.fired("plausibility")
        units = systolic[0].component(6, 1), diastolic[0].component(6, 1)
        notes.shared(shared_checks.blood_pressure(above, below, units, f"{systolic[0].path}-5", notes))
