"""The lists of a persona: their names in the shapes that personas come in, and their entries as text under common headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from touchstone.scorers.clinical.curated.facts import PERSONA_KEYS
from touchstone.scorers.clinical.reading.displayed import whole
from touchstone.scorers.clinical.reading.fhir_persona import PLACE

#: Characters of one cell.
CELL_CHARS_MAX: Final = 300
_SEPARATORS: Final = re.compile(r"[,;\n]")
#: A date, or a date and time, in ISO form.
_DATE: Final = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2}(?:T\d{2}:\d{2}[\d:.]*(?:Z|[+-]\d{2}:?\d{2})?)?)?)?", re.ASCII)
#: Heading of what no other heading has.
MORE: Final = "More"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of entries. `keys`: of its lists in a persona; `columns`: heading → keys of an entry, the first of which is its name."""

    id: str
    title: str
    keys: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]


_NAMES: Final = ("name", "display", "text", "description", "label", "title")
_CODES: Final = ("code", "icd10", "icd10cm", "icd10Code", "snomed", "snomedCode", "rxnorm", "rxnormCode", "rxcui", "loinc", "loincCode", "cvx", "cpt")
_DATES: Final = (
    "date",
    "effectiveDate",
    "effectiveDateTime",
    "collectedAt",
    "collectionDate",
    "resultDate",
    "performedDate",
    "recordedDate",
    "time",
    "timestamp",
)
_STARTS: Final = (
    "startDate",
    "start",
    "started",
    "authoredOn",
    "prescribedDate",
    "onsetDate",
    "onset",
    "onsetDateTime",
    "diagnosedDate",
    "diagnosisDate",
    "since",
)
_ENDS: Final = ("endDate", "end", "stopDate", "stopped", "abatement", "abatementDate", "resolvedDate", "dischargeDate")
KINDS: Final = (
    Kind("conditions", "Conditions", PERSONA_KEYS["condition"], {
        "Condition": (*_NAMES, "condition", "diagnosis"), "Code": _CODES, "Status": ("status", "clinicalStatus"), "Severity": ("severity",),
        "Onset": _STARTS + _DATES, "End": _ENDS, "Notes": ("notes", "note", "comment")}),
    Kind("medications", "Medications", PERSONA_KEYS["medication"], {
        "Medication": (*_NAMES, "medication", "drug"), "Code": _CODES, "Dose": ("dose", "dosage", "strength"), "Frequency": ("frequency", "schedule", "sig"),
        "Route": ("route",), "For": ("indication", "reason", "for", "condition"), "Status": ("status",), "Start": _STARTS + _DATES, "End": _ENDS,
        "Notes": ("notes", "note", "comment")}),
    Kind("allergies", "Allergies", ("allergies", "allergyIntolerances", "allergyList"), {
        "Allergy": (*_NAMES, "allergen", "substance", "allergy"), "Code": _CODES, "Reaction": ("reaction", "reactions"),
        "Severity": ("severity", "criticality"),
        "Status": ("status",), "Onset": _STARTS + _DATES}),
    Kind("labs", "Labs and vital signs", PERSONA_KEYS["lab"], {
        "Test": (*_NAMES, "test"), "Code": _CODES, "Value": ("value", "result"), "Unit": ("unit", "units"), "Status": ("status",),
        "Range": ("referenceRange", "range", "normalRange"), "Flag": ("flag", "interpretation", "abnormal"), "Date": _DATES + _STARTS}),
    Kind("encounters", "Encounters", ("encounters", "visits", "encounterHistory", "appointments"), {
        "Encounter": ("type", "class", *_NAMES, "encounterType"), "Reason": ("reason", "chiefComplaint", "reasonForVisit", "diagnosis"),
        "Start": _DATES + _STARTS, "End": _ENDS, "Status": ("status",), "Where": ("location", "facility", "department"),
        "With": ("provider", "practitioner", "clinician"), "Notes": ("notes", "note", "summary")}),
    Kind("procedures", "Procedures", ("procedures", "surgeries", "surgicalHistory"), {
        "Procedure": (*_NAMES, "procedure"), "Code": _CODES, "Status": ("status",), "Date": _DATES + _STARTS, "Notes": ("notes", "note")}),
    Kind("immunizations", "Immunizations", ("immunizations", "vaccinations", "vaccines"), {
        "Immunization": (*_NAMES, "vaccine"), "Code": _CODES, "Status": ("status",), "Date": (*_DATES, "occurrenceDateTime", *_STARTS)}),
)  # fmt: skip


def entries_of(key: str, value: Any, used: set[str]) -> Iterator[tuple[str, Any]]:
    """The entries under one key, each with its path: of a list, of a line of text, or of an object that names them."""
    if isinstance(value, list):
        used.add(key)
        yield from ((f"{key}[{number}]", one) for number, one in enumerate(value) if one not in (None, "", {}, []))
    elif isinstance(value, str):
        used.add(key)
        parts = [part.strip() for part in _SEPARATORS.split(value)]
        yield from ((f"{key}[{number}]", part) for number, part in enumerate(parts) if part)
    elif isinstance(value, Mapping):
        used.add(key)
        yield from ((f"{key}.{name}", one if isinstance(one, Mapping) and "name" in one else _named(name, one)) for name, one in value.items())


def _named(name: str, value: Any) -> dict[str, Any]:
    """An entry that is named by its key, as in `{"heartRate": 72}`."""
    return {"name": name, **value} if isinstance(value, Mapping) else {"name": name, "value": value}


def cells_of(kind: Kind, value: Any) -> dict[str, str]:
    """Heading → text of one entry."""
    first = next(iter(kind.columns))
    if not isinstance(value, Mapping):
        return {first: words_of(value)}
    taken: set[str] = set()
    cells: dict[str, str] = {}
    for heading, keys in kind.columns.items():
        key = next((one for one in keys if one not in taken and one in value and words_of(value[one])), None)
        if key is not None:
            taken.add(key)
            cells[heading] = words_of(value[key])
    more = [f"{key}: {words}" for key, one in value.items() if key not in taken and key != PLACE and (words := words_of(one))]
    if more:
        cells[MORE] = "; ".join(more)[:CELL_CHARS_MAX]
    return cells


def dates_of(kind: Kind, value: Any) -> tuple[str | None, str | None]:
    """When an entry begins and ends, where it says so in ISO form."""
    if not isinstance(value, Mapping):
        return None, None
    starts = next((keys for heading, keys in kind.columns.items() if heading in ("Start", "Onset", "Date")), ())
    begin, end = (next((found for key in keys if (found := _date(value.get(key))) is not None), None) for keys in (starts, _ENDS))
    return begin, end


def _date(value: Any) -> str | None:
    return value if isinstance(value, str) and len(value) < 40 and _DATE.fullmatch(value) is not None else None


def words_of(value: Any, depth: int = 0) -> str:
    """A value of a persona as one line of text."""
    if value is None or depth > 4:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        for key in ("text", "display", "name"):
            if isinstance(value.get(key), str) and len(value) <= 2:
                return words_of(value[key])
        parts = [f"{key}: {words}" for key, one in list(value.items())[:40] if (words := words_of(one, depth + 1))]
        return ", ".join(parts)[:CELL_CHARS_MAX]
    if isinstance(value, list):
        return ", ".join(words for one in value[:40] if (words := words_of(one, depth + 1)))[:CELL_CHARS_MAX]
    text = " ".join(str(value)[: CELL_CHARS_MAX * 4].split())
    return whole(text if len(text) <= CELL_CHARS_MAX else text[: CELL_CHARS_MAX - 1] + "…")
