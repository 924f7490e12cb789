"""Physical quantities: units by UCUM, and values that a living patient can have (specification, Priorities 8 and 9)."""

from __future__ import annotations

from typing import Any, Final

from touchstone.scorers.clinical.checks.parameters import Sex, sex_of
from touchstone.scorers.clinical.checks.plausibility import DIASTOLIC, SYSTOLIC, check_blood_pressure, check_reference_range, judge_value
from touchstone.scorers.clinical.checks.scalars import number_of
from touchstone.scorers.clinical.checks.timestamps import Moment, read_compact
from touchstone.scorers.clinical.checks.ucum_reader import reader_installed
from touchstone.scorers.clinical.checks.unit_checks import NOT_INSTALLED, UCUM_SYSTEM, check_unit
from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.elements import below, child, children, is_null, kind, local

_LOINC: Final = "2.16.840.1.113883.6.1"
_DAYS_PER_YEAR: Final = 365.25
_QUANTITIES: Final = frozenset({"doseQuantity", "rateQuantity", "maxDoseQuantity", "quantity", "low", "high", "width", "period", "center"})
#: Greatest number of elements from a quantity up to its observation.
_ABOVE_MAX: Final = 5


def check_measures(document: Document) -> None:
    """Check every quantity, and every value of an observation."""
    _check_quantities(document)
    born, sex = _patient(document)
    for observation in below(document.root, "observation"):
        document.check_time()
        _check_observation(document, observation, born, sex)
    for organizer in below(document.root, "organizer"):
        _check_pressures(document, organizer)


def _check_quantities(document: Document) -> None:
    report = document.report
    if not reader_installed():
        document.skip("units", NOT_INSTALLED)
    fine: dict[tuple[str, str | None], bool] = {}
    for element in document.having("unit", "value"):
        unit = element.get("unit")
        if unit is not None:
            report.fired("units")
            if not unit.strip() and not is_null(element):
                document.add("major", "ccda.observations.unit", element, "an empty unit: write the unit, or leave the attribute out", at="unit")
                continue
            loinc = _loinc_above(element)
            if not fine.get((unit, loinc)):
                fine[unit, loinc] = not check_unit(unit, "", document.context, loinc=loinc, system=UCUM_SYSTEM)
                if not fine[unit, loinc]:
                    document.add_all(check_unit(unit, f"{document.path(element)}/@unit", document.context, loinc=loinc, system=UCUM_SYSTEM))
        value = element.get("value")
        if value is not None and (kind(element) == "PQ" or (unit is not None and local(element) in _QUANTITIES)) and not is_null(element):
            report.fired("observations")
            if number_of(value) is None:
                document.add("major", "ccda.observations.number", element, "the value of a physical quantity is a number", value=value, at="value")


def loinc_of(observation: Any) -> str | None:
    """The LOINC code of an observation, from its code or a translation of it."""
    code = child(observation, "code")
    if code is None:
        return None
    for one in (code, *children(code, "translation")):
        if one.get("codeSystem") == _LOINC and one.get("code"):
            return str(one.get("code"))
    return None


def _loinc_above(element: Any) -> str | None:
    """The LOINC code of the observation whose value contains an element."""
    above = element.getparent()
    for _ in range(_ABOVE_MAX):
        if above is None or local(above) not in {"value", "referenceRange", "observationRange", "observation"}:
            return None
        if local(above) == "observation":
            return loinc_of(above) if local(element) in {"value", "low", "high"} else None
        above = above.getparent()
    return None


def _patient(document: Document) -> tuple[Moment | None, Sex | None]:
    patient = child(document.root, "recordTarget", "patientRole", "patient")
    if patient is None:
        return None, None
    birth, gender = child(patient, "birthTime"), child(patient, "administrativeGenderCode")
    born = read_compact(birth.get("value")) if birth is not None else None
    return (born if isinstance(born, Moment) else None), (sex_of(gender.get("code")) if gender is not None else None)


