"""Units and values of numeric observations, through the shared checks (specification, Priorities 8 and 9)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

from touchstone.schemas.result import NotChecked
from touchstone.scorers.clinical.checks.parameters import Sex
from touchstone.scorers.clinical.checks.plausibility import check_blood_pressure, check_reference_range, judge_value
from touchstone.scorers.clinical.checks.ucum_reader import reader_installed
from touchstone.scorers.clinical.checks.unit_checks import NOT_INSTALLED, check_unit
from touchstone.scorers.clinical.formats.hl7v2.escapes import unescape
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.lexer import Segment
from touchstone.scorers.clinical.formats.hl7v2.usual_values import LOINC_SYSTEMS, REMEMBERED_LENGTH_MAX, is_good_unit, is_usual_value
from touchstone.scorers.clinical.report import Context

#: OBX-7 as an interval: `3.5-5.5`, `3.5 - 5.5`, `-2 to 2`.
INTERVAL = re.compile(r"\s*([+-]?\d{1,12}(?:\.\d{1,12})?)\s*(?:-|–|to)\s*([+-]?\d{1,12}(?:\.\d{1,12})?)\s*", re.ASCII)
NUMBER = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})", re.ASCII)
#: A number with more digits is not a measurement.
DIGITS_MAX = 20
LONG_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)", re.ASCII)
DAY = re.compile(r"\d{8}", re.ASCII)
DAYS_PER_YEAR = 365.25


@dataclass(frozen=True, slots=True)
class Patient:
    """The patient as far as ranges depend on them. `birth`: PID-7 as written."""

    birth: str = ""
    sex: Sex | None = None
    ages: dict[str, float | None] = field(default_factory=dict)

    def age_years(self, on: str) -> float | None:
        """The age on a day (`YYYYMMDD…`); None unless both days are known to the day."""
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
    """The LOINC code in the components of OBX-3, from the identifier or the alternate one."""
    for code, system in ((0, 2), (3, 5)):
        if len(parts) > system and parts[system] in LOINC_SYSTEMS and parts[code]:
            return parts[code]
    return None


def _number(value: str, kind: str) -> tuple[str, str | None]:
    """The number of an NM or SN value and its comparator; empty for no number, a ratio or an interval."""
    if kind == "NM":
        return value.split("~", 1)[0].strip(), None
    parts = value.split("~", 1)[0].split("^")
    if len(parts) > 2 and parts[2]:
        return "", None
    return (parts[1].strip() if len(parts) > 1 else ""), parts[0] or None


def check_observation(segment: Segment, patient: Patient, findings: Findings) -> None:
    """Check the unit, the value and the reference range of one NM or SN observation."""
    fields = segment.fields
    identifier = segment.field(3).split("^", 6)
    loinc = loinc_of(identifier)
    unit_parts = segment.field(6).split("~", 1)[0].split("^", 4)
    unit = unescape(unit_parts[0])
    if unit and unit != '""':
        system = unit_parts[2] if len(unit_parts) > 2 else ""
        findings.report.fired("units")
        if not is_good_unit(unit, loinc, system):
            if not reader_installed():
                findings.report.skip("units", NOT_INSTALLED)
            findings.add_all(check_unit(unit, f"{segment.path}-6", findings.context, loinc=loinc, system=system or None))
    number, comparator = _number(fields[5], segment.component(2, 1)) if len(fields) > 5 else ("", None)
    if NUMBER.fullmatch(number):
        age = patient.age_years(segment.field(14) or segment.field(19)) if patient.birth else None
        if loinc is not None and comparator is None and is_usual_value(float(number), loinc, unit, age, patient.sex):
            findings.report.fired("plausibility")
        else:
            name = identifier[1] if loinc is None and len(identifier) > 1 else None
            _judge(segment, number, comparator, findings, unit=unit or None, loinc=loinc, name=name, age_years=age, sex=patient.sex)
    elif LONG_NUMBER.fullmatch(number):
        message = f"A number of more than {DIGITS_MAX} digits before or after its point is no measurement, and was not judged"
        findings.add("major", "plausibility.digits", f"{segment.path}-5", message)
    interval = INTERVAL.fullmatch(segment.field(7))
    if interval:
        findings.report.fired("plausibility")
        findings.add_all(check_reference_range(interval[1], interval[2], f"{segment.path}-7", findings.context))


def _judge(
    segment: Segment,
    number: str,
    comparator: str | None,
    findings: Findings,
    *,
    unit: str | None,
    loinc: str | None,
    name: str | None,
    age_years: float | None,
    sex: Sex | None,
) -> None:
    """Judge whether a value is plausible, or report it as not checked."""
    if loinc is not None and len(loinc) <= REMEMBERED_LENGTH_MAX and (no_ranges := _without_ranges(loinc)) is not None:
        findings.not_checked(no_ranges)
        return
    path = f"{segment.path}-5"
    judged = judge_value(number, path, findings.context, unit=unit, loinc=loinc, name=name, age_years=age_years, sex=sex, comparator=comparator)
    if judged.judged:
        findings.report.fired("plausibility")
    elif judged.reason:
        findings.not_checked(_not_judged(judged.reason))
    findings.add_all(list(judged.findings))


@lru_cache(maxsize=256)
def _not_judged(reason: str) -> NotChecked:
    return NotChecked(check="plausibility", reason=reason)


@lru_cache(maxsize=2_048)
def _without_ranges(loinc: str) -> NotChecked | None:
    """The reason why no value of a LOINC code is judged; None if the code has ranges."""
    judged = judge_value("0", "", Context(), loinc=loinc)
    return _not_judged(judged.reason) if judged.parameter is None and judged.reason else None


def check_pressures(systolic: tuple[Segment, str], diastolic: tuple[Segment, str], findings: Findings) -> None:
    """Check the two blood pressures (segment, value) of one group against each other. The path of the finding is the systolic one's."""
    above, below = systolic[1].strip(), diastolic[1].strip()
    if NUMBER.fullmatch(above) and NUMBER.fullmatch(below):
        findings.report.fired("plausibility")
        units = {"systolic_unit": systolic[0].component(6, 1), "diastolic_unit": diastolic[0].component(6, 1)}
        findings.add_all(check_blood_pressure(above, below, f"{systolic[0].path}-5", findings.context, **units))
