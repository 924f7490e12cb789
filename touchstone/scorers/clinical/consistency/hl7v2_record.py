"""HL7 v2 → record: the fields for which the v2-to-FHIR maps have a counterpart in FHIR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from touchstone.scorers.clinical.consistency.code_maps import class_of, severities_of, verdict_of
from touchstone.scorers.clinical.consistency.frequencies import of_code
from touchstone.scorers.clinical.consistency.hl7v2_fields import (
    amounts_of,
    coded_of,
    component_of,
    first_of,
    identifier_of,
    pair_of,
    patient_of,
    repetitions,
    stamps_of,
    unit_of,
    value_of,
)
from touchstone.scorers.clinical.consistency.observation_groups import group_of, loinc_of
from touchstone.scorers.clinical.consistency.record import TITLE_LENGTH_MAX, Amount, Code, Frequency, Group, Item, PlacedValue, Record, Scope
from touchstone.scorers.clinical.consistency.wording import denial_of, texts_of
from touchstone.scorers.clinical.formats import hl7v2
from touchstone.scorers.clinical.formats.hl7v2.lexer import Message, Segment, part
from touchstone.scorers.clinical.formats.hl7v2.tables import load, nearest, structures_of_events

#: Greatest depth of groups in a message structure.
_DEPTH_MAX: Final = 8
#: OBX-11: wrong, deleted, cancelled, not asked, no result.
_NO_RESULT: Final = frozenset({"W", "D", "X", "N", "O"})
_NUMERIC: Final = frozenset({"NM", "SN", "ST"})
_CODED: Final = frozenset({"CE", "CWE", "CNE", "CF", "IS", "ID"})
#: ORC-1 of an order that was revoked: cancelled, discontinued, held, refused.
_NO_ORDERS: Final = frozenset({"CA", "CR", "OC", "DC", "DR", "OD", "HD", "OH", "UA"})
#: Table 0127 → category of an allergy.
_CATEGORIES: Final = {"DA": "medication", "FA": "food", "EA": "environment", "AA": "environment", "PA": "environment", "LA": "environment"}
#: Group → its segments, and how completely a message with one of them lists the group.
_HELD_BY: Final[dict[Group, tuple[frozenset[str], Scope]]] = {
    "condition": (frozenset({"DG1", "PRB", "PDA"}), "part"),
    "allergy": (frozenset({"AL1", "IAM"}), "whole"),
    "medication": (frozenset({"RXO", "RXE", "RXD", "RXG"}), "part"),
    "immunization": (frozenset({"RXA"}), "part"),
    "procedure": (frozenset({"PR1"}), "part"),
    "lab": (frozenset({"OBX"}), "part"),
    "vital": (frozenset({"OBX"}), "part"),
}
#: Medication segments → code, amount, its unit.
_MEDICATIONS: Final[dict[str, tuple[int, int, int]]] = {"RXO": (1, 2, 4), "RXE": (2, 3, 5), "RXD": (2, 4, 5), "RXG": (4, 5, 7)}
#: Messages that describe a patient's state: an admission or update without allergies says that there are none.
_STATE_EVENTS: Final = ("ADT", "REF", "BAR")
#: Message → the group that it is sent for.
_PURPOSES: Final[tuple[tuple[str, Group], ...]] = (("ORU", "lab"), ("VXU", "immunization"))


def read_hl7v2(data: bytes, place: str) -> Record | None:
    """The record of all messages of a document; None if it holds none."""
    messages = hl7v2.read(hl7v2.decode(data).text).messages
    if not messages:
        return None
    record = Record("hl7v2", place, "HL7 v2")
    structures = []
    scopes: dict[Group, Scope] = {}
    for message in messages:
        prefix = f"message[{message.number}]/" if len(messages) > 1 else ""
        _read(message, prefix, record)
        name, segments = _structure(message)
        structures.append(name)
        of_state = name.startswith(_STATE_EVENTS)
        for group, (held_by, scope) in _HELD_BY.items():
            # A message without procedures says nothing about them.
            if group == "procedure" and not message.named("PR1"):
                continue
            if segments & held_by and (of_state or group not in {"condition", "allergy"} or any(one.name in held_by for one in message.segments)):
                scopes[group] = scope
    present = {item.group for item in record.every()}
    # Orders and results hold only what was ordered or observed: an entry of another group is not missing from them.
    able = {"condition", "allergy"} | {group for structure in structures for event, group in _PURPOSES if structure.startswith(event)}
    record.set_scopes({group: scope if group in present else "able" for group, scope in scopes.items() if group in present or group in able})
    record.title = f"HL7 v2 {', '.join(dict.fromkeys(structures))}"[:TITLE_LENGTH_MAX]
    return record


def _structure(message: Message) -> tuple[str, frozenset[str]]:
    """The message's structure if HL7 defines it, and the segments that it may hold or does hold."""
    header = message.segments[0]
    kind, event, named = (header.component(9, number) for number in (1, 2, 3))
    version = nearest(header.component(12, 1))
    known = load(version).messages
    found = next((one for one in (named, *structures_of_events().get(f"{kind}_{event}", ()), f"{kind}_{event}") if one in known), None)
    held = frozenset(segment.name for segment in message.segments)
    if found is None:
        return "message", held
    return found, held | _segments_of(version, found)


