"""The patient whom the documents of a trace describe: from FHIR, else from C-CDA, else from HL7 v2, with the findings about each entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from touchstone.schemas.result import Finding
from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.clinical.consistency.compare_patients import is_one_person
from touchstone.scorers.clinical.consistency.record import Patient
from touchstone.scorers.clinical.reading.ccda_persona import persona_of_ccda
from touchstone.scorers.clinical.reading.fhir_persona import PLACE, persona_of
from touchstone.scorers.clinical.reading.hl7v2_persona import persona_of_hl7v2
from touchstone.scorers.clinical.reading.record_persona import NOTHING, Read
from touchstone.scorers.reporting.findings import SEVERITIES
from touchstone.scorers.reporting.words import counted

Content = str | bytes | dict[str, Any]
#: Documents that are read for a chart; a trace may have a message for each result.
DOCUMENTS_MAX: Final = 20
#: Entries of one kind, of all documents.
ENTRIES_MAX: Final = 5_000
_PLACES_MAX: Final = 3
#: What stands between the steps of a path: of elements, fields, and members.
_STEPS: Final = re.compile(r"[/.-]")
#: A path inside an entry of a C-CDA section.
_ENTRY: Final = re.compile(r"(.*/section(?:\[\d+\])?/entry(?:\[\d+\])?)(?:/|$)")


class Described(NamedTuple):
    """A persona that documents describe; empty if they describe none. `at`: these documents, `findings`: about its entries, as `chart` takes them."""

    persona: dict[str, Any]
    at: str
    findings: list[tuple[int, str, Finding]]


def described(documents: Sequence[tuple[str, ClinicalFormat, Content]], findings: Sequence[Finding]) -> Described:
    """The persona of the first format that describes a patient. Messages of HL7 v2 are read together: one may have the visit and another its results."""
    for place, form, content in documents:
        if form == "fhir" and (persona := persona_of(content)):
            return Described(persona, place, _of_resources(findings, place))
    for form, read in (("ccda", persona_of_ccda), ("hl7v2", persona_of_hl7v2)):
        found = _together([(place, content) for place, of, content in documents if of == form], read)
        if found.persona:
            return found._replace(findings=_of_entries(found.persona, findings))
    return Described({}, "", [])


def under(findings: Sequence[Finding], place: str) -> list[tuple[int, Finding, str]]:
    """The findings below a place: index, finding, and path inside of it."""
    found = []
    for index, finding in enumerate(findings):
        if finding.path == place:
            found.append((index, finding, ""))
        elif finding.path.startswith(place) and finding.path[len(place)] in "/.":
            found.append((index, finding, finding.path[len(place) + 1 :]))
    return found


def _together(documents: Sequence[tuple[str, Content]], read: Callable[[str | bytes, str], Read]) -> Described:
    """One persona of the documents of one format that are about one patient: who that is from the first of them, the entries of all."""
    persona: dict[str, Any] = {}
    patient: Patient | None = None
    places = []
    others = 0
    for place, content in documents[:DOCUMENTS_MAX]:
        found = NOTHING if isinstance(content, dict) else read(content, place)
        if not found.persona:
            continue
        # Entries of two patients in one chart would be worse than none.
        first = patient or next(iter(found.patients), None)
        if first is not None and not all(is_one_person(first, one) for one in found.patients):
            others += 1
            continue
        patient = first
        places.append(place)
        for key, value in found.persona.items():
            if isinstance(value, list):
                persona[key] = [*persona.get(key, ()), *value][:ENTRIES_MAX]
            else:
                persona.setdefault(key, value)
    at = ", ".join(places[:_PLACES_MAX]) + (f" and {len(places) - _PLACES_MAX} more" if len(places) > _PLACES_MAX else "")
    left = f"; {counted(others, 'document')} about other patients, or several, left out" if others else ""
    return Described(persona, at + left, [])


def _of_resources(findings: Sequence[Finding], place: str) -> list[tuple[int, str, Finding]]:
    """The findings about resources of a FHIR document, the gravest first."""
    return _gravest_first([(index, PLACE + inner.partition(".")[0], finding) for index, finding, inner in under(findings, place) if inner])


def _of_entries(persona: Mapping[str, Any], findings: Sequence[Finding]) -> list[tuple[int, str, Finding]]:
    """The findings about entries that have a place of their own: those at it or inside it, and those about the C-CDA entry that holds nothing else."""
    places = {entry[PLACE] for value in persona.values() if isinstance(value, list) for entry in value}
    holding: dict[str, set[str]] = {}
    for place in places:
        if (held := _ENTRY.match(place)) is not None:
            holding.setdefault(held[1], set()).add(place)
    alone = {entry: next(iter(held)) for entry, held in holding.items() if len(held) == 1}
    found = []
    for index, finding in enumerate(findings):
        ends = [len(finding.path), *(step.start() for step in reversed(list(_STEPS.finditer(finding.path))))]
        place = next((finding.path[:end] for end in ends if finding.path[:end] in places), None)
        if place is None and (held := _ENTRY.match(finding.path)) is not None:
            place = alone.get(held[1])
        if place is not None:
            found.append((index, PLACE + place, finding))
    return _gravest_first(found)


def _gravest_first(found: list[tuple[int, str, Finding]]) -> list[tuple[int, str, Finding]]:
    return sorted(found, key=lambda one: SEVERITIES.index(one[2].severity))