def _age_years(document: Document, observation: Any, born: Moment | None) -> float | None:
    """The age at an observation; None unless both days are known to the day."""
    at = child(observation, "effectiveTime")
    if at is None:
        at = child(document.root, "effectiveTime")
    written = None if at is None else at.get("value")
    if at is not None and written is None:
        low = child(at, "low")
        written = None if low is None else low.get("value")
    then = read_compact(written)
    if born is None or not isinstance(then, Moment) or born.day is None or then.day is None:
        return None
    years = (then.bounds()[0] - born.bounds()[0]).days / _DAYS_PER_YEAR
    return years if years >= 0 else None


def _check_observation(document: Document, observation: Any, born: Moment | None, sex: Sex | None) -> None:
    """Check the values and reference ranges of one observation that was made."""
    if observation.get("moodCode") != "EVN" or observation.get("negationInd") == "true":
        return
    loinc = loinc_of(observation)
    for value in children(observation, "value"):
        if loinc is None or is_null(value) or kind(value) not in {"PQ", "IVL_PQ", "INT", "REAL"}:
            continue
        if kind(value) == "PQ" and value.get("unit") is None and value.get("value") is not None:
            # A quantity without a unit has the unit 1.
            document.add_all(check_unit("1", document.path(value), document.context, loinc=loinc, system=UCUM_SYSTEM))
        _check_interval(document, value)
        age = _age_years(document, observation, born)
        for number, unit, comparator in _numbers(value):
            path = document.path(value)
            judged = judge_value(number, path, document.context, unit=unit, loinc=loinc, age_years=age, sex=sex, comparator=comparator)
            if judged.judged:
                document.report.fired("plausibility")
            elif judged.reason:
                document.skip("plausibility", judged.reason)
            document.add_all(list(judged.findings))
    for given in children(observation, "referenceRange"):
        _check_reference_range(document, given)


def _check_reference_range(document: Document, given: Any) -> None:
    span = child(given, "observationRange", "value")
    low, high = child(span, "low"), child(span, "high")
    if low is not None and high is not None:
        document.report.fired("observations")
        ends = low.get("value"), high.get("value")
        path = document.path(given)
        document.add_all(check_reference_range(*ends, path, document.context, low_unit=low.get("unit"), high_unit=high.get("unit")))


def _numbers(value: Any) -> list[tuple[str, str | None, str | None]]:
    """(number, unit, comparator) of each number in a value; the ends of an interval have comparators."""
    bounds: list[tuple[Any, str | None]]
    if kind(value) != "IVL_PQ":
        bounds = [(value, None)]
    else:
        bounds = [(end, comparator) for name, comparator in (("low", ">="), ("high", "<=")) if (end := child(value, name)) is not None]
    return [(number, end.get("unit"), comparator) for end, comparator in bounds if (number := end.get("value")) is not None]


def _check_interval(document: Document, value: Any) -> None:
    """Report an interval whose low end is above its high end."""
    low, high = child(value, "low"), child(value, "high")
    if low is None or high is None or low.get("unit") != high.get("unit"):
        return
    document.report.fired("observations")
    least, most = number_of(low.get("value")), number_of(high.get("value"))
    if least is not None and most is not None and least > most:
        document.add("major", "ccda.observations.interval", value, "the low end of the interval is above its high end", suggestion="Exchange them")


def _check_pressures(document: Document, organizer: Any) -> None:
    """Check systolic against diastolic pressure in one set of vital signs."""
    pressures: dict[str, Any] = {}
    for component in children(organizer, "component"):
        observation = child(component, "observation")
        value = None if observation is None else child(observation, "value")
        if value is not None and kind(value) == "PQ" and (loinc := loinc_of(observation)) in {SYSTOLIC, DIASTOLIC}:
            pressures.setdefault(str(loinc), value)
    if len(pressures) == 2:
        document.report.fired("plausibility")
        above, below_it = pressures[SYSTOLIC], pressures[DIASTOLIC]
        units = {"systolic_unit": above.get("unit"), "diastolic_unit": below_it.get("unit")}
        document.add_all(check_blood_pressure(above.get("value"), below_it.get("value"), document.path(organizer), document.context, **units))
