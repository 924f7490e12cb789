"""FHIR document → persona: the entries of a Bundle in the shape that personas have, for a chart of a trace without one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from touchstone.scorers.clinical.formats.fhir.xml import xml_as_json

#: Key of an entry: its resource in the paths of findings, such as `Observation[2]`. No member of a persona is called so.
PLACE: Final = "@"
#: Entries of a Bundle that are read.
ENTRIES_MAX: Final = 5_000
#: Type of resource → key of its list, and member of its name.
_LISTS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "Condition": ("conditions", ("code",)),
    "MedicationRequest": ("medications", ("medicationCodeableConcept", "medicationReference")),
    "MedicationStatement": ("medications", ("medicationCodeableConcept", "medicationReference")),
    "AllergyIntolerance": ("allergies", ("code",)),
    "Observation": ("labs", ("code",)),
    "Encounter": ("encounters", ("type", "class", "serviceType")),
    "Procedure": ("procedures", ("code",)),
    "Immunization": ("immunizations", ("vaccineCode",)),
}
_PERIODS: Final = ("period", "onsetPeriod", "performedPeriod", "effectivePeriod")
_STARTS: Final = (
    "onsetDateTime", "effectiveDateTime", "performedDateTime", "occurrenceDateTime", "authoredOn", "recordedDate", "issued"
)  # fmt: skip


def persona_of(content: str | bytes | dict[str, Any]) -> dict[str, Any]:
    """The persona that a FHIR document describes, each entry with its place; empty if it cannot be read, or describes nothing."""
    resource = _parsed(content)
    if resource is None:
        return {}
    persona: dict[str, Any] = {}
    numbers: Counter[str] = Counter()
    for one in _resources(resource):
        name = one.get("resourceType")
        place = f"{name}[{numbers[str(name)]}]" if one is not resource else str(name)
        numbers[str(name)] += 1
        if name == "Patient" and "name" not in persona:
            persona |= _patient(one)
        elif isinstance(name, str) and name in _LISTS:
            key, names = _LISTS[name]
            entry = _entry(one, names)
            if entry.get("name"):
                entry[PLACE] = place
                persona.setdefault(key, []).append(entry)
    return persona


def _parsed(content: str | bytes | dict[str, Any]) -> dict[str, Any] | None:
    if isinstance(content, dict):
        return content
    try:
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
            return xml_as_json(data)
        value = orjson.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _resources(resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if resource.get("resourceType") != "Bundle":
        yield resource
        return
    entries = resource.get("entry")
    for entry in entries[:ENTRIES_MAX] if isinstance(entries, list) else ():
        inside = entry.get("resource") if isinstance(entry, dict) else None
        if isinstance(inside, dict):
            yield inside


def _patient(patient: Mapping[str, Any]) -> dict[str, Any]:
    names = patient.get("name")
    name = names[0] if isinstance(names, list) and names and isinstance(names[0], dict) else {}
    given = name.get("given")
    parts = [*(given if isinstance(given, list) else ()), name.get("family")]
    identifiers = patient.get("identifier")
    first = next((one.get("value") for one in (identifiers if isinstance(identifiers, list) else ()) if isinstance(one, dict) and one.get("value")), None)
    found = {
        "name": name.get("text") or " ".join(part for part in parts if isinstance(part, str)),
        "gender": patient.get("gender"),
        "birthDate": patient.get("birthDate"),
        "mrn": first,
        "maritalStatus": _concept(patient.get("maritalStatus"))[0],
    }
    return {key: value for key, value in found.items() if isinstance(value, str) and value}


def _entry(resource: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """One resource as an entry: what has no value is left out."""
    text, code = next((named for key in names if (named := _concept(resource.get(key)))[0]), ("", ""))
    period: dict[str, Any] = next((one for key in _PERIODS if isinstance(one := resource.get(key), dict)), {})
    start = next((one for key in _STARTS if isinstance(one := resource.get(key), str)), period.get("start"))
    status = resource.get("clinicalStatus")
    value, unit = _value(resource)
    found: dict[str, Any] = {
        "name": text,
        "code": code,
        "status": _concept(status)[1] or _concept(status)[0] if status else resource.get("status"),
        "value": value,
        "unit": unit,
        "start": start,
        "end": resource.get("abatementDateTime") or period.get("end"),
        "dosage": _dosage(resource),
        "reason": _concept(resource.get("reasonCode"))[0],
        "criticality": resource.get("criticality"),
    }
    return {key: one for key, one in found.items() if one not in (None, "")}


def _concept(value: Any) -> tuple[str, str]:
    """Text and code of a CodeableConcept, a Coding, a reference, or a list of these; empty for anything else."""
    if isinstance(value, list):
        return next((found for one in value if (found := _concept(one))[0]), ("", ""))
    if not isinstance(value, dict):
        return "", ""
    codings = value.get("coding") if isinstance(value.get("coding"), list) else [value]
    coding = next((one for one in codings or () if isinstance(one, dict)), {})
    code = coding.get("code")
    text = value.get("text") or coding.get("display") or value.get("display") or code or value.get("reference")
    return text if isinstance(text, str) else "", code if isinstance(code, str) else ""


def _value(resource: Mapping[str, Any]) -> tuple[Any, str]:
    """Value and unit of an Observation; of its components, if it has only these."""
    quantity = resource.get("valueQuantity")
    if isinstance(quantity, dict):
        unit = quantity.get("unit") or quantity.get("code")
        return quantity.get("value"), unit if isinstance(unit, str) else ""
    if "valueCodeableConcept" in resource:
        return _concept(resource["valueCodeableConcept"])[0], ""
    plain = next((value for key, value in resource.items() if key.startswith("value") and isinstance(value, str | int | float)), None)
    parts = resource.get("component")
    if plain is None and isinstance(parts, list):
        read = [(_concept(one.get("code"))[0], *_value(one)) for one in parts[:10] if isinstance(one, dict)]
        return ", ".join(f"{name} {value} {unit}".strip() for name, value, unit in read if value is not None), ""
    return plain, ""


def _dosage(resource: Mapping[str, Any]) -> str:
    written = resource.get("dosageInstruction") or resource.get("dosage")
    first = written[0] if isinstance(written, list) and written else None
    if not isinstance(first, dict):
        return ""
    if isinstance(first.get("text"), str):
        return str(first["text"])
    rates = first.get("doseAndRate")
    quantity = rates[0].get("doseQuantity") if isinstance(rates, list) and rates and isinstance(rates[0], dict) else None
    return f"{quantity.get('value', '')} {quantity.get('unit', '')}".strip() if isinstance(quantity, dict) else ""
