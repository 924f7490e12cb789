"""What was observed, in FHIR: units, values, pressures and reference ranges of Observations, judged by the age and sex of their patient."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.checks import plausibility, unit_checks
from touchstone.scorers.clinical.checks.parameters import Sex, find_parameter, sex_of
from touchstone.scorers.clinical.checks.timestamps import Moment, read_fhir
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, Place, shown_place
from touchstone.scorers.clinical.formats.fhir.references import Resolver

LOINC = "http://loinc.org"
UCUM = "http://unitsofmeasure.org"
_PRESSURES = ("systolic-bp", "diastolic-bp")
#: When something was observed: the first of these that an Observation has.
_WHEN = (("effectiveDateTime", "dateTime"), ("effectiveInstant", "instant"), ("issued", "instant"))

#: Takes the findings of one value.
Tell = Callable[[Document, Iterable[Finding]], None]


class People:
    """Whose an observation is: the Patient that its subject points to; where that is not here, its Bundle's Patient, if there is but one."""

    def __init__(self, document: Document, resolver: Resolver) -> None:
        self._resolver = resolver
        self._only: dict[int, Frame | None] = {}
        for frame in document.frames:
            if frame.type == "Patient" and frame.container is None and frame.bundle is not None:
                self._only[id(frame.bundle)] = None if id(frame.bundle) in self._only else frame

    def of(self, frame: Frame) -> tuple[Moment | None, Sex | None]:
        """The birth and sex of the patient of an observation; None where they, or the patient, are not known."""
        subject = frame.resource.get("subject")
        reference = subject.get("reference") if isinstance(subject, dict) else None
        found = self._resolver.anywhere(frame, reference) if isinstance(reference, str) else None
        if found is None:
            found = self._only.get(id(frame.root.bundle)) if frame.root.bundle is not None else None
        if found is None or found.type != "Patient":
            return None, None
        birth = read_fhir(found.resource.get("birthDate"), "date")
        return (birth if isinstance(birth, Moment) else None), sex_of(found.resource.get("gender"))


def check_observation(document: Document, frame: Frame, person: tuple[Moment | None, Sex | None], tell: Tell) -> None:
    """Check one Observation and its components."""
    resource, (birth, sex) = frame.resource, person
    age = _age(birth, resource)
    pressures: dict[str, tuple[Any, str | None]] = {}
    parts: list[tuple[dict[str, Any], Place]] = [(resource, frame.place)]
    components = resource.get("component")
    parts += [(one, (frame.place, "component", index)) for index, one in enumerate(components if isinstance(components, list) else ()) if isinstance(one, dict)]
    for part, place in parts:
        loinc, name = _code_of(part)
        value = part.get("valueQuantity")
        if isinstance(value, dict):
            at: Place = (place, "valueQuantity", None)
            document.report.fired("units")
            check_unit(document, value, at, loinc, tell)
            key = _plausible(document, value, at, loinc, name, age, sex, tell)
            if key in _PRESSURES:
                pressures[key] = value.get("value"), _unit_of(value)
        _ranges(document, part, place, loinc, tell)
    if len(pressures) == len(_PRESSURES):
        document.report.fired("plausibility")
        path = shown_place((frame.place, "component", None))
        (above, above_unit), (below, below_unit) = (pressures[key] for key in _PRESSURES)
        tell(document, plausibility.check_blood_pressure(above, below, path, document.context, systolic_unit=above_unit, diastolic_unit=below_unit))


def check_unit(document: Document, value: dict[str, Any], place: Place, loinc: str | None, tell: Tell) -> None:
    """Check the unit of a Quantity."""
    path = shown_place(place)
    found = unit_checks.check_quantity_unit(path, document.context, unit=value.get("unit"), code=value.get("code"), system=value.get("system"), loinc=loinc)
    tell(document, found)


