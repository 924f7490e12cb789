"""FHIR → record: a Bundle, or a single resource, after US Core and the v2-to-FHIR and C-CDA on FHIR maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from touchstone.scorers.clinical.consistency import names
from touchstone.scorers.clinical.consistency.amounts import comparator_of
from touchstone.scorers.clinical.consistency.codes import class_of, code_of, is_none_known, marital_of, severity_of, sex_of, texts_of
from touchstone.scorers.clinical.consistency.groups import group_of
from touchstone.scorers.clinical.consistency.record import Amount, Code, Group, Identifier, Item, Kind, Patient, Record, Scope, Stamp, Told
from touchstone.scorers.clinical.consistency.times import fhir_stamp

ENTRIES_MAX: Final = 20_000
LIST_MAX: Final = 200
_NUMBER_MAX: Final = 1e15
_NOT_SO: Final = frozenset({"entered-in-error", "cancelled", "not-done", "not-taken"})
#: What is over may be left out of a list of problems, and what is not taken out of one of medications.
_OVER: Final = ("resolved", "inactive", "remission")
_NOT_TAKEN: Final = ("stopped", "on-hold", "draft")
#: A visit that was cancelled is told by every format.
_MISTAKEN: Final = frozenset({"entered-in-error"})
_MEDICATIONS: Final = frozenset({"MedicationRequest", "MedicationStatement", "MedicationAdministration", "MedicationDispense"})
#: Type → kind.
_KINDS: Final[Mapping[str, Kind]] = {
    "Condition": "condition",
    "AllergyIntolerance": "allergy",
    "Immunization": "immunization",
    "Observation": "observation",
    "Encounter": "encounter",
    **dict.fromkeys(_MEDICATIONS, "medication"),
}
#: Type → members that hold times, and what they are the times of.
_TIMES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "Condition": (("onsetDateTime", "onset"), ("recordedDate", "recorded"), ("abatementDateTime", "end")),
    "AllergyIntolerance": (("onsetDateTime", "onset"), ("recordedDate", "recorded"), ("lastOccurrence", "onset")),
    "Immunization": (("occurrenceDateTime", "effective"),),
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
    "MedicationStatement": (("effectivePeriod", "start"),),
    "MedicationAdministration": (("effectivePeriod", "start"),),
    "Encounter": (("period", "start"),),
}


def read_fhir(content: str | bytes | Mapping[str, Any], place: str) -> Record | None:
    """The record of a FHIR document; None where it is none that can be read here."""
    document = content if isinstance(content, Mapping) else _parsed(content)
    if not isinstance(document, Mapping) or not isinstance(document.get("resourceType"), str):
        return None
    record = Record("fhir", place, "FHIR R4")
    resources = _Resources(document)
    for path, resource in resources.placed:
        kind = resource.get("resourceType")
        if kind == "Patient":
            record.meet(_patient(resource, path))
        elif kind in _KINDS:
            _read(resource, path, record, resources)
    whole: Scope = "whole" if document.get("resourceType") == "Bundle" and len(resources.placed) > 1 else "part"
    groups: tuple[Group, ...] = ("condition", "medication", "allergy", "immunization", "lab", "vital")
    if whole == "whole":
        present = {item.group for item in record.every()}
        # A Bundle of a patient and a visit tells nothing of the groups; one that tells of some may lack the others.
        tells = bool(present - {"encounter"}) or any(resource.get("resourceType") == "DiagnosticReport" for _, resource in resources.placed)
        record.tells({group: "whole" if group in present else "able" for group in groups if tells})
    else:
        record.tells({})
    return record


def _parsed(content: str | bytes) -> Any:
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    data = data.removeprefix(b"\xef\xbb\xbf")
    if data[:1_000].lstrip().startswith(b"<"):
        from touchstone.scorers.clinical.formats.fhir.document import Document
        from touchstone.scorers.clinical.formats.fhir.options import Options
        from touchstone.scorers.clinical.formats.fhir.xml import read_xml
        from touchstone.scorers.clinical.report import Context, Report

        return read_xml(data, Document(Report(), Context(), Options()))
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def _list(value: Any) -> list[Any]:
    return value[:LIST_MAX] if isinstance(value, list) else []


def _objects(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, one in enumerate(_list(value)):
        if isinstance(one, Mapping):
            yield number, one


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


class _Resources:
    """The resources of a document with their paths (as findings show them), and what references lead to."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.placed: list[tuple[str, Mapping[str, Any]]] = []
        self._known: dict[str, Mapping[str, Any]] = {}
        if document.get("resourceType") != "Bundle":
            self._place(str(document["resourceType"]), document, None)
            return
        entries = document.get("entry")
        found = [entry for entry in (entries if isinstance(entries, list) else [])[:ENTRIES_MAX] if isinstance(entry, Mapping)]
        pairs = [(entry.get("fullUrl"), resource) for entry in found if isinstance(resource := entry.get("resource"), Mapping)]
        patients = sum(resource.get("resourceType") == "Patient" for _, resource in pairs)
        numbers: dict[str, int] = {}
        for url, resource in pairs:
            kind = resource.get("resourceType")
            if not isinstance(kind, str):
                continue
            number = numbers.get(kind, 0)
            numbers[kind] = number + 1
            self._place(kind if kind == "Patient" and patients == 1 else f"{kind}[{number}]", resource, url)

    def _place(self, path: str, resource: Mapping[str, Any], url: object) -> None:
        self.placed.append((path, resource))
        if isinstance(url, str):
            self._known[url] = resource
        if isinstance(identifier := resource.get("id"), str):
            self._known[f"{resource.get('resourceType')}/{identifier}"] = resource

    def of(self, reference: Any, within: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a reference leads to; empty where it leads nowhere."""
        target = _object(reference).get("reference")
        if not isinstance(target, str):
            return {}
        if target.startswith("#"):
            return next((one for _, one in _objects(within.get("contained")) if one.get("id") == target[1:]), {})
        return self._known.get(target) or self._known.get("/".join(target.split("/")[-2:]), {})


def _read(resource: Mapping[str, Any], path: str, record: Record, resources: _Resources) -> None:
    """Add what one resource says."""
    kind = _KINDS[resource["resourceType"]]
    if _is_mistake(resource):
        return
    codes, texts = _named(resource, kind, resources)
    if kind in {"condition", "allergy", "medication"} and is_none_known(codes, texts):
        record.deny(kind, path)
        return
    if kind == "observation":
        _observations(resource, path, record, codes, texts)
        return
    if kind == "medication" and not codes and not texts_of(texts) and resource.get("medicationReference"):
        record.unnamed[kind] = record.unnamed.get(kind, 0) + 1
        return
    is_claimed = True
    if kind == "condition":
        is_over = any(_has_code([resource.get("clinicalStatus")], code) for code in _OVER)
        is_claimed = not is_over and not _has_code(resource.get("category"), "encounter-diagnosis")
    elif kind == "medication":
        is_claimed = resource["resourceType"] in {"MedicationRequest", "MedicationStatement"} and resource.get("status") not in _NOT_TAKEN
    record.add(
        Item(
            kind,
            kind,
            path,
            codes,
            texts_of(texts),
            tuple(_identifiers(resource.get("identifier"), path)),
            tuple(_times(resource, path)),
            tuple(_doses(resource, path)) if kind in {"medication", "immunization"} else (),
            severity=tuple(_severities(resource)) if kind == "allergy" else (),
            status=class_of(_object(resource.get("class")).get("code")) if kind == "encounter" else "",
            is_claimed=is_claimed,
            labels=tuple(text for text in texts if isinstance(text, str)),
        )
    )


def _is_mistake(resource: Mapping[str, Any]) -> bool:
    """Whether a resource says that it does not hold."""
    status = resource.get("status")
    return (
        (isinstance(status, str) and status in (_MISTAKEN if resource["resourceType"] == "Encounter" else _NOT_SO))
        or any(_has_code([resource.get("verificationStatus")], code) for code in ("refuted", "entered-in-error"))
        or resource.get("doNotPerform") is True
    )


def _has_code(concepts: Any, code: str) -> bool:
    return any(coding.get("code") == code for _, concept in _objects(concepts) for _, coding in _objects(concept.get("coding")))


def _named(resource: Mapping[str, Any], kind: Kind, resources: _Resources) -> tuple[tuple[Code, ...], list[object]]:
    """Codes and names of what a resource is about."""
    if kind == "medication":
        concept = resource.get("medicationCodeableConcept") or resources.of(resource.get("medicationReference"), resource).get("code")
        codes, texts = _concept(concept)
        if not codes and not texts:
            texts = [_object(resource.get("medicationReference")).get("display")]
        return codes, texts
    if kind == "encounter":
        return (), []
    codes, texts = _concept(resource.get("vaccineCode" if kind == "immunization" else "code"))
    if kind == "allergy":
        # The substance may stand at the reactions alone.
        for _, reaction in _objects(resource.get("reaction")):
            more, names_of_it = _concept(reaction.get("substance"))
            codes, texts = codes + more, [*texts, *names_of_it]
    return tuple(dict.fromkeys(codes)), texts


def _concept(concept: Any) -> tuple[tuple[Code, ...], list[object]]:
    """A CodeableConcept's codes and names."""
    inside = _object(concept)
    codings = [coding for _, coding in _objects(inside.get("coding"))]
    codes = tuple(code for coding in codings if (code := code_of(coding.get("system"), coding.get("code"))) is not None)
    return codes, [inside.get("text"), *(coding.get("display") for coding in codings)]


def _times(resource: Mapping[str, Any], path: str) -> Iterator[Stamp]:
    kind = resource["resourceType"]
    for member, role in _TIMES.get(kind, ()):
        if (stamp := fhir_stamp(role, resource.get(member), f"{path}.{member}")) is not None:
            yield stamp
    for member, role in _PERIODS.get(kind, ()):
        period = _object(resource.get(member))
        for end, of_end in (("start", role), ("end", "end")):
            if (stamp := fhir_stamp(of_end, period.get(end), f"{path}.{member}.{end}")) is not None:
                yield stamp
    for number, dosage in _objects(resource.get("dosageInstruction") or resource.get("dosage")):
        where = "dosageInstruction" if "dosageInstruction" in resource else "dosage"
        bounds = _object(_object(_object(dosage.get("timing")).get("repeat")).get("boundsPeriod"))
        if (stamp := fhir_stamp("start", bounds.get("start"), f"{path}.{where}[{number}].timing.repeat.boundsPeriod.start")) is not None:
            yield stamp
    if kind == "AllergyIntolerance":
        for number, reaction in _objects(resource.get("reaction")):
            if (stamp := fhir_stamp("reaction", reaction.get("onset"), f"{path}.reaction[{number}].onset")) is not None:
                yield stamp


def _amount(quantity: Any, path: str) -> Amount | None:
    """A Quantity."""
    inside = _object(quantity)
    number = inside.get("value")
    if not _is_number(number):
        return None
    system, code, unit = inside.get("system"), inside.get("code"), inside.get("unit")
    written = code if isinstance(code, str) and (system is None or "unitsofmeasure" in str(system) or not unit) else unit
    return Amount(str(number), written.strip() if isinstance(written, str) else "", comparator_of(inside.get("comparator")), path)


def _is_number(value: Any) -> bool:
    """Whether a value is a number that a document can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _NUMBER_MAX


def _doses(resource: Mapping[str, Any], path: str) -> Iterator[Amount]:
    if (amount := _amount(resource.get("doseQuantity"), f"{path}.doseQuantity")) is not None:
        yield amount
    for member in ("dosageInstruction", "dosage"):
        for number, dosage in _objects(resource.get(member)):
            for index, rate in _objects(dosage.get("doseAndRate")):
                if (amount := _amount(rate.get("doseQuantity"), f"{path}.{member}[{number}].doseAndRate[{index}].doseQuantity")) is not None:
                    yield amount


def _severities(resource: Mapping[str, Any]) -> Iterator[str]:
    told = [resource.get("criticality"), *(reaction.get("severity") for _, reaction in _objects(resource.get("reaction")))]
    yield from (severity for one in told if (severity := severity_of(one)))


def _observations(resource: Mapping[str, Any], path: str, record: Record, codes: tuple[Code, ...], texts: list[object]) -> None:
    """An observation and its components, each an entry; a panel without a value is none."""
    times = tuple(_times(resource, path))
    identifiers = tuple(_identifiers(resource.get("identifier"), path))
    category = _category(resource.get("category"))
    parts = [(path, resource, codes, texts)]
    parts += [(f"{path}.component[{number}]", one, *_concept(one.get("code"))) for number, one in _objects(resource.get("component"))]
    for where, part, of_part, names_of_part in parts:
        amount = _amount(part.get("valueQuantity"), f"{where}.valueQuantity")
        if amount is None and _is_number(number := part.get("valueInteger")):
            amount = Amount(str(number), "", "", f"{where}.valueInteger")
        answers, _ = _concept(part.get("valueCodeableConcept"))
        told = amount is not None or answers or any(name.startswith("value") for name in part)
        if part is resource and not told and len(parts) > 1:
            continue
        item = Item("observation", group_of(of_part, category), where, of_part, texts_of(names_of_part), identifiers, times)
        item.amounts = () if amount is None else (amount,)
        item.answers = answers
        item.is_claimed = bool(item.amounts)
        record.add(item)


def _category(categories: Any) -> Group:
    """The group that an observation's categories name; one without any is a result."""
    if _has_code(categories, "vital-signs"):
        return "vital"
    return "lab" if _has_code(categories, "laboratory") or not _list(categories) else "other"


def _identifiers(value: Any, path: str) -> Iterator[Identifier]:
    for number, one in _objects(value):
        kinds = [coding.get("code") for _, coding in _objects(_object(one.get("type")).get("coding"))]
        kind = next((code for code in kinds if isinstance(code, str)), "")
        found = names.identifier(one.get("system"), kind, one.get("value"), f"{path}.identifier[{number}]")
        if found is not None:
            yield found


def _patient(resource: Mapping[str, Any], path: str) -> Patient:
    patient = Patient(path)
    for number, name in _objects(resource.get("name")):
        given = [text for text in _list(name.get("given")) if isinstance(text, str)]
        found = names.name(name.get("family"), given, name.get("use"), f"{path}.name[{number}]")
        if found is None and isinstance(name.get("text"), str):
            found = names.name_of_text(name["text"], f"{path}.name[{number}]")
        if found is not None:
            patient.names.append(found)
    patient.identifiers += _identifiers(resource.get("identifier"), path)
    patient.birth = fhir_stamp("birth", resource.get("birthDate"), f"{path}.birthDate")
    if sex := sex_of(resource.get("gender")):
        patient.sex = Told(sex, f"{path}.gender")
    for _, coding in _objects(_object(resource.get("maritalStatus")).get("coding")):
        if "v2-0002" not in str(coding.get("system")) and (status := marital_of(coding.get("code"), is_v2=False)):
            patient.marital = Told(status, f"{path}.maritalStatus")
            break
    if isinstance(resource.get("deceasedDateTime"), str) or isinstance(resource.get("deceasedBoolean"), bool):
        is_dead = resource.get("deceasedBoolean") is not False
        patient.dead = Told("dead" if is_dead else "alive", f"{path}.deceased")
    for number, address in _objects(resource.get("address")):
        if isinstance(code := address.get("postalCode"), str) and code.strip():
            patient.postal_codes.append(Told(names.postal_code(code), f"{path}.address[{number}].postalCode"))
    return patient
