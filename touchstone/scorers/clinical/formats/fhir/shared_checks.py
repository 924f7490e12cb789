"""The checks that all formats share, asked of FHIR resources: identifiers, units, plausibility, times, terminology, value sets.

This module, and `observed` for what was observed, are where the FHIR format knows those checks.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.checks import datetimes, identifiers, routes, terminology, valuesets
from touchstone.scorers.clinical.checks.scalars import Membership
from touchstone.scorers.clinical.checks.timestamps import Moment, read_fhir
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, shown_place
from touchstone.scorers.clinical.formats.fhir.observations import UCUM, People, check_observation, check_unit, dicts
from touchstone.scorers.clinical.formats.fhir.options import SOURCE_CODES_MAX, SOURCE_S_MAX
from touchstone.scorers.clinical.formats.fhir.references import Resolver
from touchstone.scorers.clinical.formats.fhir.tables import code_systems

_QUANTITIES = ("Quantity", "Age", "Duration")
#: Elements about past events: a later date is a slip. Plans and appointments may be in the future.
_PAST = {
    "birthDate": "date",
    "deceasedDateTime": "dateTime",
    "effectiveDateTime": "dateTime",
    "effectiveInstant": "instant",
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
#: What is written down has been, of plans too.
_WRITTEN = frozenset({"authoredOn", "issued", "recordedDate", "recorded", "sent", "received"})
#: What has an effectivePeriod that has begun; of a Measure, say, it is when it may be used.
_OBSERVED = frozenset({"Observation", "DiagnosticReport", "MedicationStatement", "MedicationAdministration"})
#: Elements whose value set R4 only recommends, and the specification checks.
_VALUE_SETS = {
    ("Patient", "maritalStatus"): "marital-status",
    ("Encounter", "class"): "v3-ActEncounterCode",
    ("Observation", "interpretation"): "observation-interpretation",
}
#: Extensions of US Core → the value set of their categories.
_US_CORE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-"
_CATEGORIES = {f"{_US_CORE}race": "omb-race-category", f"{_US_CORE}ethnicity": "omb-ethnicity-category"}
#: Categories that later editions of US Core added: other race, unknown, asked but unknown.
_CATEGORIES_SINCE = frozenset({"2131-1", "UNK", "ASKU"})
#: Elements of R4 that hold a route of administration.
_ROUTES = frozenset({"route", "exposureRoute", "routeOfAdministration"})
#: Codings of which the form and membership were found good.
_CODES_MAX = 50_000


def check_shared(document: Document, resolver: Resolver) -> None:
    """Run the shared checks over a document."""
    people = People(document, resolver)
    _identifiers(document)
    _units(document)
    for frame in document.frames:
        _times(document, frame)
        if frame.type == "Observation":
            check_observation(document, frame, people.of(frame), _tell)
    _value_sets(document)
    _routes(document)
    _codes(document)


def _tell(document: Document, found: Iterable[Finding]) -> None:
    document.take(found)


def _identifiers(document: Document) -> None:
    for value, place, frame in document.typed.get("Identifier", ()):
        if frame.type == "StructureDefinition" and place[1] != "identifier":
            continue  # What a definition fixes or asks for identifies nothing.
        document.report.fired("identifiers")
        path = shown_place(place)
        found = identifiers.check_fhir_identifier(value, path, document.context)
        # A system without a scheme is not valid FHIR, and is reported as such.
        _tell(document, [one for one in found if one.code != "identifiers.uri-scheme" or one.path != f"{path}.system"])
    for frame in document.frames:
        meta = frame.resource.get("meta")
        profiles = meta.get("profile") if isinstance(meta, dict) else None
        for index, url in enumerate(profiles if isinstance(profiles, list) else ()):
            document.report.fired("identifiers")
            _tell(document, identifiers.check_canonical(url, shown_place(((frame.place, "meta", None), "profile", index)), document.context))


def _units(document: Document) -> None:
    """Units of quantities outside Observations; an Observation's are checked with its LOINC code."""
    for kind in _QUANTITIES:
        for value, place, frame in document.typed.get(kind, ()):
            if frame.type != "Observation" and value.get("system") == UCUM:
                document.report.fired("units")
                check_unit(document, value, place, None, _tell)


