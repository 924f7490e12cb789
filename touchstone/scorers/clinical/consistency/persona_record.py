"""Persona → record: the conditions, medications and allergies that a generated patient must have, and who it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from touchstone.scorers.clinical.consistency import person_names
from touchstone.scorers.clinical.consistency.codes import code_of, denial_of, sex_of, texts_of
from touchstone.scorers.clinical.consistency.record import Code, Group, Item, Kind, Patient, Record, Told
from touchstone.scorers.clinical.consistency.stamps import fhir_stamp
from touchstone.scorers.clinical.curated.facts import PERSONA_KEYS, persona_items

_KEYS: Final[dict[Kind, tuple[str, ...]]] = {
    "condition": PERSONA_KEYS["condition"],
    "medication": PERSONA_KEYS["medication"],
    "allergy": ("allergies", "allergyIntolerances", "allergyList"),
}
_GROUPS: Final[dict[Kind, Group]] = {"condition": "condition", "medication": "medication", "allergy": "allergy"}
_TEXT_KEYS: Final = ("name", "display", "text", "description", "label", "condition", "medication", "drug", "allergen", "substance", "title")
#: Key of a code → the system that it names, where the entry names none.
_CODE_KEYS: Final = {
    "code": "", "icd10": "ICD10CM", "icd10cm": "ICD10CM", "icd10Code": "ICD10CM", "rxnorm": "RXNORM", "rxnormCode": "RXNORM", "rxcui": "RXNORM",
    "snomed": "SCT", "snomedCode": "SCT",
}  # fmt: skip
#: What is over may be left out.
_OVER: Final = ("resolved", "inactive", "remission", "stopped", "completed", "past", "discontinued")
_SEPARATORS: Final = re.compile(r"[,;\n]| and ")
_LINE_LENGTH_MAX: Final = 10_000
#: A date of birth in the American way.
_AMERICAN: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})", re.ASCII)
#: An age in words: `51 years`, `51-year-old`, `51 y/o`, `51`.
_AGE: Final = re.compile(r"\s*(\d{1,3})(?:[ -]?(?:y|yo|years?|yrs?|y/o)\b[ -]?(?:old)?)?\s*", re.ASCII | re.IGNORECASE)
_BIRTH_KEYS: Final = ("birthDate", "dateOfBirth", "birth_date", "dob")


def read_persona(persona: Mapping[str, Any]) -> Record:
    """The record of a persona; what it has no list of, it says nothing of."""
    record = Record("persona", "persona", "persona")
    record.meet(_patient(persona))
    for kind, keys in _KEYS.items():
        for path, item in (*persona_items(persona, keys), *_listed(persona, keys)):
            codes, texts = _said(item)
            denial = denial_of(codes, texts)
            if denial is not None:
                if denial != "one":
                    record.deny(kind, path, denial)
            elif codes or texts:
                entry = Item(kind, _GROUPS[kind], path, codes, texts_of(texts), labels=tuple(text for text in texts if isinstance(text, str)))
                entry.is_claimed = not (isinstance(item, Mapping) and item.get("status") in _OVER)
                record.add(entry)
        if any(isinstance(persona.get(key), list) or _line(persona, key) for key in keys):
            record.scopes[_GROUPS[kind]] = "whole" if record.items.get(kind) else "able"
    return record


def _line(persona: Mapping[str, Any], key: str) -> str:
    """A list that is written as one line of text; empty where there is none."""
    value = persona.get(key)
    return value.strip()[:_LINE_LENGTH_MAX] if isinstance(value, str) else ""


def _listed(persona: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The entries of lists that are written as one line: `hypertension, asthma`."""
    for key in keys:
        parts = [part.strip() for part in _SEPARATORS.split(_line(persona, key))]
        yield from ((f"{key}[{number}]", part) for number, part in enumerate(parts) if part)


def _said(item: Any) -> tuple[tuple[Code, ...], list[object]]:
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
    """A date in the American way as ISO writes it, where it can be no other: its second number is above twelve, or both are equal."""
    found = _AMERICAN.fullmatch(day.strip()) if isinstance(day, str) and len(day) < 20 else None
    if found is None:
        return day
    month, middle, year = found.groups()
    return f"{year}-{month:0>2}-{middle:0>2}" if int(middle) > 12 or int(month) == int(middle) else year


def _demographics(source: Mapping[str, Any], prefix: str, patient: Patient) -> None:
    if not patient.names:
        named = source.get("name")
        family = next((source[key] for key in ("lastName", "familyName", "last_name") if isinstance(source.get(key), str)), None)
        given = next((source[key] for key in ("firstName", "givenName", "first_name") if isinstance(source.get(key), str)), None)
        if isinstance(named, Mapping):
            family, given, named = named.get("family") or named.get("last"), named.get("given") or named.get("first"), None
        found = person_names.name(family, given if isinstance(given, list) else [given], "", f"{prefix}name")
        if found is None and isinstance(named, str):
            found = person_names.name_of_text(named, f"{prefix}name")
        if found is not None:
            patient.names.append(found)
    for key in ("sex", "gender"):
        if patient.sex is None and (sex := sex_of(source.get(key))):
            patient.sex = Told(sex, f"{prefix}{key}")
    for key in _BIRTH_KEYS:
        patient.birth = patient.birth or fhir_stamp("birth", _iso(source.get(key)), f"{prefix}{key}")
    age = source.get("age")
    if isinstance(age, str) and (written := _AGE.fullmatch(age[:40])) is not None:
        age = int(written[1])
    if patient.age_years is None and isinstance(age, int | float) and not isinstance(age, bool) and 0 <= age <= 150:
        patient.age_years = float(age)
    mrn = next((source[key] for key in ("mrn", "MRN", "medicalRecordNumber") if isinstance(source.get(key), str)), None)
    if mrn is not None and (one := person_names.identifier("", "MR", mrn, f"{prefix}mrn")) is not None:
        patient.identifiers.append(one)
