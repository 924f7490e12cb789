"""The checks that all formats share, asked of FHIR resources: identifiers, units, plausibility, times, terminology, value sets.

This is the one place where the FHIR format knows those checks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from schemas.result import Finding
from scorers.clinical.checks import datetimes, identifiers, plausibility, terminology, ucum, valuesets
from scorers.clinical.checks.moments import Moment, read_fhir
from scorers.clinical.checks.parameters import Sex, sex_of
from scorers.clinical.checks.scalars import Membership
from scorers.clinical.formats.fhir.document import Document, Frame, Place, shown_place
from scorers.clinical.formats.fhir.options import PER_CODE_MAX, SOURCE_CODES_MAX, SOURCE_S_MAX
from scorers.clinical.formats.fhir.references import Resolver
from scorers.clinical.formats.fhir.tables import code_systems

_LOINC = "http://loinc.org"
_UCUM = "http://unitsofmeasure.org"
_QUANTITIES = ("Quantity", "Age", "Duration")
_SYSTOLIC, _DIASTOLIC = "8480-6", "8462-4"
#: Elements that tell of what has happened: ahead of the clock they are a slip. Plans and appointments lie ahead.
_PAST = {
    "birthDate": "date",
    "deceasedDateTime": "dateTime",
    "effectiveDateTime": "dateTime",
    "issued": "instant",
    "recordedDate": "dateTime",
    "onsetDateTime": "dateTime",
    "abatementDateTime": "dateTime",
    "performedDateTime": "dateTime",
    "occurrenceDateTime": "dateTime",
    "authoredOn": "dateTime",
    "assertedDate": "dateTime",
    "dateAsserted": "dateTime",
    "lastOccurrence": "dateTime",
    "sent": "dateTime",
    "received": "dateTime",
    "recorded": "instant",
}
_AHEAD = frozenset(
    {"Appointment", "ServiceRequest", "Task", "CarePlan", "DeviceRequest", "NutritionOrder", "CommunicationRequest", "RequestGroup", "Goal", "Slot"}
)
#: Elements whose value set R4 only recommends, and the specification checks.
_VALUE_SETS = {
    ("Patient", "maritalStatus"): "marital-status",
    ("Encounter", "class"): "v3-ActEncounterCode",
    ("Observation", "interpretation"): "observation-interpretation",
}
#: Codings of which the form and membership were found good.
_CODES_MAX = 50_000


def check_shared(document: Document, resolver: Resolver) -> None:
    """Run the shared checks over a document."""
    people = _People(document, resolver)
    _identifiers(document)
    _units(document)
    for frame in document.frames:
        _times(document, frame)
        if frame.type == "Observation":
            _observation(document, frame, people.of(frame))
    _value_sets(document)
    _codes(document)


def _tell(document: Document, found: list[Finding] | tuple[Finding, ...]) -> None:
    for finding in found:
        document.said[finding.code, finding.severity] += 1
        if document.said[finding.code, finding.severity] > PER_CODE_MAX:
            document.report.drop(finding.code, finding.severity)
        else:
            document.report.add(finding)


def _identifiers(document: Document) -> None:
    for value, place, _ in document.typed.get("Identifier", ()):
        document.report.fired("identifiers")
        _tell(document, identifiers.check_fhir_identifier(value, shown_place(place), document.context))
    for frame in document.frames:
        meta = frame.resource.get("meta")
        profiles = meta.get("profile") if isinstance(meta, dict) else None
        for index, url in enumerate(profiles if isinstance(profiles, list) else ()):
            document.report.fired("identifiers")
            _tell(document, identifiers.check_uri(url, shown_place(((frame.place, "meta", None), "profile", index)), document.context))


def _units(document: Document) -> None:
    """Units of quantities outside Observations; an Observation's are checked with its LOINC code."""
    for kind in _QUANTITIES:
        for value, place, frame in document.typed.get(kind, ()):
            if frame.type != "Observation" and value.get("system") == _UCUM:
                document.report.fired("units")
                _unit(document, value, place, None)


def _unit(document: Document, value: dict[str, Any], place: Place, loinc: str | None) -> None:
    path = shown_place(place)
    found = ucum.check_quantity_unit(path, document.context, unit=value.get("unit"), code=value.get("code"), system=value.get("system"), loinc=loinc)
    _tell(document, found)


