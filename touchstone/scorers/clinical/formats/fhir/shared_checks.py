"""The checks that all formats share, applied to FHIR resources: identifiers, units, times, value sets, routes and terminology."""

from __future__ import annotations

import time

from touchstone.scorers.clinical.checks import datetimes, identifiers, routes, terminology, valuesets
from touchstone.scorers.clinical.checks.json_access import objects
from touchstone.scorers.clinical.checks.scalars import Membership
from touchstone.scorers.clinical.checks.timestamps import FhirKind, Moment, read_fhir
from touchstone.scorers.clinical.formats.fhir.document import Document, Frame, shown_place
from touchstone.scorers.clinical.formats.fhir.observations import UCUM, Patients, check_observation, check_unit
from touchstone.scorers.clinical.formats.fhir.options import SOURCE_CODES_MAX, SOURCE_S_MAX
from touchstone.scorers.clinical.formats.fhir.references import Resolver
from touchstone.scorers.clinical.formats.fhir.tables import code_systems

_QUANTITIES = ("Quantity", "Age", "Duration")
#: Elements about past events: a later date is an error.
_PAST: dict[str, FhirKind] = {
    **dict.fromkeys(("deceasedDateTime", "effectiveDateTime", "recordedDate", "onsetDateTime", "abatementDateTime", "performedDateTime"), "dateTime"),
    **dict.fromkeys(("occurrenceDateTime", "authoredOn", "assertedDate", "dateAsserted", "lastOccurrence", "sent", "received"), "dateTime"),
    **dict.fromkeys(("effectiveInstant", "issued", "recorded"), "instant"),
    "birthDate": "date",
}
#: Resources about the future.
_AHEAD = frozenset(
    {"Appointment", "ServiceRequest", "Task", "CarePlan", "DeviceRequest", "NutritionOrder", "CommunicationRequest", "RequestGroup", "Goal", "Slot"}
)
#: Elements about the record itself, which is in the past even for a plan.
_WRITTEN = frozenset({"authoredOn", "issued", "recordedDate", "recorded", "sent", "received"})
#: Resources whose effectivePeriod has begun; that of a Measure, for example, may be in the future.
_OBSERVED = frozenset({"Observation", "DiagnosticReport", "MedicationStatement", "MedicationAdministration"})
#: Elements whose value set R4 only recommends, but the specification checks.
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
#: Elements with a route of administration.
_ROUTES = frozenset({"route", "exposureRoute", "routeOfAdministration"})
#: Different codes of one document that are remembered.
_CODES_MAX = 50_000


def check_shared(document: Document, resolver: Resolver) -> None:
    """Run the shared checks over a document."""
    patients = Patients(document, resolver)
    _identifiers(document)
    _units(document)
    for frame in document.frames:
        _times(document, frame)
        if frame.type == "Observation":
            check_observation(document, frame, patients)
    _value_sets(document)
    _routes(document)
    _codes(document)


def _identifiers(document: Document) -> None:
    for value, place, frame in document.typed.get("Identifier", ()):
        if frame.type == "StructureDefinition" and place[1] != "identifier":
            continue  # A fixed or pattern value of a definition identifies nothing.
        document.report.fired("identifiers")
        path = shown_place(place)
        found = identifiers.check_fhir_identifier(value, path, document.context)
        # A system without a scheme is not valid FHIR: `references.check_identifiers` reports it.
        document.add_all([one for one in found if one.code != "identifiers.uri-scheme" or one.path != f"{path}.system"])
    for frame in document.frames:
        profiles = frame.part("meta").get("profile")
        for index, url in enumerate(profiles if isinstance(profiles, list) else ()):
            document.report.fired("identifiers")
            document.add_all(identifiers.check_canonical(url, shown_place(((frame.place, "meta", None), "profile", index)), document.context))


def _units(document: Document) -> None:
    """Units of quantities outside Observations; those of an Observation are checked with its LOINC code."""
    for kind in _QUANTITIES:
        for value, place, frame in document.typed.get(kind, ()):
            if frame.type != "Observation" and value.get("system") == UCUM:
                document.report.fired("units")
                check_unit(document, value, place, None)


