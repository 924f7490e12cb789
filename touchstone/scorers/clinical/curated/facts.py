"""Facts in a persona and in generated documents, for expectations: conditions, medications, labs, age and sex.

They are read leniently: validators check whether a document is correct, and here only its content matters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final

from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.clinical.checks.parameters import Sex, sex_of
from touchstone.scorers.clinical.checks.terminology import code_system
from touchstone.scorers.clinical.curated.cases import SYSTEM_OF, Kind, Term
from touchstone.scorers.clinical.format_detection import as_bytes
from touchstone.scorers.clinical.formats import hl7v2

DAYS_PER_YEAR: Final = 365.2425
#: Entries of one kind that are read.
ENTRIES_MAX: Final = 10_000
#: Kind → keys of its lists in a persona.
PERSONA_KEYS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "condition": ("conditions", "problems", "diagnoses", "problemList"),
    "medication": ("medications", "prescriptions", "medicationList"),
    "lab": ("labs", "labResults", "lab_results", "observations", "results", "vitals", "vitalSigns", "vital_signs"),
}
_TEXT_KEYS: Final = ("name", "display", "text", "description", "label", "condition", "medication", "drug", "test", "title")
_CODE_KEYS: Final = ("code", "icd10", "icd10cm", "icd10Code", "rxnorm", "rxnormCode", "loinc", "loincCode")
_FHIR_KINDS: Final[Mapping[str, Kind]] = {
    "Condition": "condition",
    "MedicationRequest": "medication",
    "MedicationStatement": "medication",
    "MedicationAdministration": "medication",
    "MedicationDispense": "medication",
    "Medication": "medication",
    "Observation": "lab",
}
_NOT_SO: Final = frozenset({"entered-in-error", "refuted", "not-taken", "cancelled", "not-done"})
#: Segment → kind and field of its code.
_HL7V2_FIELDS: Final[Mapping[str, tuple[Kind, int]]] = {
    "DG1": ("condition", 3),
    "PRB": ("condition", 3),
    "RXO": ("medication", 1),
    "RXE": ("medication", 2),
    "RXD": ("medication", 2),
    "RXG": ("medication", 4),
    "RXA": ("medication", 5),
    "RXC": ("medication", 2),
    "OBX": ("lab", 3),
    "OBR": ("lab", 4),
}
#: LOINC code of a C-CDA section → the kind of its entries.
_CCDA_SECTIONS: Final[Mapping[str, Kind]] = {"11450-4": "condition", "46240-8": "condition", "10160-0": "medication", "30954-2": "lab", "8716-3": "lab"}
_HL7V3: Final = "{urn:hl7-org:v3}"


@dataclass(frozen=True, slots=True)
class Statement:
    """One entry: its texts, and its codes with their systems as written (None for no system)."""

    texts: tuple[str, ...] = ()
    codes: tuple[tuple[str | None, str], ...] = ()

    def is_term(self, term: Term) -> bool:
        """True if the entry is a term: by a code of the kind's system, else by a text."""
        system = SYSTEM_OF[term.kind]
        return any((named is None or code_system(named) is system) and term.has_code(code) for named, code in self.codes) or any(
            term.in_text(text) for text in self.texts
        )


@dataclass(slots=True)
class Facts:
    """The facts of one source. `age`: years, None if not given."""

    entries: dict[Kind, list[Statement]] = field(default_factory=dict)
    age: float | None = None
    sex: Sex | None = None

    def add(self, kind: Kind, statement: Statement) -> None:
        """Add an entry, within the bound."""
        if (statement.texts or statement.codes) and len(kept := self.entries.setdefault(kind, [])) < ENTRIES_MAX:
            kept.append(statement)

    def has(self, term: Term) -> bool:
        """True if an entry is this term."""
        return any(statement.is_term(term) for statement in self.entries.get(term.kind, ()))


def facts_of_persona(persona: Mapping[str, Any], moment: datetime) -> Facts:
    """The facts of a persona: lists of texts or of objects with a name and perhaps a code."""
    facts = Facts()
    for kind, keys in PERSONA_KEYS.items():
        for _, item in persona_items(persona, keys):
            facts.add(kind, _of_item(item))
    patient = persona.get("demographics") or persona.get("patient")
    for source in (persona, patient if isinstance(patient, Mapping) else {}):
        facts.sex = facts.sex or _sex(source.get("sex") or source.get("gender"))
        if facts.age is None:
            facts.age = _number(source.get("age"))
        for key in ("birthDate", "dateOfBirth", "birth_date", "dob"):
            if facts.age is None:
                facts.age = age_at(source.get(key), moment)
    return facts