def _person(frame: Frame) -> tuple[Moment | None, Sex | None]:
    birth = read_fhir(frame.resource.get("birthDate"), "date")
    return (birth if isinstance(birth, Moment) else None), sex_of(frame.resource.get("gender"))


class _People:
    """Whose an observation is: the Patient that its subject points to; where that is not here, its Bundle's Patient, if there is but one."""

    def __init__(self, document: Document, resolver: Resolver) -> None:
        self._resolver = resolver
        self._only: dict[int, Frame | None] = {}
        for frame in document.frames:
            if frame.type == "Patient" and frame.container is None and frame.bundle is not None:
                self._only[id(frame.bundle)] = None if id(frame.bundle) in self._only else frame

    def of(self, frame: Frame) -> tuple[Moment | None, Sex | None] | None:
        """The birth and sex of the patient of an observation; None where it cannot be told who that is."""
        subject = frame.resource.get("subject")
        reference = subject.get("reference") if isinstance(subject, dict) else None
        found = self._resolver.anywhere(frame, reference) if isinstance(reference, str) else None
        if found is None:
            found = self._only.get(id(frame.root.bundle)) if frame.root.bundle is not None else None
        return _person(found) if found is not None and found.type == "Patient" else None


def _observation(document: Document, frame: Frame, person: tuple[Moment | None, Sex | None] | None) -> None:
    resource = frame.resource
    age = _age(person[0] if person else None, resource.get("effectiveDateTime"))
    sex = person[1] if person else None
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
            _unit(document, value, at, loinc)
            _plausible(document, value, at, loinc, name, age, sex)
            if loinc in {_SYSTOLIC, _DIASTOLIC} and loinc is not None:
                pressures[loinc] = value.get("value"), _unit_of(value)
        _ranges(document, part, place, loinc)
    if len(pressures) == 2:
        document.report.fired("plausibility")
        path = shown_place((frame.place, "component", None))
        (above, above_unit), (below, below_unit) = pressures[_SYSTOLIC], pressures[_DIASTOLIC]
        found = plausibility.check_blood_pressure(above, below, path, document.context, systolic_unit=above_unit, diastolic_unit=below_unit)
        _tell(document, found)


def _unit_of(value: dict[str, Any]) -> str | None:
    """The unit of a quantity: its UCUM code, else what is shown."""
    unit = value.get("code") if value.get("system") in (None, _UCUM) and "code" in value else value.get("unit")
    return unit if isinstance(unit, str) else None


def _plausible(document: Document, value: dict[str, Any], place: Place, loinc: str | None, name: str | None, age: float | None, sex: Sex | None) -> None:
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
    _tell(document, judged.findings)


def _ranges(document: Document, part: dict[str, Any], place: Place, loinc: str | None) -> None:
    ranges = part.get("referenceRange")
    for index, one in enumerate(ranges if isinstance(ranges, list) else ()):
        low, high = (one.get(end) if isinstance(one, dict) else None for end in ("low", "high"))
        at: Place = (place, "referenceRange", index)
        for end, value in (("low", low), ("high", high)):
            if isinstance(value, dict):
                document.report.fired("units")
                _unit(document, value, (at, end, None), loinc)
        if isinstance(low, dict) and isinstance(high, dict):
            document.report.fired("plausibility")
            units = [one if isinstance(one := value.get("code", value.get("unit")), str) else None for value in (low, high)]
            path = shown_place(at)
            found = plausibility.check_reference_range(low.get("value"), high.get("value"), path, document.context, low_unit=units[0], high_unit=units[1])
            _tell(document, found)


def _code_of(part: dict[str, Any]) -> tuple[str | None, str | None]:
    """The LOINC code of an observation or component, and its text."""
    code = part.get("code")
    if not isinstance(code, dict):
        return None, None
    text = code.get("text")
    loinc = next((one.get("code") for one in _dicts(code.get("coding")) if one.get("system") == _LOINC), None)
    return loinc if isinstance(loinc, str) else None, text if isinstance(text, str) else None