def _unit_of(value: dict[str, Any]) -> str | None:
    """The unit of a quantity: its UCUM code, else what is shown."""
    unit = value.get("code") if value.get("system") in (None, UCUM) and "code" in value else value.get("unit")
    return unit if isinstance(unit, str) else None


def _plausible(
    document: Document, value: dict[str, Any], place: Place, loinc: str | None, name: str | None, age: float | None, sex: Sex | None, tell: Tell
) -> str | None:
    """Judge a value, and say as which parameter it was known."""
    judged = plausibility.judge_value(
        value.get("value"),
        shown_place(place),
        document.context,
        unit=_unit_of(value),
        loinc=loinc,
        name=name,
        age_years=age,
        sex=sex,
        comparator=value["comparator"] if isinstance(value.get("comparator"), str) else None,
    )
    if judged.judged:
        document.report.fired("plausibility")
    elif judged.parameter is not None:
        document.skip(f"plausibility of {judged.parameter.name}", str(judged.reason))
    tell(document, judged.findings)
    return None if judged.parameter is None else judged.parameter.key


def _ranges(document: Document, part: dict[str, Any], place: Place, loinc: str | None, tell: Tell) -> None:
    ranges = part.get("referenceRange")
    for index, one in enumerate(ranges if isinstance(ranges, list) else ()):
        low, high = (one.get(end) if isinstance(one, dict) else None for end in ("low", "high"))
        at: Place = (place, "referenceRange", index)
        for end, value in (("low", low), ("high", high)):
            if isinstance(value, dict):
                document.report.fired("units")
                check_unit(document, value, (at, end, None), loinc, tell)
        if isinstance(low, dict) and isinstance(high, dict):
            document.report.fired("plausibility")
            units = [one if isinstance(one := value.get("code", value.get("unit")), str) else None for value in (low, high)]
            path = shown_place(at)
            found = plausibility.check_reference_range(low.get("value"), high.get("value"), path, document.context, low_unit=units[0], high_unit=units[1])
            tell(document, found)


def _code_of(part: dict[str, Any]) -> tuple[str | None, str | None]:
    """The LOINC code of an observation or component, and a name of it.

    Of several LOINC codes the first one that we have ranges for counts (a panel's code may stand beside it), else the first; where
    there is none, its text is its name, or the display of a code.
    """
    code = part.get("code")
    if not isinstance(code, dict):
        return None, None
    codings = list(dicts(code.get("coding")))
    codes = [one["code"] for one in codings if one.get("system") == LOINC and isinstance(one.get("code"), str)]
    if codes:
        return next((one for one in codes if find_parameter(one) is not None), codes[0]), None
    names = [code.get("text"), *(one.get("display") for one in codings)]
    return None, next((one for one in names if isinstance(one, str) and find_parameter(name=one) is not None), None)


def dicts(values: Any) -> Iterator[dict[str, Any]]:
    """The objects of what should be a list of them."""
    return (one for one in values if isinstance(one, dict)) if isinstance(values, list) else iter(())


def _age(birth: Moment | None, resource: dict[str, Any]) -> float | None:
    """Years from birth to the observation; None where either is unknown, or too roughly known for what changes fast in the first years."""
    at = _observed_at(resource) if birth is not None else None
    if birth is None or at is None:
        return None
    years = at.year - birth.year + ((at.month or 1) - (birth.month or 1)) / 12 + ((at.day or 1) - (birth.day or 1)) / 365
    rough = 1.0 if None in {birth.month, at.month} else 1 / 12 if None in {birth.day, at.day} else 0.0
    return years if years >= 2 * rough else None


def _observed_at(resource: dict[str, Any]) -> Moment | None:
    """When something was observed, as far as an Observation says."""
    period = resource.get("effectivePeriod")
    if isinstance(period, dict) and isinstance(at := read_fhir(period.get("start"), "dateTime"), Moment):
        return at
    moments = (read_fhir(resource[name], kind) for name, kind in _WHEN if name in resource)  # type: ignore[arg-type]
    return next((at for at in moments if isinstance(at, Moment)), None)