@lru_cache(maxsize=256)
def _segments_of(version: str, structure: str) -> frozenset[str]:
    """The segments that a structure may hold, in any of its groups."""
    tables = load(version)
    found: set[str] = set()
    inside = [(tables.messages[structure], 0)]
    while inside:
        (_, members), depth = inside.pop()
        for name, _, _, is_group in members:
            if not is_group:
                found.add(name)
            elif depth < _DEPTH_MAX and name in tables.groups:
                inside.append((tables.groups[name], depth + 1))
    return frozenset(found)


@dataclass(slots=True)
class _Surroundings:
    """The segments before a segment that belong to it. `common`: ORC; `order`: OBR; `timing`: TQ1; `is_of_vaccine`: it follows an RXA."""

    prefix: str
    in_results: bool
    visit_days: frozenset[str]
    common: Segment | None = None
    order: Segment | None = None
    timing: Segment | None = None
    is_of_vaccine: bool = False

    def note(self, segment: Segment) -> None:
        """Take note of a segment that later ones belong to."""
        if segment.name == "ORC":
            self.common, self.order, self.timing, self.is_of_vaccine = segment, None, None, False
        elif segment.name == "OBR":
            self.order, self.is_of_vaccine = segment, False
        elif segment.name == "TQ1":
            self.timing = segment
        elif segment.name == "RXA":
            self.is_of_vaccine = True


def _read(message: Message, prefix: str, record: Record) -> None:
    in_results = _structure(message)[0].startswith(("ORU", "OUL", "OML", "ORL"))
    around = _Surroundings(prefix, in_results, _days_of_visit(message))
    for segment in message.segments:
        around.note(segment)
        read = _READERS.get(segment.name)
        if read is not None:
            read(segment, prefix + segment.path, record, around)


def _patient(segment: Segment, path: str, record: Record, _: _Surroundings) -> None:
    record.add_patient(patient_of(segment, path))


def _days_of_visit(message: Message) -> frozenset[str]:
    """The days on which the visit began, and on which the message was made."""
    places = (("PV1", 44), ("EVN", 2), ("MSH", 7))
    return frozenset(day for name, position in places for segment in message.named(name) if len(day := first_of(segment, position)[:8]) == 8)


def _condition(segment: Segment, path: str, record: Record, around: _Surroundings) -> None:
    codes, texts = coded_of(segment.field(3).split("~", 1)[0])
    if segment.name == "DG1":
        if first_of(segment, 21) == "D":
            return
        texts.append(first_of(segment, 4))
        # v2-to-FHIR maps DG1-5 to the onset. On the day of the visit it is the time of the diagnosis, and the onset may be any.
        role = "recorded" if first_of(segment, 5)[:8] in around.visit_days else "onset"
        times = tuple(stamps_of(segment, path, ((5, role), (19, "recorded"))))
    else:
        if first_of(segment, 1) in {"DE", "D"}:
            return
        times = tuple(stamps_of(segment, path, ((16, "onset"), (7, "recorded"))))
    if (denial := denial_of(codes, texts)) is not None:
        if denial != "one":
            record.deny("condition", path, denial)
        return
    record.add(Item("condition", "condition", path, codes, texts_of(texts), times=times))


def _cause_of_death(segment: Segment, path: str, record: Record, _: _Surroundings) -> None:
    """Add PDA-1, of which some converters make a condition and others a note, so that it need not be on the other side."""
    for at, text in repetitions(segment, 1):
        codes, texts = coded_of(text)
        record.add(Item("condition", "condition", f"{path}{at}", codes, texts_of(texts), is_claimed=False))


def _allergy(segment: Segment, path: str, record: Record, _: _Surroundings) -> None:
    codes, texts = coded_of(segment.field(3).split("~", 1)[0])
    # IAM-17: erroneous; confirmed but inactive.
    clinical = first_of(segment, 17).upper() if segment.name == "IAM" else ""
    if segment.name == "IAM" and (first_of(segment, 6) == "D" or clinical == "E"):
        return
    if (denial := denial_of(codes, texts)) is not None:
        if denial != "one":
            record.deny("allergy", path, denial)
        return
    fields = ((6, "onset"),) if segment.name == "AL1" else ((11, "onset"), (13, "recorded"))
    record.add(
        Item(
            "allergy",
            "allergy",
            path,
            codes,
            texts_of(texts),
            times=tuple(stamps_of(segment, path, fields)),
            category=_CATEGORIES.get(first_of(segment, 2).upper(), ""),
            severity=severities_of(first_of(segment, 4)),
            is_claimed=clinical != "I",
        )
    )


