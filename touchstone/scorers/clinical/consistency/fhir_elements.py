"""Parts of FHIR resources as they compare across formats: concepts, times, quantities, identifiers, and the patient."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from touchstone.scorers.clinical.consistency import identifiers, person_names
from touchstone.scorers.clinical.consistency.amounts import amount_of_text, comparator_of
from touchstone.scorers.clinical.consistency.code_maps import marital_of, sex_of, verdict_of
from touchstone.scorers.clinical.consistency.code_systems import code_of
from touchstone.scorers.clinical.consistency.record import Amount, Code, Identifier, Item, Name, Pair, Patient, PlacedValue, Stamp
from touchstone.scorers.clinical.consistency.stamps import fhir_stamp

LIST_MAX: Final = 200
#: Values of two numbers: kind, member, and the members of the numbers.
_PAIRS: Final[tuple[tuple[Literal["range", "ratio"], str, tuple[str, str]], ...]] = (
    ("range", "valueRange", ("low", "high")),
    ("ratio", "valueRatio", ("numerator", "denominator")),
)
_NUMBER_MAX: Final = 1e15
#: Resource type → members that hold times, and the role of each.
_TIMES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "Condition": (("onsetDateTime", "onset"), ("recordedDate", "recorded"), ("abatementDateTime", "end")),
    "AllergyIntolerance": (("onsetDateTime", "onset"), ("recordedDate", "recorded"), ("lastOccurrence", "onset")),
    "Immunization": (("occurrenceDateTime", "effective"),),
    "Procedure": (("performedDateTime", "effective"),),
    "Observation": (("effectiveDateTime", "effective"), ("effectiveInstant", "effective")),
    "MedicationRequest": (("authoredOn", "authored"),),
    "MedicationStatement": (("effectiveDateTime", "start"), ("dateAsserted", "authored")),
    "MedicationAdministration": (("effectiveDateTime", "start"),),
    "MedicationDispense": (("whenHandedOver", "dispensed"),),
}
_PERIODS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "Condition": (("onsetPeriod", "onset"),),
    "AllergyIntolerance": (("onsetPeriod", "onset"),),
    "Observation": (("effectivePeriod", "effective"),),
    "Procedure": (("performedPeriod", "effective"),),
    "MedicationStatement": (("effectivePeriod", "start"),),
    "MedicationAdministration": (("effectivePeriod", "start"),),
    "Encounter": (("period", "start"),),
}


def list_of(value: Any) -> list[Any]:
    """The first members of an array; empty for anything else."""
    return value[:LIST_MAX] if isinstance(value, list) else []


def objects_of(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(index, object) of the objects of an array."""
    for number, one in enumerate(list_of(value)):
        if isinstance(one, Mapping):
            yield number, one


def object_of(value: Any) -> Mapping[str, Any]:
    """An object; empty for anything else."""
    return value if isinstance(value, Mapping) else {}


def has_code(concepts: Any, code: str) -> bool:
    """True if one of several CodeableConcepts has a code."""
    return any(coding.get("code") == code for _, concept in objects_of(concepts) for _, coding in objects_of(concept.get("coding")))


def concept_of(concept: Any) -> tuple[tuple[Code, ...], list[object]]:
    """A CodeableConcept's codes and names."""
    inside = object_of(concept)
    codings = [coding for _, coding in objects_of(inside.get("coding"))]
    codes = tuple(code for coding in codings if (code := code_of(coding.get("system"), coding.get("code"))) is not None)
    return codes, [inside.get("text"), *(coding.get("display") for coding in codings)]


def times_of(resource: Mapping[str, Any], path: str) -> Iterator[Stamp]:
    """The times of a resource, each with its role."""
    yield from (stamp for time in _written_times(resource, path) if (stamp := fhir_stamp(*time)) is not None)


def _written_times(resource: Mapping[str, Any], path: str) -> Iterator[tuple[str, object, str]]:
    """(role, value, path) of each member that may hold a time."""
    kind = resource["resourceType"]
    for member, role in _TIMES.get(kind, ()):
        yield role, resource.get(member), f"{path}.{member}"
    for member, role in _PERIODS.get(kind, ()):
        period = object_of(resource.get(member))
        yield role, period.get("start"), f"{path}.{member}.start"
        yield "end", period.get("end"), f"{path}.{member}.end"
    for number, dosage in objects_of(resource.get("dosageInstruction") or resource.get("dosage")):
        where = "dosageInstruction" if "dosageInstruction" in resource else "dosage"
        bounds = object_of(object_of(object_of(dosage.get("timing")).get("repeat")).get("boundsPeriod"))
        yield "start", bounds.get("start"), f"{path}.{where}[{number}].timing.repeat.boundsPeriod.start"
    if kind == "AllergyIntolerance":
        for number, reaction in objects_of(resource.get("reaction")):
            yield "reaction", reaction.get("onset"), f"{path}.reaction[{number}].onset"


