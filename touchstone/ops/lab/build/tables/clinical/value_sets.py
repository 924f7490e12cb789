"""The value sets of the specification's Priority 3, from the published FHIR packages (HL7, CC0)."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

#: name → (title, severity of a code outside it, the package's resource)
_CODE_SYSTEMS: Final = {
    "administrative-gender": ("Administrative gender", "major", "CodeSystem-administrative-gender"),
    "v3-AdministrativeGender": ("Administrative gender (v3)", "major", "CodeSystem-v3-AdministrativeGender"),
    "marital-status": ("Marital status", "minor", "CodeSystem-v3-MaritalStatus"),
    "condition-clinical": ("Condition clinical status", "minor", "CodeSystem-condition-clinical"),
    "condition-ver-status": ("Condition verification status", "minor", "CodeSystem-condition-ver-status"),
    "medicationrequest-status": ("MedicationRequest status", "major", "CodeSystem-medicationrequest-status"),
    "allergyintolerance-clinical": ("Allergy clinical status", "minor", "CodeSystem-allergyintolerance-clinical"),
    "allergyintolerance-verification": ("Allergy verification status", "minor", "CodeSystem-allergyintolerance-verification"),
    "allergy-intolerance-criticality": ("Allergy criticality", "major", "CodeSystem-allergy-intolerance-criticality"),
    "reaction-event-severity": ("Reaction severity", "major", "CodeSystem-reaction-event-severity"),
    "encounter-status": ("Encounter status", "major", "CodeSystem-encounter-status"),
    "observation-status": ("Observation status", "major", "CodeSystem-observation-status"),
    "observation-interpretation": ("Observation interpretation", "minor", "CodeSystem-v3-ObservationInterpretation"),
    "discharge-disposition": ("Discharge disposition", "minor", "CodeSystem-encounter-discharge-disposition"),
    "v3-ActStatus": ("Act status", "major", "CodeSystem-v3-ActStatus"),
    "HL70001": ("Administrative sex", "major", "CodeSystem-v2-0001"),
    "HL70002": ("Marital status", "minor", "CodeSystem-v2-0002"),
    "HL70004": ("Patient class", "major", "CodeSystem-v2-0004"),
    "HL70078": ("Interpretation codes", "major", "CodeSystem-v2-0078"),
    "HL70085": ("Observation result status", "major", "CodeSystem-v2-0085"),
    "HL70162": ("Route of administration", "minor", "CodeSystem-v2-0162"),
    "HL70189": ("Ethnic group", "minor", "CodeSystem-v2-0189"),
    "HL70190": ("Address type", "minor", "CodeSystem-v2-0190"),
    "HL70200": ("Name type", "minor", "CodeSystem-v2-0200"),
    "HL70201": ("Telecommunication use", "minor", "CodeSystem-v2-0201"),
    "HL70202": ("Telecommunication equipment type", "minor", "CodeSystem-v2-0202"),
    "HL70203": ("Identifier type", "minor", "CodeSystem-v2-0203"),
}
#: Table 0112 is not in the package: HL7's suggested values, which follow the UB-04 patient discharge status.
_DISCHARGE: Final = [f"{number:02d}" for number in (*range(1, 44), 50, 51, 61, 62, 63, 64, 65, 66, 69, 70, *range(81, 96))]
#: Not codes: the package lists the word null, and the segment's name, among the codes of table 0078.
_NO_CODES: Final = {"null", "OBX"}


def compile_value_sets(core: Path, us_core: Path) -> str:
    """The table's file from the packages hl7.fhir.r4.core 4.0.1 and hl7.fhir.us.core 3.1.1 (folders or .tgz). Raises KeyError for a missing part."""
    resources, profiles = read_package(core), read_package(us_core)
    sets: dict[str, dict[str, Any]] = {}
    for name, (title, severity, source) in _CODE_SYSTEMS.items():
        resource = resources[source]
        codes = [code for code in _codes(resource.get("concept", [])) if code not in _NO_CODES]
        sets[name] = {"title": title, "severity": severity, "system": resource["url"], "codes": codes}
    # FHIR's value set adds one null flavor to the v3 code system.
    sets["marital-status"]["codes"].append("UNK")
    sets["v3-ActEncounterCode"] = _encounter_classes(resources["CodeSystem-v3-ActCode"])
    for name, title in (("omb-race-category", "OMB race category"), ("omb-ethnicity-category", "OMB ethnicity category")):
        sets[name] = _enumerated(title, profiles[f"ValueSet-{name}"])
    sets["HL70112"] = {"title": "Discharge disposition", "severity": "minor", "system": "http://terminology.hl7.org/CodeSystem/v2-0112", "codes": _DISCHARGE}
    note = "HL7 FHIR R4 4.0.1 and US Core 3.1.1 (CC0 1.0), HL7 v2 tables; compiled by ops/clinical_tables; NOTICE.md"
    lines = [f"  {json.dumps(name)}: {json.dumps(sets[name], ensure_ascii=False)}" for name in sorted(sets)]
    return f'{{\n"notice": {json.dumps(note)},\n"sets": {{\n' + ",\n".join(lines) + "\n}\n}\n"


def read_package(path: Path) -> dict[str, dict[str, Any]]:
    """The CodeSystems and ValueSets of a FHIR package: file name without suffix → resource."""
    found = {}
    for name, data in _members(path):
        stem = name.rsplit("/", 1)[-1].removesuffix(".json")
        if name.endswith(".json") and stem.startswith(("CodeSystem-", "ValueSet-")):
            found[stem] = json.loads(data)
    return found


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for entry in sorted(path.rglob("*.json")):
            yield entry.name, entry.read_bytes()
        return
    with tarfile.open(path) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None:
                yield member.name, stream.read()


def _codes(concepts: list[dict[str, Any]]) -> list[str]:
    """Every code of a concept tree, in its order; abstract ones are groups, not codes."""
    found = []
    waiting = list(concepts)
    while waiting:
        concept = waiting.pop(0)
        if not _abstract(concept):
            found.append(concept["code"])
        waiting[:0] = concept.get("concept", [])
    return found


def _abstract(concept: dict[str, Any]) -> bool:
    return any(item.get("code") in {"notSelectable", "abstract"} and item.get("valueBoolean") for item in concept.get("property", []))


def _encounter_classes(act_codes: dict[str, Any]) -> dict[str, Any]:
    waiting = list(act_codes["concept"])
    while waiting:
        concept = waiting.pop()
        if concept["code"] == "_ActEncounterCode":
            codes = _codes(concept["concept"])
            return {"title": "Encounter class", "severity": "minor", "system": act_codes["url"], "codes": codes}
        waiting += concept.get("concept", [])
    raise KeyError("_ActEncounterCode")


def _enumerated(title: str, value_set: dict[str, Any]) -> dict[str, Any]:
    includes = value_set["compose"]["include"]
    codes = [concept["code"] for include in includes for concept in include.get("concept", [])]
    return {"title": title, "severity": "minor", "system": includes[0]["system"], "codes": codes}
