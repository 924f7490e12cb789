"""A persona as a chart that a clinician reads: who the patient is, a table for each kind of entry, and a timeline.

Personas come in many shapes. What no table has a column for is kept: in the last column of its row, or below the chart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from touchstone.schemas.reading import CodeSection, Entry, MarkState, Pair, PairsSection, Row, Section, TableSection, TimelineSection
from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.reading.displayed import printed, whole
from touchstone.scorers.clinical.reading.fhir_persona import PLACE
from touchstone.scorers.clinical.reading.persona_lists import KINDS, MORE, Kind, cells_of, dates_of, entries_of, words_of
from touchstone.scorers.reporting.plain_reading import STATES

#: Rows of one table, and entries of the timeline.
ROWS_MAX: Final = 500
ENTRIES_MAX: Final = 1_000


#: Heading → keys of the patient.
_PATIENT: Final[Mapping[str, tuple[str, ...]]] = {
    "Name": ("name", "fullName"), "First name": ("firstName", "givenName", "first_name"), "Last name": ("lastName", "familyName", "last_name"),
    "Age": ("age",), "Sex": ("sex",), "Gender": ("gender",), "Birth date": ("birthDate", "dateOfBirth", "birth_date", "dob"),
    "Record number": ("mrn", "MRN", "medicalRecordNumber"), "Race": ("race",), "Ethnicity": ("ethnicity",), "Language": ("language", "preferredLanguage"),
    "Marital status": ("maritalStatus", "marital_status"), "Occupation": ("occupation",), "Address": ("address",), "Phone": ("phone", "telephone"),
    "Email": ("email",), "Insurance": ("insurance",), "Smoking": ("smokingStatus", "smoking", "tobacco"), "Alcohol": ("alcohol", "alcoholUse"),
    "Deceased": ("deceased",), "Chief complaint": ("chiefComplaint", "presentingComplaint"), "Summary": ("summary", "narrative", "background", "history"),
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
                if key in source and words_of(source[key]) and key not in taken:
                    taken.add(key)
                    index, state = of_path.get(f"{prefix}{key}", (None, None))
                    to = () if index is None else (f"finding-{index}",)
                    pairs.append(Pair(key=heading, value=words_of(source[key]), state=state, to=to))
    drawn = _Chart(of_path)
    for kind in KINDS:
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


def _draw(kind: Kind, persona: Mapping[str, Any], used: set[str], drawn: _Chart, note: str = "") -> bool:
    """Draw the table of one kind, and its entries that have a date. Returns False if there is nothing to draw."""
    found = [entry for key in kind.keys if key in persona for entry in entries_of(key, persona[key], used)]
    if not found:
        return False
    rows = [cells_of(kind, value) for _, value in found[:ROWS_MAX]]
    shown = [heading for heading in (*kind.columns, MORE) if any(heading in cells for cells in rows)]
    made = []
    for number, ((path, value), cells) in enumerate(zip(found, rows, strict=False)):
        place = value.get(PLACE) if isinstance(value, Mapping) else None
        index, state = drawn.of_path.get(path if place is None else f"{PLACE}{place}".replace("/", "."), (None, None))
        to = () if index is None else (f"finding-{index}",)
        name = f"{kind.id}-{number}"
        made.append(Row(id=name, cells=tuple(cells.get(heading, "") for heading in shown), state=state, finding=index, to=to))
        begin, end = dates_of(kind, value)
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