def persona_items(persona: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The entries of some lists of a persona, each with its path."""
    for key in keys:
        items = persona.get(key)
        for number, item in enumerate(items[:ENTRIES_MAX] if isinstance(items, list) else ()):
            yield f"{key}[{number}]", item


def facts_of_document(form: ClinicalFormat, content: str | bytes | dict[str, Any], moment: datetime) -> Facts | None:
    """The facts of a document; None if it cannot be read."""
    if form == "fhir":
        return _of_fhir(content, moment)
    if form == "hl7v2":
        return _of_hl7v2(as_bytes(content), moment)
    return _of_ccda(as_bytes(content), moment)


def age_at(birth: object, moment: datetime) -> float | None:
    """Years from a date of birth (ISO or HL7, from the year on) to a moment."""
    digits = "".join(character for character in str(birth)[:10] if character.isdecimal()) if isinstance(birth, str) else ""
    if len(digits) not in {4, 6, 8}:
        return None
    try:
        born = date(int(digits[:4]), int(digits[4:6] or 7), int(digits[6:8] or 1))
    except ValueError:
        return None
    years = (moment.date() - born).days / DAYS_PER_YEAR
    return years if years >= 0 else None


def _of_item(item: Any) -> Statement:
    if isinstance(item, str):
        return Statement((item,))
    if not isinstance(item, Mapping):
        return Statement()
    texts = tuple(text for key in _TEXT_KEYS if isinstance(text := item.get(key), str))
    system = next((name for key in ("system", "codeSystem", "code_system") if isinstance(name := item.get(key), str)), None)
    codes = tuple((system, code) for key in _CODE_KEYS if isinstance(code := item.get(key), str))
    concept = _of_concept(item.get("code")) if isinstance(item.get("code"), Mapping) else Statement()
    return Statement(texts + concept.texts, codes + concept.codes)


def _of_concept(concept: Any) -> Statement:
    if not isinstance(concept, Mapping):
        return Statement()
    codings = [coding for coding in concept.get("coding") or () if isinstance(coding, Mapping)] if isinstance(concept.get("coding"), list) else []
    texts = [concept.get("text"), *(coding.get("display") for coding in codings)]
    codes = tuple(
        (system if isinstance(system := coding.get("system"), str) else None, code) for coding in codings if isinstance(code := coding.get("code"), str)
    )
    return Statement(tuple(text for text in texts if isinstance(text, str)), codes)


def _of_fhir(content: str | bytes | dict[str, Any], moment: datetime) -> Facts | None:
    try:
        document = content if isinstance(content, dict) else json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    facts = Facts()
    for resource in _resources(document):
        kind = _FHIR_KINDS.get(str(resource.get("resourceType")))
        if resource.get("resourceType") == "Patient":
            facts.age = age_at(resource.get("birthDate"), moment) if facts.age is None else facts.age
            facts.sex = facts.sex or _sex(resource.get("gender"))
        elif kind is not None and not _is_not_so(resource):
            member = "medicationCodeableConcept" if kind == "medication" and "medicationCodeableConcept" in resource else "code"
            facts.add(kind, _of_concept(resource.get(member)))
            components = resource.get("component")
            for component in components if isinstance(components, list) else ():
                if isinstance(component, Mapping):
                    facts.add(kind, _of_concept(component.get("code")))
    return facts


def _resources(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A resource, or every resource of a Bundle, with contained ones."""
    entries = document.get("entry") if document.get("resourceType") == "Bundle" else None
    found = [entry.get("resource") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else [document]
    for resource in found:
        if isinstance(resource, dict):
            yield resource
            contained = resource.get("contained")
            yield from (inner for inner in (contained if isinstance(contained, list) else ()) if isinstance(inner, dict))


def _is_not_so(resource: Mapping[str, Any]) -> bool:
    """True if a resource says that it is not so: refuted, entered in error, not taken."""
    verification = {code for _, code in _of_concept(resource.get("verificationStatus")).codes}
    status = resource.get("status")
    return bool(verification & _NOT_SO) or (isinstance(status, str) and status in _NOT_SO) or resource.get("doNotPerform") is True


def _of_hl7v2(data: bytes, moment: datetime) -> Facts | None:
    facts = Facts()
    document = hl7v2.read(hl7v2.decode(data).text)
    if not document.messages:
        return None
    for message in document.messages:
        for segment in message.segments:
            if segment.name == "PID":
                facts.age = age_at(segment.component(7, 1), moment) if facts.age is None else facts.age
                facts.sex = facts.sex or _sex(segment.component(8, 1))
            elif (place := _HL7V2_FIELDS.get(segment.name)) is not None:
                kind, position = place
                pairs = ((1, 2, 3), (4, 5, 6))
                texts = (segment.component(position, text) for _, text, _ in pairs)
                codes = ((segment.component(position, system) or None, segment.component(position, code)) for code, _, system in pairs)
                facts.add(kind, Statement(tuple(text for text in texts if text), tuple((system, code) for system, code in codes if code)))
    return facts


def _of_ccda(data: bytes, moment: datetime) -> Facts | None:
    try:
        from lxml import etree
    except ModuleNotFoundError:
        return None
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False))
    except (etree.XMLSyntaxError, ValueError):
        return None
    facts = Facts()
    birth, sex = root.find(f".//{_HL7V3}patient/{_HL7V3}birthTime"), root.find(f".//{_HL7V3}patient/{_HL7V3}administrativeGenderCode")
    facts.age = age_at(birth.get("value"), moment) if birth is not None else None
    facts.sex = _sex(sex.get("code")) if sex is not None else None
    for section in root.iter(f"{_HL7V3}section"):
        code = section.find(f"{_HL7V3}code")
        kind = _CCDA_SECTIONS.get(code.get("code", "")) if code is not None else None
        for entry in section.iter(f"{_HL7V3}entry") if kind is not None else ():
            for element in entry.iter(f"{_HL7V3}value", f"{_HL7V3}code", f"{_HL7V3}translation"):
                if (written := element.get("code")) and kind is not None:
                    display = element.get("displayName")
                    facts.add(kind, Statement((display,) if display else (), ((element.get("codeSystem"), written),)))
    return facts


def _sex(value: object) -> Sex | None:
    return sex_of(value.strip().casefold()) if isinstance(value, str) else None


def _number(value: object) -> float | None:
    """A number of years, also as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        years = float(value)
    except ValueError:
        return None
    return years if 0 <= years <= 150 else None
