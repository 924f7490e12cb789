"""A persona as a chart that a clinician reads: who the patient is, a table for each kind of entry, and a timeline.

Personas come in many shapes. What no table has a column for is kept: in the last column of its row, or below the chart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from touchstone.schemas.reading import CodeSection, Entry, MarkState, Pair, PairsSection, Row, Section, TableSection, TimelineSection
from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.curated.facts import PERSONA_KEYS
from touchstone.scorers.clinical.reading.displayed import printed, whole
from touchstone.scorers.clinical.reading.fhir_persona import PLACE
from touchstone.scorers.reporting.plain_reading import STATES

#: Rows of one table, entries of the timeline, and characters of one cell.
ROWS_MAX: Final = 500
ENTRIES_MAX: Final = 1_000
CELL_CHARS_MAX: Final = 300
_SEPARATORS: Final = re.compile(r"[,;\n]")
#: A date, or a date and time, in ISO form.
_DATE: Final = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2}(?:T\d{2}:\d{2}[\d:.]*(?:Z|[+-]\d{2}:?\d{2})?)?)?)?", re.ASCII)
_MORE: Final = "More"


@dataclass(frozen=True, slots=True)
class _Kind:
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
_KINDS: Final = (
    _Kind("conditions", "Conditions", PERSONA_KEYS["condition"], {
        "Condition": (*_NAMES, "condition", "diagnosis"), "Code": _CODES, "Status": ("status", "clinicalStatus"), "Severity": ("severity",),
        "Onset": _STARTS + _DATES, "End": _ENDS, "Notes": ("notes", "note", "comment")}),
    _Kind("medications", "Medications", PERSONA_KEYS["medication"], {
        "Medication": (*_NAMES, "medication", "drug"), "Code": _CODES, "Dose": ("dose", "dosage", "strength"), "Frequency": ("frequency", "schedule", "sig"),
        "Route": ("route",), "For": ("indication", "reason", "for", "condition"), "Status": ("status",), "Start": _STARTS + _DATES, "End": _ENDS,
        "Notes": ("notes", "note", "comment")}),
    _Kind("allergies", "Allergies", ("allergies", "allergyIntolerances", "allergyList"), {
        "Allergy": (*_NAMES, "allergen", "substance", "allergy"), "Code": _CODES, "Reaction": ("reaction", "reactions"),
        "Severity": ("severity", "criticality"),
        "Status": ("status",), "Onset": _STARTS + _DATES}),
    _Kind("labs", "Labs and vital signs", PERSONA_KEYS["lab"], {
        "Test": (*_NAMES, "test"), "Code": _CODES, "Value": ("value", "result"), "Unit": ("unit", "units"), "Status": ("status",),
        "Range": ("referenceRange", "range", "normalRange"), "Flag": ("flag", "interpretation", "abnormal"), "Date": _DATES + _STARTS}),
    _Kind("encounters", "Encounters", ("encounters", "visits", "encounterHistory", "appointments"), {
        "Encounter": ("type", "class", *_NAMES, "encounterType"), "Reason": ("reason", "chiefComplaint", "reasonForVisit", "diagnosis"),
        "Start": _DATES + _STARTS, "End": _ENDS, "Status": ("status",), "Where": ("location", "facility", "department"),
        "With": ("provider", "practitioner", "clinician"), "Notes": ("notes", "note", "summary")}),
    _Kind("procedures", "Procedures", ("procedures", "surgeries", "surgicalHistory"), {
        "Procedure": (*_NAMES, "procedure"), "Code": _CODES, "Status": ("status",), "Date": _DATES + _STARTS, "Notes": ("notes", "note")}),
    _Kind("immunizations", "Immunizations", ("immunizations", "vaccinations", "vaccines"), {
        "Immunization": (*_NAMES, "vaccine"), "Code": _CODES, "Status": ("status",), "Date": (*_DATES, "occurrenceDateTime", *_STARTS)}),
)  # fmt: skip
#: Heading → keys of the patient.
_PATIENT: Final[Mapping[str, tuple[str, ...]]] = {
    "Name": ("name", "fullName"), "First name": ("firstName", "givenName", "first_name"), "Last name": ("lastName", "familyName", "last_name"),
    "Age": ("age",), "Sex": ("sex",), "Gender": ("gender",), "Birth date": ("birthDate", "dateOfBirth", "birth_date", "dob"),
    "Record number": ("mrn", "MRN", "medicalRecordNumber"), "Race": ("race",), "Ethnicity": ("ethnicity",), "Language": ("language", "preferredLanguage"),
    "Marital status": ("maritalStatus", "marital_status"), "Occupation": ("occupation",), "Address": ("address",), "Phone": ("phone", "telephone"),
    "Email": ("email",), "Insurance": ("insurance",), "Smoking": ("smokingStatus", "smoking", "tobacco"), "Alcohol": ("alcohol", "alcoholUse"),
    "Chief complaint": ("chiefComplaint", "presentingComplaint"), "Summary": ("summary", "narrative", "background", "history"),
}  # fmt: skip


@dataclass(slots=True)
class _Chart:
    """What is drawn so far. `of_path`: path in the persona → the index of the finding about it and how it is marked."""

    of_path: Mapping[str, tuple[int, MarkState]]
    tables: list[TableSection] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    lanes: list[str] = field(default_factory=list)


def chart(
    persona: Mapping[str, Any], findings: Sequence[tuple[int, str, Finding]], note: str = "", added: Mapping[str, Any] | None = None, added_note: str = ""
) -> list[Section]:
    """The sections of a persona.

    `findings`: index in the result, path in the persona (@ and a resource, for an entry that is read from one), and the finding; of several with one path
    the first is shown. `note`: where the chart is from. `added`: another persona, for the tables that this one has nothing for; `added_note`: where it is
    from.
    """
    of_path = {path.replace("/", "."): (index, STATES[finding.severity]) for index, path, finding in reversed(findings)}
    nested_key = next((key for key in ("demographics", "patient") if isinstance(persona.get(key), Mapping)), "")
    nested: Mapping[str, Any] = persona[nested_key] if nested_key else {}
    used: set[str] = set()
    used_nested: set[str] = set()
    pairs = []
    for heading, keys in _PATIENT.items():
        for source, prefix, taken in ((persona, "", used), (nested, f"{nested_key}.", used_nested)):
            for key in keys:
                if key in source and _words(source[key]) and key not in taken:
                    taken.add(key)
                    index, state = of_path.get(f"{prefix}{key}", (None, None))
                    to = () if index is None else (f"finding-{index}",)
                    pairs.append(Pair(key=heading, value=_words(source[key]), state=state, to=to))
    drawn = _Chart(of_path)
    for kind in _KINDS:
        if not _draw(kind, persona, used, drawn) and added:
            _draw(kind, added, set(), drawn, added_note)
    rest = {key: value for key, value in persona.items() if key not in used and key != nested_key}
    if left := {key: value for key, value in nested.items() if key not in used_nested}:
        rest[nested_key] = left
    sections: list[Section] = [PairsSection(id="patient", title="Patient", note=note, pairs=tuple(pairs))] if pairs else []
    sections += drawn.tables
    if drawn.entries:
        sections.append(TimelineSection(id="timeline", title="Timeline", lanes=tuple(drawn.lanes), entries=tuple(drawn.entries[:ENTRIES_MAX])))
    if rest:
        sections.append(CodeSection(id="persona-more", title="More of the persona", format="json", text=whole(printed(rest)), folded=True))
    return sections


def _draw(kind: _Kind, persona: Mapping[str, Any], used: set[str], drawn: _Chart, note: str = "") -> bool:
    """Draw the table of one kind, and its entries that have a date. Returns False if there is nothing to draw."""
    found = [entry for key in kind.keys if key in persona for entry in _entries(key, persona[key], used)]
    if not found:
        return False
    rows = [_cells(kind, value) for _, value in found[:ROWS_MAX]]
    shown = [heading for heading in (*kind.columns, _MORE) if any(heading in cells for cells in rows)]
    made = []
    for number, ((path, value), cells) in enumerate(zip(found, rows, strict=False)):
        place = value.get(PLACE) if isinstance(value, Mapping) else None
        index, state = drawn.of_path.get(path if place is None else f"{PLACE}{place}", (None, None))
        to = () if index is None else (f"finding-{index}",)
        name = f"{kind.id}-{number}"
        made.append(Row(id=name, cells=tuple(cells.get(heading, "") for heading in shown), state=state, finding=index, to=to))
        begin, end = _dates(kind, value)
        if begin is not None:
            if kind.title not in drawn.lanes:
                drawn.lanes.append(kind.title)
            text = next((cells[heading] for heading in kind.columns if heading in cells), "")
            measured = " ".join(cells[heading] for heading in ("Value", "Unit") if heading in cells)
            text = f"{text}: {measured}" if measured else text
            drawn.entries.append(Entry(id=f"at-{name}", lane=kind.title, text=text, begin=begin, end=end, state=state, finding=index, to=(name,)))
    if len(found) > ROWS_MAX:
        note = "; ".join(part for part in (note, f"the first {ROWS_MAX} of {len(found):,}") if part)
    drawn.tables.append(TableSection(id=kind.id, title=kind.title, note=note, columns=tuple(shown), rows=tuple(made)))
    return True


def _entries(key: str, value: Any, used: set[str]) -> Iterator[tuple[str, Any]]:
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


def _cells(kind: _Kind, value: Any) -> dict[str, str]:
    """Heading → text of one entry."""
    first = next(iter(kind.columns))
    if not isinstance(value, Mapping):
        return {first: _words(value)}
    taken: set[str] = set()
    cells: dict[str, str] = {}
    for heading, keys in kind.columns.items():
        key = next((one for one in keys if one not in taken and one in value and _words(value[one])), None)
        if key is not None:
            taken.add(key)
            cells[heading] = _words(value[key])
    more = [f"{key}: {words}" for key, one in value.items() if key not in taken and key != PLACE and (words := _words(one))]
    if more:
        cells[_MORE] = "; ".join(more)[:CELL_CHARS_MAX]
    return cells


def _dates(kind: _Kind, value: Any) -> tuple[str | None, str | None]:
    """When an entry begins and ends, where it says so in ISO form."""
    if not isinstance(value, Mapping):
        return None, None
    starts = next((keys for heading, keys in kind.columns.items() if heading in ("Start", "Onset", "Date")), ())
    begin, end = (next((found for key in keys if (found := _date(value.get(key))) is not None), None) for keys in (starts, _ENDS))
    return begin, end


def _date(value: Any) -> str | None:
    return value if isinstance(value, str) and len(value) < 40 and _DATE.fullmatch(value) is not None else None


def _words(value: Any, depth: int = 0) -> str:
    """A value of a persona as one line of text."""
    if value is None or depth > 4:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        for key in ("text", "display", "name"):
            if isinstance(value.get(key), str) and len(value) <= 2:
                return _words(value[key])
        parts = [f"{key}: {words}" for key, one in list(value.items())[:40] if (words := _words(one, depth + 1))]
        return ", ".join(parts)[:CELL_CHARS_MAX]
    if isinstance(value, list):
        return ", ".join(words for one in value[:40] if (words := _words(one, depth + 1)))[:CELL_CHARS_MAX]
    text = " ".join(str(value)[: CELL_CHARS_MAX * 4].split())
    return whole(text if len(text) <= CELL_CHARS_MAX else text[: CELL_CHARS_MAX - 1] + "…")