def amount_of(quantity: Any, path: str) -> Amount | None:
    """A Quantity."""
    inside = object_of(quantity)
    number = inside.get("value")
    if not _is_number(number):
        return None
    system, code, unit = inside.get("system"), inside.get("code"), inside.get("unit")
    written = code if isinstance(code, str) and (system is None or "unitsofmeasure" in str(system) or not unit) else unit
    return Amount(str(number), written.strip() if isinstance(written, str) else "", comparator_of(inside.get("comparator")), path)


def _is_number(value: Any) -> bool:
    """True if a value is a number of sensible size."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _NUMBER_MAX


def doses_of(resource: Mapping[str, Any], path: str) -> Iterator[Amount]:
    """The doses of a medication or an immunization."""
    if (amount := amount_of(resource.get("doseQuantity"), f"{path}.doseQuantity")) is not None:
        yield amount
    for member in ("dosageInstruction", "dosage"):
        for number, dosage in objects_of(resource.get(member)):
            for index, rate in objects_of(dosage.get("doseAndRate")):
                if (amount := amount_of(rate.get("doseQuantity"), f"{path}.{member}[{number}].doseAndRate[{index}].doseQuantity")) is not None:
                    yield amount


def identifiers_of(value: Any, path: str) -> Iterator[Identifier]:
    """The identifiers of a resource."""
    for number, one in objects_of(value):
        kinds = [coding.get("code") for _, coding in objects_of(object_of(one.get("type")).get("coding"))]
        kind = next((code for code in kinds if isinstance(code, str)), "")
        found = identifiers.identifier(one.get("system"), kind, one.get("value"), f"{path}.identifier[{number}]")
        if found is not None:
            yield found


def patient_of(resource: Mapping[str, Any], path: str) -> Patient:
    """The patient of a Patient resource."""
    patient = Patient(path)
    names = (_name(name, f"{path}.name[{number}]") for number, name in objects_of(resource.get("name")))
    patient.names += (name for name in names if name is not None)
    patient.identifiers += identifiers_of(resource.get("identifier"), path)
    patient.birth = fhir_stamp("birth", resource.get("birthDate"), f"{path}.birthDate")
    if sex := sex_of(resource.get("gender")):
        patient.sex = PlacedValue(sex, f"{path}.gender")
    for _, coding in objects_of(object_of(resource.get("maritalStatus")).get("coding")):
        if status := marital_of(coding.get("code"), is_v2="v2-0002" in str(coding.get("system"))):
            patient.marital = PlacedValue(status, f"{path}.maritalStatus")
            break
    if isinstance(resource.get("deceasedDateTime"), str) or isinstance(resource.get("deceasedBoolean"), bool):
        is_dead = resource.get("deceasedBoolean") is not False
        patient.dead = PlacedValue("dead" if is_dead else "alive", f"{path}.deceased")
    for number, address in objects_of(resource.get("address")):
        if isinstance(code := address.get("postalCode"), str) and code.strip():
            patient.postal_codes.append(PlacedValue(identifiers.postal_code(code), f"{path}.address[{number}].postalCode"))
    for number, telecom in objects_of(resource.get("telecom")):
        if telecom.get("system") in ("phone", "sms") and telecom.get("use") != "old" and (phone := identifiers.phone(telecom.get("value"))):
            patient.phones.append(PlacedValue(phone, f"{path}.telecom[{number}]"))
    return patient


def _name(name: Mapping[str, Any], path: str) -> Name | None:
    """A HumanName by its parts, else by its text."""
    given = [text for text in list_of(name.get("given")) if isinstance(text, str)]
    found = person_names.name(name.get("family"), given, name.get("use"), path)
    return person_names.name_of_text(name["text"], path) if found is None and isinstance(name.get("text"), str) else found


def set_value(item: Item, part: Mapping[str, Any], path: str) -> None:
    """Set an entry's value from an observation or one of its components."""
    amount = amount_of(part.get("valueQuantity"), f"{path}.valueQuantity")
    if amount is None and _is_number(number := part.get("valueInteger")):
        amount = Amount(str(number), "", "", f"{path}.valueInteger")
    text = part.get("valueString")
    if amount is None and isinstance(text, str):
        amount = amount_of_text(text, f"{path}.valueString")
    item.amounts = () if amount is None else (amount,)
    item.answers, texts = concept_of(part.get("valueCodeableConcept"))
    member = "valueString" if isinstance(text, str) else "valueCodeableConcept"
    verdict = next((found for one in (text, *texts) if (found := verdict_of(item.answers, one))), "")
    item.verdict = PlacedValue(verdict, f"{path}.{member}") if verdict else None
    for kind, member, ends in _PAIRS:
        inside = object_of(part.get(member))
        first, second = (amount_of(inside.get(end), f"{path}.{member}.{end}") for end in ends)
        if first is not None and second is not None:
            item.pair = Pair(kind, first, second)