def _immunization(segment: Segment, path: str, record: Record, _: _Surroundings) -> None:
    codes, texts = coded_of(segment.field(5).split("~", 1)[0])
    # 998: no vaccine administered; action D: deleted.
    if first_of(segment, 21) == "D" or any(code.code == "998" for code in codes):
        return
    number = first_of(segment, 6)
    amounts = () if number == "999" else amounts_of(number, unit_of(segment, 7), f"{path}-6")
    times = tuple(stamps_of(segment, path, ((3, "effective"),)))
    item = Item("immunization", "immunization", path, codes, texts_of(texts), times=times, amounts=amounts)
    # RE, NA: refused, not administered.
    if first_of(segment, 20) in {"RE", "NA"}:
        record.refuse(item)
    else:
        record.add(item)


def _procedure(segment: Segment, path: str, record: Record, _: _Surroundings) -> None:
    codes, texts = coded_of(segment.field(3).split("~", 1)[0])
    times = tuple(stamps_of(segment, path, ((5, "effective"),)))
    record.add(Item("procedure", "procedure", path, codes, texts_of([*texts, first_of(segment, 4)]), times=times))


def _medication(segment: Segment, path: str, record: Record, around: _Surroundings) -> None:
    order, timing = around.common, around.timing
    position, at_amount, at_unit = _MEDICATIONS[segment.name]
    codes, texts = coded_of(segment.field(position).split("~", 1)[0])
    times = [] if order is None else list(stamps_of(order, around.prefix + order.path, ((9, "authored"),)))
    if segment.name == "RXD":
        times += stamps_of(segment, path, ((3, "dispensed"),))
    if timing is not None:
        times += stamps_of(timing, around.prefix + timing.path, ((7, "start"),))
    # The amount of a dispense is what was handed over, not a dose.
    amounts = () if segment.name == "RXD" else amounts_of(first_of(segment, at_amount), unit_of(segment, at_unit), f"{path}-{at_amount}")
    frequency = None if timing is None else _frequency(timing, around.prefix + timing.path)
    is_revoked = order is not None and first_of(order, 1).upper() in _NO_ORDERS
    is_claimed = segment.name in {"RXE", "RXO"} and not is_revoked
    record.add(Item("medication", "medication", path, codes, texts_of(texts), times=tuple(times), amounts=amounts, is_claimed=is_claimed, frequency=frequency))


def _frequency(timing: Segment, path: str) -> Frequency | None:
    """The frequency of the only TQ1 of an order and its only repeat pattern."""
    pattern = timing.field(3)
    return None if first_of(timing, 1) not in {"", "1"} or "~" in pattern else of_code(part(component_of(pattern, 1), "&", 1), f"{path}-3")


def _encounter(segment: Segment, path: str, record: Record, _: _Surroundings) -> None:
    times = tuple(stamps_of(segment, path, ((44, "start"), (45, "end"))))
    visit = identifier_of(segment.field(19).split("~", 1)[0], f"{path}-19", "VN")
    if not times and visit is None:
        return
    record.add(Item("encounter", "encounter", path, identifiers=() if visit is None else (visit,), times=times, status=class_of(first_of(segment, 2))))


def _observation(segment: Segment, path: str, record: Record, around: _Surroundings) -> None:
    order, in_results = around.order, around.in_results or around.order is not None
    if first_of(segment, 11).upper() in _NO_RESULT:
        return
    codes, texts = coded_of(segment.field(3).split("~", 1)[0])
    times = list(stamps_of(segment, path, ((14, "effective"),)))
    if not times and order is not None:
        times = list(stamps_of(order, around.prefix + order.path, ((7, "effective"),)))
    kind = first_of(segment, 2).upper()
    item = Item("observation", group_of(codes, "lab" if in_results or loinc_of(codes) else None), path, codes, texts_of(texts), times=tuple(times))
    amounts: list[Amount] = []
    answers: list[Code] = []
    for at, text in repetitions(segment, 5):
        where = f"{path}{at}"
        if kind in _NUMERIC:
            amounts += value_of(text, kind, unit_of(segment, 6), where)
            item.pair = item.pair or (pair_of(text, unit_of(segment, 6), where) if kind == "SN" else None)
        value_codes, value_texts = coded_of(text) if kind in _CODED else ((), [text])
        answers += value_codes
        verdict = next((found for one in value_texts if (found := verdict_of(value_codes, one))), "")
        if verdict and not amounts:
            item.verdict = item.verdict or PlacedValue(verdict, where)
    item.amounts, item.answers = tuple(amounts), tuple(answers)
    # After an RXA it describes the vaccine (its dose in the series, for example), and need not be an observation elsewhere.
    item.is_claimed = bool(amounts) and not around.is_of_vaccine
    record.add(item)


_READERS: Final[dict[str, Callable[[Segment, str, Record, _Surroundings], None]]] = {
    "PID": _patient, "OBX": _observation, "PV1": _encounter, "DG1": _condition, "PRB": _condition, "PDA": _cause_of_death, "AL1": _allergy,
    "IAM": _allergy, "RXA": _immunization, "PR1": _procedure, **dict.fromkeys(_MEDICATIONS, _medication),
}  # fmt: skip