def _dicts(values: Any) -> Iterator[dict[str, Any]]:
    return (one for one in values if isinstance(one, dict)) if isinstance(values, list) else iter(())


def _age(birth: Moment | None, effective: Any) -> float | None:
    """Years from birth to the observation; None where either is unknown."""
    at = read_fhir(effective, "dateTime")
    if birth is None or not isinstance(at, Moment):
        return None
    years = at.year - birth.year + ((at.month or 1) - (birth.month or 1)) / 12 + ((at.day or 1) - (birth.day or 1)) / 365
    return max(years, 0.0)


def _times(document: Document, frame: Frame) -> None:
    """Dates of what has happened, ahead of the clock or before 1900. Their form is the structure rules' business."""
    if frame.type in _AHEAD:
        return
    resource = frame.resource
    for name in _PAST.keys() & resource.keys():
        value = resource[name]
        document.report.fired("datetimes")
        moment = read_fhir(value, _PAST[name])  # type: ignore[arg-type]
        if isinstance(moment, Moment):
            _tell(document, datetimes.check_plausible_moment(moment, shown_place((frame.place, name, None)), document.context))
    if frame.type == "Patient" and "birthDate" in resource and "deceasedDateTime" in resource:
        document.report.fired("datetimes")
        born, died = read_fhir(resource["birthDate"], "date"), read_fhir(resource["deceasedDateTime"], "dateTime")
        path = shown_place((frame.place, "deceasedDateTime", None))
        if isinstance(born, Moment) and isinstance(died, Moment) and died.bounds()[1] < born.bounds()[0]:
            _tell(document, [document.context.finding("major", "datetimes.order", path, "Death lies before birth")])


def _value_sets(document: Document) -> None:
    for frame in document.frames:
        for (kind, element), name in _VALUE_SETS.items():
            value = frame.resource.get(element) if frame.type == kind else None
            for index, one in enumerate(value if isinstance(value, list) else [value]):
                codings = list(_dicts(one.get("coding"))) if isinstance(one, dict) and "coding" in one else [one] if isinstance(one, dict) else []
                codes = [coding["code"] for coding in codings if isinstance(coding.get("code"), str)]
                if not codes:
                    continue
                document.report.fired("valuesets")
                if all(valuesets.in_value_set(name, code) == "not_member" for code in codes):
                    path = shown_place((frame.place, element, index if isinstance(value, list) else None))
                    _tell(document, valuesets.check_code(name, codes[0], path, document.context))


def _codes(document: Document) -> None:
    """Form and membership of codes of the terminologies that the shared checks know."""
    seen: set[tuple[str, str]] = set()
    source = None if document.options.source is None else BoundedSource(document.options.source, SOURCE_CODES_MAX)
    for coding, place in document.codings:
        system, code = coding.get("system"), coding.get("code")
        if not isinstance(system, str) or not isinstance(code, str) or (system, code) in seen:
            continue
        if len(seen) < _CODES_MAX:
            seen.add((system, code))
        known = terminology.code_system(system)
        if known is None and (source is None or system in code_systems()):
            continue  # The systems that R4 publishes are checked as part of the format.
        document.report.fired("terminology")
        checked = terminology.check_code(system, code, shown_place((place, "code", None)), document.context, source=source)
        _tell(document, checked.findings)
        if checked.membership == "not_checked" and checked.reason:
            document.skip(f"membership in {known.title if known is not None else 'other code systems'}", checked.reason)


class BoundedSource:
    """A source that answers only so many questions of one document, for so long: each may be a request to a server."""

    def __init__(self, source: terminology.MembershipSource, most: int) -> None:
        self._source = source
        self._left = most
        self._most = most
        self._asking_s = 0.0

    def membership(self, system: str, code: str) -> tuple[Membership, str | None]:
        """Ask the source, or say that the document has asked enough."""
        if self._left <= 0:
            return "not_checked", f"more than {self._most:,} codes in one document"
        if self._asking_s > SOURCE_S_MAX:
            return "not_checked", f"asking took more than {SOURCE_S_MAX:.0f} s for one document"
        self._left -= 1
        begun = time.monotonic()
        answer = self._source.membership(system, code)
        self._asking_s += time.monotonic() - begun
        return answer
