"""A persona as the failure modes read it: who the patient is, and what each list holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from touchstone.scorers.clinical.consistency.persona_record import read_persona
from touchstone.scorers.clinical.curated.cases import Term, folded_text
from touchstone.scorers.clinical.failure_modes.relatives import is_of_relatives, without_relatives
from touchstone.scorers.clinical.reading.fhir_persona import PLACE
from touchstone.scorers.clinical.reading.persona_lists import KINDS, cells_of, dates_of, entries_of

List = Literal["conditions", "medications", "labs", "encounters"]
#: Entries of one list, and characters of all its text, that are read.
ENTRIES_MAX: Final = 2_000
TEXT_CHARS_MAX: Final = 200_000
_KINDS: Final = {kind.id: kind for kind in KINDS}
_LISTS: Final[tuple[List, ...]] = ("conditions", "medications", "labs", "encounters")
_LISTED: Final = frozenset(key for name in _LISTS for key in _KINDS[name].keys)
#: An ICD-10-CM or LOINC code, alone or in a text.
_CODE: Final = re.compile(r"\b([A-TV-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?|\d{3,5}-\d)\b")
#: Words of a condition that the patient has no more, or had only once.
_PAST: Final = re.compile(
    r"\b(history of|hx of|h/o|previous|previously|prior|past|former|status[- ]post|s/p|resolved|in remission|suspected|possible|rule out|r/o|"
    r"risk of|at risk|not|no|denies|without|remote)\b"
)
_OVER: Final = ("resolved", "inactive", "remission", "stopped", "completed", "past", "discontinued", "refuted", "entered-in-error", "cancelled", "ended")
_TRANS: Final = re.compile(r"\b(trans(gender|sexual)?|non-?binary|intersex|gender (identity|dysphoria|affirming)|assigned (fe)?male at birth|amab|afab)\b")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `text`: its name, folded; `words`: all of it, folded; `begin`, `end`: ISO dates as written."""

    path: str
    text: str
    words: str
    codes: tuple[str, ...]
    cells: Mapping[str, str]
    begin: str | None = None
    end: str | None = None

    @property
    def is_over(self) -> bool:
        """True if its status or its name says that it is not so any more, or never was."""
        status = self.cells.get("Status", "").casefold()
        return any(word in status for word in _OVER) or _PAST.search(self.text) is not None

    def names(self, term: Term) -> bool:
        """True if it is this term: by a code, or by its name."""
        return any(term.has_code(code) for code in self.codes) or term.in_text(self.text)

    def has_drug(self, names: tuple[str, ...]) -> bool:
        """True if its name has one of these ingredients or brands as a whole word."""
        return any(re.search(rf"(?<![a-z]){re.escape(name)}(?![a-z])", self.text) is not None for name in names)


@dataclass(frozen=True, slots=True)
class Persona:
    """`lists`: None for a list that the persona does not have. `mentions`: every other text of the persona and the prompt, folded.
    Neither `prompt` nor `mentions` has what is said of relatives.

    `sex`: None if it is not given, or if sex and body may differ and the persona says so.
    """

    age: float | None
    sex: str | None
    lists: Mapping[List, tuple[Entry, ...] | None]
    prompt: str
    mentions: str


def is_of_fhir(path: str) -> bool:
    """True if a path is of a resource, and not of the persona."""
    return path.startswith(PLACE)


def persona_entries(persona: Mapping[str, Any], prompt: str, year: float | None = None, described: Mapping[str, Any] | None = None) -> Persona:
    """Read a persona. `year`: of the trace, to which an age is counted if only a date of birth is given. `described`: the persona that the FHIR document
    describes; it gives the lists that the other does not have, and the patient where there is no persona at all.
    """
    described = described or {}
    about = persona or described
    patient = read_persona({key: value for key, value in about.items() if key not in _LISTED}).patients[0]
    age = patient.age_years
    if age is None and patient.birth is not None and year is not None:
        age = max(0.0, year - patient.birth.moment.year)
    lists: dict[List, tuple[Entry, ...] | None] = {name: own if (own := _list(name, persona)) is not None else _list(name, described) for name in _LISTS}
    mentions = folded_text(" ".join(_texts({key: value for key, value in about.items() if key not in _KINDS["medications"].keys}))[:TEXT_CHARS_MAX])
    folded = folded_text(without_relatives(prompt[:TEXT_CHARS_MAX]))
    mentions = f"{mentions} {folded}"
    sex = patient.sex.value if patient.sex is not None else None
    return Persona(age, None if _TRANS.search(mentions) else sex, lists, folded, mentions)


def _list(name: List, persona: Mapping[str, Any]) -> tuple[Entry, ...] | None:
    kind = _KINDS[name]
    keys = [key for key in kind.keys if key in persona]
    if not keys:
        return None
    found: list[Entry] = []
    for key in keys:
        for path, value in entries_of(key, persona[key], set()):
            if len(found) >= ENTRIES_MAX:
                break
            cells = cells_of(kind, value)
            begin, end = dates_of(kind, value)
            title = next((cells[heading] for heading in kind.columns if heading in cells), "")
            words = " ".join(cells.values())
            place = value.get(PLACE) if isinstance(value, Mapping) else None
            codes = tuple(match[1] for match in _CODE.finditer(f"{cells.get('Code', '')} {title}"))
            found.append(Entry(path if place is None else f"{PLACE}{place}", folded_text(title), folded_text(words), codes, cells, begin, end))
    return tuple(found)


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield without_relatives(value[:TEXT_CHARS_MAX])
    elif depth < 6 and isinstance(value, Mapping):
        for key, one in value.items():
            if not is_of_relatives(key):
                yield from _texts(one, depth + 1)
    elif depth < 6 and isinstance(value, list):
        for one in value[:ENTRIES_MAX]:
            yield from _texts(one, depth + 1)