def _times(document: Document, frame: Frame) -> None:
    """Dates of what has happened, ahead of the clock or before 1900. Their form is the structure rules' business."""
    resource = frame.resource
    told_of = _WRITTEN if frame.type in _AHEAD else _PAST.keys()
    for name, value in resource.items():
        if name not in told_of:
            continue
        document.report.fired("datetimes")
        moment = read_fhir(value, _PAST[name])  # type: ignore[arg-type]
        if isinstance(moment, Moment):
            _tell(document, datetimes.check_plausible_moment(moment, shown_place((frame.place, name, None)), document.context))
    period = resource.get("effectivePeriod") if frame.type in _OBSERVED else None
    if isinstance(period, dict) and isinstance(start := read_fhir(period.get("start"), "dateTime"), Moment):
        document.report.fired("datetimes")
        _tell(document, datetimes.check_plausible_moment(start, shown_place(((frame.place, "effectivePeriod", None), "start", None)), document.context))
    if frame.type == "Patient" and "birthDate" in resource and "deceasedDateTime" in resource:
        document.report.fired("datetimes")
        born, died = read_fhir(resource["birthDate"], "date"), read_fhir(resource["deceasedDateTime"], "dateTime")
        path = shown_place((frame.place, "deceasedDateTime", None))
        if isinstance(born, Moment) and isinstance(died, Moment) and died.bounds()[1] < born.bounds()[0]:
            _tell(document, [document.context.finding("major", "datetimes.order", path, "Death lies before birth")])


def _value_sets(document: Document) -> None:
    for frame in document.frames:
        if frame.type == "Patient":
            _categories(document, frame)
        for (kind, element), name in _VALUE_SETS.items():
            value = frame.resource.get(element) if frame.type == kind else None
            for index, one in enumerate(value if isinstance(value, list) else [value]):
                codings = list(dicts(one.get("coding"))) if isinstance(one, dict) and "coding" in one else [one] if isinstance(one, dict) else []
                codes = [coding["code"] for coding in codings if isinstance(coding.get("code"), str)]
                if not codes:
                    continue
                document.report.fired("valuesets")
                if all(valuesets.in_value_set(name, code) == "not_member" for code in codes):
                    path = shown_place((frame.place, element, index if isinstance(value, list) else None))
                    _tell(document, valuesets.check_code(name, codes[0], path, document.context))


def _categories(document: Document, frame: Frame) -> None:
    """Race and ethnicity of a Patient, where they are given as US Core gives them."""
    for index, extension in enumerate(dicts(frame.resource.get("extension"))):
        name = _CATEGORIES.get(url) if isinstance(url := extension.get("url"), str) else None
        for inner, part in enumerate(dicts(extension.get("extension")) if name is not None else ()):
            coding = part.get("valueCoding")
            if name is None or part.get("url") != "ombCategory" or not isinstance(coding, dict) or not isinstance(code := coding.get("code"), str):
                continue
            document.report.fired("valuesets")
            if code not in _CATEGORIES_SINCE:
                path = shown_place((((frame.place, "extension", index), "extension", inner), "valueCoding", None))
                _tell(document, valuesets.check_code(name, code, path, document.context))


def _routes(document: Document) -> None:
    """Codes of the elements that say by which way a drug, or an allergen, came into the body."""
    for coding, place in document.codings:
        if place[1] == "coding" and place[0][1] in _ROUTES and isinstance(coding.get("code"), str):
            document.report.fired("valuesets")
            found = routes.check_route(coding.get("system"), shown_place((place, "system", None)), document.context)
            _tell(document, found)
            if not found and coding.get("system") not in code_systems():
                document.skip(*routes.NOT_CHECKED)


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