def _times(document: Document, frame: Frame) -> None:
    """Dates of past events: in the future, before 1900, or death before birth. Their form is checked by `primitives`."""
    resource = frame.resource
    past = _WRITTEN if frame.type in _AHEAD else _PAST.keys()
    for name, value in resource.items():
        if name not in past:
            continue
        document.report.fired("datetimes")
        moment = read_fhir(value, _PAST[name])
        if isinstance(moment, Moment):
            document.add_all(datetimes.check_plausible_moment(moment, shown_place((frame.place, name, None)), document.context))
    period = resource.get("effectivePeriod") if frame.type in _OBSERVED else None
    if isinstance(period, dict) and isinstance(start := read_fhir(period.get("start"), "dateTime"), Moment):
        document.report.fired("datetimes")
        document.add_all(datetimes.check_plausible_moment(start, shown_place(((frame.place, "effectivePeriod", None), "start", None)), document.context))
    if frame.type == "Patient" and "birthDate" in resource and "deceasedDateTime" in resource:
        document.report.fired("datetimes")
        born, died = read_fhir(resource["birthDate"], "date"), read_fhir(resource["deceasedDateTime"], "dateTime")
        path = shown_place((frame.place, "deceasedDateTime", None))
        if isinstance(born, Moment) and isinstance(died, Moment) and died.bounds()[1] < born.bounds()[0]:
            document.add_all([document.context.finding("major", "datetimes.order", path, "The date of death is before the date of birth")])


def _value_sets(document: Document) -> None:
    for frame in document.frames:
        if frame.type == "Patient":
            _categories(document, frame)
        for (kind, element), name in _VALUE_SETS.items():
            value = frame.resource.get(element) if frame.type == kind else None
            for index, one in enumerate(value if isinstance(value, list) else [value]):
                codings = objects(one.get("coding")) if isinstance(one, dict) and "coding" in one else [one] if isinstance(one, dict) else []
                codes = [coding["code"] for coding in codings if isinstance(coding.get("code"), str)]
                if not codes:
                    continue
                document.report.fired("valuesets")
                if all(valuesets.in_value_set(name, code) == "not_member" for code in codes):
                    path = shown_place((frame.place, element, index if isinstance(value, list) else None))
                    document.add_all(valuesets.check_code(name, codes[0], path, document.context))


def _categories(document: Document, frame: Frame) -> None:
    """Race and ethnicity of a Patient, given as US Core gives them."""
    for index, extension in enumerate(objects(frame.resource.get("extension"))):
        name = _CATEGORIES.get(url) if isinstance(url := extension.get("url"), str) else None
        for inner, part in enumerate(objects(extension.get("extension")) if name is not None else ()):
            coding = part.get("valueCoding")
            if name is None or part.get("url") != "ombCategory" or not isinstance(coding, dict) or not isinstance(code := coding.get("code"), str):
                continue
            document.report.fired("valuesets")
            if code not in _CATEGORIES_SINCE:
                path = shown_place((((frame.place, "extension", index), "extension", inner), "valueCoding", None))
                document.add_all(valuesets.check_code(name, code, path, document.context))


def _routes(document: Document) -> None:
    for coding, place in document.codings:
        if place[1] == "coding" and place[0][1] in _ROUTES and isinstance(coding.get("code"), str):
            document.report.fired("valuesets")
            found = routes.check_route(coding.get("system"), shown_place((place, "system", None)), document.context)
            document.add_all(found)
            if not found and coding.get("system") not in code_systems():
                document.skip(*routes.NOT_CHECKED)


def _codes(document: Document) -> None:
    """Form and membership of codes in the terminologies that the shared checks know."""
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
            continue  # `codings` checks the systems that R4 publishes.
        document.report.fired("terminology")
        checked = terminology.check_code(system, code, shown_place((place, "code", None)), document.context, source=source)
        document.add_all(checked.findings)
        if checked.membership == "not_checked" and checked.reason:
            document.skip(f"membership in {known.title if known is not None else 'other code systems'}", checked.reason)


class BoundedSource:
    """A source with a limit of questions and of time per document: each question may be a request to a server."""

    def __init__(self, source: terminology.MembershipSource, most: int) -> None:
        self._source = source
        self._left = most
        self._most = most
        self._asking_s = 0.0

    def membership(self, system: str, code: str) -> tuple[Membership, str | None]:
        """Ask the source, unless the document has used up its questions or its time."""
        if self._left <= 0:
            return "not_checked", f"more than {self._most:,} codes in one document"
        if self._asking_s > SOURCE_S_MAX:
            return "not_checked", f"asking took more than {SOURCE_S_MAX:.0f} s for one document"
        self._left -= 1
        begun = time.monotonic()
        answer = self._source.membership(system, code)
        self._asking_s += time.monotonic() - begun
        return answer
