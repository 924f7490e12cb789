"""Observations: units, values, blood pressures and reference ranges, checked by the patient's age and sex."""

from __future__ import annotations

from typing import Any

from touchstone.scorers.clinical.checks import plausibility, unit_checks
from touchstone.scorers.clinical.checks.json_access import Json, numbered, objects
from touchstone.scorers.clinical.checks.parameters import Sex, find_parameter, sex_of
from touchstone.scorers.clinical.checks.timestamps import Moment, read_fhir
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place, shown_place
from touchstone.scorers.clinical.formats.fhir.references import Resolver

LOINC = "http://loinc.org"
UCUM = "http://unitsofmeasure.org"
_PRESSURES = ("systolic-bp", "diastolic-bp")
#: Elements with the time of an Observation, in order of preference.
_TIMES = (("effectiveDateTime", "dateTime"), ("effectiveInstant", "instant"), ("issued", "instant"))


class Patients:
    """Finds the Patient of an Observation: its subject; if that is not in the document, the only Patient of its Bundle."""

    def __init__(self, document: Document, resolver: Resolver) -> None:
        self._resolver = resolver
        self._only: dict[int, Frame | None] = {}
        for frame in document.frames:
            if frame.type == "Patient" and frame.container is None and frame.bundle is not None:
                self._only[id(frame.bundle)] = None if id(frame.bundle) in self._only else frame

    def birth_and_sex(self, frame: Frame) -> tuple[Moment | None, Sex | None]:
        """Return the date of birth and the sex of an Observation's patient; None for what is unknown."""
        reference = frame.part("subject").get("reference")
        found = self._resolver.anywhere(frame, reference) if isinstance(reference, str) else None
        if found is None and frame.root.bundle is not None:
            found = self._only.get(id(frame.root.bundle))
        if found is None or found.type != "Patient":
            return None, None
        birth = read_fhir(found.resource.get("birthDate"), "date")
        return (birth if isinstance(birth, Moment) else None), sex_of(found.resource.get("gender"))


def check_observation(document: Document, frame: Frame, patients: Patients) -> None:
    """Check one Observation and its components."""
    birth, sex = patients.birth_and_sex(frame)
    age = _age(birth, frame.resource)
    pressures: dict[str, tuple[Any, str | None]] = {}
    components = [(one, (frame.place, "component", index)) for index, one in numbered(frame.resource, "component")]
    for part, place in [(frame.resource, frame.place), *components]:
        loinc, name = _code_of(part)
        value = part.get("valueQuantity")
        if isinstance(value, dict):
            at: Place = (place, "valueQuantity", None)
            document.report.fired("units")
            check_unit(document, value, at, loinc)
            key = _check_value(document, value, at, loinc, name, age, sex)
            if key in _PRESSURES:
                pressures[key] = value.get("value"), _unit_of(value)
        _check_ranges(document, part, place, loinc)
    if len(pressures) == len(_PRESSURES):
        document.report.fired("plausibility")
        path = shown_place((frame.place, "component", None))
        (above, above_unit), (below, below_unit) = (pressures[key] for key in _PRESSURES)
        found = plausibility.check_blood_pressure(above, below, path, document.context, systolic_unit=above_unit, diastolic_unit=below_unit)
        document.add_all(found)


def check_unit(document: Document, value: Json, place: Place, loinc: str | None) -> None:
    """Check the unit of a Quantity."""
    unit, code, system = value.get("unit"), value.get("code"), value.get("system")
    document.add_all(unit_checks.check_quantity_unit(shown_place(place), document.context, unit=unit, code=code, system=system, loinc=loinc))


def _unit_of(value: Json) -> str | None:
    unit = value.get("code") if value.get("system") in (None, UCUM) and "code" in value else value.get("unit")
    return unit if isinstance(unit, str) else None


def _check_value(document: Document, value: Json, place: Place, loinc: str | None, name: str | None, age_years: float | None, sex: Sex | None) -> str | None:
    """Check a value against the ranges of its parameter. Returns the parameter's key, None if there is none."""
    comparator = value.get("comparator")
    judged = plausibility.judge_value(
        value.get("value"),
        shown_place(place),
        document.context,
        unit=_unit_of(value),
        loinc=loinc,
        name=name,
        age_years=age_years,
        sex=sex,
        comparator=comparator if isinstance(comparator, str) else None,
    )
    if judged.judged:
        document.report.fired("plausibility")
    elif judged.parameter is not None:
        document.skip(f"plausibility of {judged.parameter.name}", str(judged.reason))
    document.add_all(judged.findings)
    return None if judged.parameter is None else judged.parameter.key


def _check_ranges(document: Document, part: Json, place: Place, loinc: str | None) -> None:
    for index, one in numbered(part, "referenceRange"):
        at: Place = (place, "referenceRange", index)
        ends = {end: value for end in ("low", "high") if isinstance(value := one.get(end), dict)}
        for end, value in ends.items():
            document.report.fired("units")
            check_unit(document, value, (at, end, None), loinc)
        if len(ends) == 2:
            document.report.fired("plausibility")
            low, high = ends["low"], ends["high"]
            units = [unit if isinstance(unit := value.get("code", value.get("unit")), str) else None for value in (low, high)]
            found = plausibility.check_reference_range(
                low.get("value"), high.get("value"), shown_place(at), document.context, low_unit=units[0], high_unit=units[1]
            )
            document.add_all(found)


def _code_of(part: Json) -> tuple[str | None, str | None]:
    """The LOINC code of an observation or component; without one, its name: the text or a display.

    Of several LOINC codes (a panel's beside a test's), the first with known ranges is used, else the first.
    """
    code = part.get("code")
    if not isinstance(code, dict):
        return None, None
    codings = objects(code.get("coding"))
    codes = [one["code"] for one in codings if one.get("system") == LOINC and isinstance(one.get("code"), str)]
    if codes:
        return next((one for one in codes if find_parameter(one) is not None), codes[0]), None
    names = [code.get("text"), *(one.get("display") for one in codings)]
    return None, next((one for one in names if isinstance(one, str) and find_parameter(name=one) is not None), None)


def _age(birth: Moment | None, resource: Json) -> float | None:
    """Years from birth to the observation; None if unknown, or known too roughly for ranges that change fast in the first years."""
    at = _observed_at(resource) if birth is not None else None
    if birth is None or at is None:
        return None
    years = at.year - birth.year + ((at.month or 1) - (birth.month or 1)) / 12 + ((at.day or 1) - (birth.day or 1)) / 365
    rough = 1.0 if None in {birth.month, at.month} else 1 / 12 if None in {birth.day, at.day} else 0.0
    return years if years >= 2 * rough else None


def _observed_at(resource: Json) -> Moment | None:
    period = resource.get("effectivePeriod")
    if isinstance(period, dict) and isinstance(at := read_fhir(period.get("start"), "dateTime"), Moment):
        return at
    times = (read_fhir(resource[name], kind) for name, kind in _TIMES if name in resource)  # type: ignore[arg-type]
    return next((at for at in times if isinstance(at, Moment)), None)
