"""Persona → record: the demographics, conditions, medications and allergies that a generated patient must have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from touchstone.scorers.clinical.consistency import identifiers, person_names
from touchstone.scorers.clinical.consistency.code_maps import sex_of
from touchstone.scorers.clinical.consistency.code_systems import code_of
from touchstone.scorers.clinical.consistency.record import Code, Group, Item, Kind, Name, Patient, PlacedValue, Record
from touchstone.scorers.clinical.consistency.stamps import fhir_stamp
from touchstone.scorers.clinical.consistency.wording import denial_of, texts_of
from touchstone.scorers.clinical.curated.facts import PERSONA_KEYS, persona_items

_KEYS: Final[dict[Kind, tuple[str, ...]]] = {
    "condition": PERSONA_KEYS["condition"],
    "medication": PERSONA_KEYS["medication"],
    "allergy": ("allergies", "allergyIntolerances", "allergyList"),
}
_GROUPS: Final[dict[Kind, Group]] = {"condition": "condition", "medication": "medication", "allergy": "allergy"}
_TEXT_KEYS: Final = ("name", "display", "text", "description", "label", "condition", "medication", "drug", "allergen", "substance", "title")
#: Key of a code → its system, if the entry names none.
_CODE_KEYS: Final = {
    "code": "", "icd10": "ICD10CM", "icd10cm": "ICD10CM", "icd10Code": "ICD10CM", "rxnorm": "RXNORM", "rxnormCode": "RXNORM", "rxcui": "RXNORM",
    "snomed": "SCT", "snomedCode": "SCT",
}  # fmt: skip
#: Statuses of entries that documents may leave out.
_RESOLVED: Final = ("resolved", "inactive", "remission", "stopped", "completed", "past", "discontinued")
_SEPARATORS: Final = re.compile(r"[,;\n]| and ")
_LINE_LENGTH_MAX: Final = 10_000
#: An American date of birth.
_AMERICAN: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})", re.ASCII)
#: An age in words: `51 years`, `51-year-old`, `51 y/o`, `51`.
_AGE: Final = re.compile(r"\s*(\d{1,3})(?:[ -]?(?:y|yo|years?|yrs?|y/o)\b[ -]?(?:old)?)?\s*", re.ASCII | re.IGNORECASE)
_BIRTH_KEYS: Final = ("birthDate", "dateOfBirth", "birth_date", "dob")


def read_persona(persona: Mapping[str, Any]) -> Record:
    """The record of a persona. A group without a list has no scope: the persona says nothing about it."""
    record = Record("persona", "persona", "persona")
    record.add_patient(_patient(persona))
    for kind, keys in _KEYS.items():
        for path, item in (*persona_items(persona, keys), *_listed(persona, keys)):
            codes, texts = _codes_and_texts(item)
            denial = denial_of(codes, texts)
            if denial is not None:
                if denial != "one":
                    record.deny(kind, path, denial)
            elif codes or texts:
                entry = Item(kind, _GROUPS[kind], path, codes, texts_of(texts), labels=tuple(text for text in texts if isinstance(text, str)))
                entry.is_claimed = not (isinstance(item, Mapping) and item.get("status") in _RESOLVED)
                record.add(entry)
        if any(isinstance(persona.get(key), list) or _line(persona, key) for key in keys):
            record.scopes[_GROUPS[kind]] = "whole" if record.items.get(kind) else "able"
    return record


def _line(persona: Mapping[str, Any], key: str) -> str:
    """A list that is written as one line of text; empty if there is none."""
    value = persona.get(key)
    return value.strip()[:_LINE_LENGTH_MAX] if isinstance(value, str) else ""


def _listed(persona: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The entries of lists that are written as one line: `hypertension, asthma`."""
    for key in keys:
        parts = [part.strip() for part in _SEPARATORS.split(_line(persona, key))]
        yield from ((f"{key}[{number}]", part) for number, part in enumerate(parts) if part)


def _codes_and_texts(item: Any) -> tuple[tuple[Code, ...], list[object]]:
    if isinstance(item, str):
        return (), [item]
    if not isinstance(item, Mapping):
        return (), []
    system = next((value for key in ("system", "codeSystem", "code_system") if isinstance(value := item.get(key), str)), None)
    codes = [found for key, default in _CODE_KEYS.items() if (found := code_of(system or default, item.get(key))) is not None]
    texts: list[object] = [text for key in _TEXT_KEYS if isinstance(text := item.get(key), str)]
    for coding in _codings(item.get("code")):
        if (found := code_of(coding.get("system"), coding.get("code"))) is not None:
            codes.append(found)
        texts.append(coding.get("display"))
    return tuple(codes), texts


def _codings(value: Any) -> Iterator[Mapping[str, Any]]:
    listed = value.get("coding") if isinstance(value, Mapping) else None
    yield from (coding for coding in (listed if isinstance(listed, list) else ()) if isinstance(coding, Mapping))


def _patient(persona: Mapping[str, Any]) -> Patient:
    patient = Patient("persona")
    nested = next((inside for key in ("demographics", "patient") if isinstance(inside := persona.get(key), Mapping)), {})
    for source, prefix in ((persona, ""), (nested, "demographics." if "demographics" in persona else "patient.")):
        _demographics(source, prefix, patient)
    return patient


def _iso(day: object) -> object:
    """An American date in ISO form; only its year if day and month could be exchanged."""
    found = _AMERICAN.fullmatch(day.strip()) if isinstance(day, str) and len(day) < 20 else None
    if found is None:
        return day
    month, middle, year = found.groups()
    return f"{year}-{month:0>2}-{middle:0>2}" if int(middle) > 12 or int(month) == int(middle) else year


def _demographics(source: Mapping[str, Any], prefix: str, patient: Patient) -> None:
    if not patient.names and (name := _name(source, f"{prefix}name")) is not None:
        patient.names.append(name)
    for key in ("sex", "gender"):
        if patient.sex is None and (sex := sex_of(source.get(key))):
            patient.sex = PlacedValue(sex, f"{prefix}{key}")
    for key in _BIRTH_KEYS:
        patient.birth = patient.birth or fhir_stamp("birth", _iso(source.get(key)), f"{prefix}{key}")
    age = source.get("age")
    if isinstance(age, str) and (written := _AGE.fullmatch(age[:40])) is not None:
        age = int(written[1])
    if patient.age_years is None and isinstance(age, int | float) and not isinstance(age, bool) and 0 <= age <= 150:
        patient.age_years = float(age)
    number = _first_text(source, "mrn", "MRN", "medicalRecordNumber")
    if (identifier := identifiers.identifier("", "MR", number, f"{prefix}mrn")) is not None:
        patient.identifiers.append(identifier)


def _name(source: Mapping[str, Any], path: str) -> Name | None:
    """The name in a persona: in parts, as an object, or as one text."""
    name = source.get("name")
    family: Any = _first_text(source, "lastName", "familyName", "last_name")
    given: Any = _first_text(source, "firstName", "givenName", "first_name")
    if isinstance(name, Mapping):
        family, given = name.get("family") or name.get("last"), name.get("given") or name.get("first")
    found = person_names.name(family, given if isinstance(given, list) else [given], "", path)
    return person_names.name_of_text(name, path) if found is None and isinstance(name, str) else found


def _first_text(source: Mapping[str, Any], *keys: str) -> str | None:
    return next((value for key in keys if isinstance(value := source.get(key), str)), None)
