"""Record → persona: what the comparison of formats reads of a document, with the words that the document itself uses, for a chart of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from touchstone.scorers.clinical.consistency.record import Item, Kind, Patient, Record
from touchstone.scorers.clinical.reading.fhir_persona import PLACE

#: Kind of an entry → key of its list in a persona.
LISTS: Final[Mapping[Kind, str]] = {
    "condition": "conditions",
    "medication": "medications",
    "allergy": "allergies",
    "observation": "labs",
    "encounter": "encounters",
    "procedure": "procedures",
    "immunization": "immunizations",
}
#: Role of a time → key of an entry.
_TIMES: Final = {
    "onset": "onset", "start": "start", "end": "end", "effective": "date", "recorded": "recordedDate", "authored": "authoredOn", "dispensed": "date"
}  # fmt: skip
#: An hour without minutes is no time of ISO 8601's usual form, and a timeline takes the day.
_DAY_CHARS: Final = 10
_TO_THE_HOUR_CHARS: Final = 13

Entry = dict[str, Any]


class Read(NamedTuple):
    """What was read of a document: the persona that it describes, empty if it describes none, and the patients whom it names."""

    persona: dict[str, Any]
    patients: Sequence[Patient] = ()


NOTHING: Final = Read({})


def persona(record: Record, words: Callable[[Item], Entry], patient: Entry) -> Read:
    """The persona that a document describes, each entry with its place.

    `words`: what the document says of an entry as it is written: `name`, `code`, `value` and so on. `patient`: the same of the patient.
    """
    found: dict[str, Any] = {key: value for key, value in (_patient(record.patients[0]) | patient).items() if value} if record.patients else {}
    for kind, key in LISTS.items():
        for item in record.items.get(kind, ()):
            entry = _times(item) | {name: value for name, value in words(item).items() if value not in (None, "")}
            into = entry.pop("list", key)
            entry["name"] = entry.get("name") or entry.get("code") or ("visit" if kind == "encounter" else "")
            if entry["name"]:
                found.setdefault(into, []).append({**entry, PLACE: f"{item.place}/{item.path}"})
        for denial in record.denied.get(kind, ()):
            found.setdefault(key, []).append({"name": "none, the document says", PLACE: denial.place})
    return Read(found, record.patients)


def _patient(patient: Patient) -> Entry:
    """What the comparison reads of a patient."""
    return {
        "gender": patient.sex.value if patient.sex else "",
        "birthDate": patient.birth.text if patient.birth else "",
        "phone": patient.phones[0].value if patient.phones else "",
        "deceased": "yes" if patient.dead and patient.dead.value == "dead" else "",
    }


def _times(item: Item) -> Entry:
    """The times of an entry by their roles; the first of each."""
    found: Entry = {}
    for stamp in item.times:
        if (key := _TIMES.get(stamp.role)) is not None:
            text = stamp.text
            found.setdefault(key, text[:_DAY_CHARS] if len(text) == _TO_THE_HOUR_CHARS else text)
    return found
