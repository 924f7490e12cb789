"""HL7 v2 → record: the fields that the v2-to-FHIR maps give a counterpart in FHIR."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from touchstone.scorers.clinical.consistency.codes import class_of, denial_of, severities_of, texts_of, verdict_of
from touchstone.scorers.clinical.consistency.hl7v2_fields import (
    amounts_of,
    coded_of,
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
from touchstone.scorers.clinical.consistency.record import TITLE_LENGTH_MAX, Amount, Code, Group, Item, Record, Scope, Told
from touchstone.scorers.clinical.formats import hl7v2
from touchstone.scorers.clinical.formats.hl7v2.lexer import Message, Segment
from touchstone.scorers.clinical.formats.hl7v2.tables import load, nearest, structures_of_events

#: How deep groups of messages nest.
_DEPTH_MAX: Final = 8
#: OBX-11: wrong, deleted, cancelled, not asked, no result.
_NO_RESULT: Final = frozenset({"W", "D", "X", "N", "O"})
_NUMERIC: Final = frozenset({"NM", "SN", "ST"})
_CODED: Final = frozenset({"CE", "CWE", "CNE", "CF", "IS", "ID"})
#: ORC-1 of an order that was taken back: cancelled, discontinued, held, refused.
_NO_ORDERS: Final = frozenset({"CA", "CR", "OC", "DC", "DR", "OD", "HD", "OH", "UA"})
#: Table 0127 → category of an allergy.
_CATEGORIES: Final = {"DA": "medication", "FA": "food", "EA": "environment", "AA": "environment", "PA": "environment", "LA": "environment"}
#: Group → the segments that hold it, and how much a message with one of them tells.
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
#: Messages whose absent entries of a group say that the patient has none: admissions and updates tell allergies and diagnoses.
_STATE_EVENTS: Final = ("ADT", "REF", "BAR")
#: What a message is sent for.
_PURPOSES: Final[tuple[tuple[str, Group], ...]] = (("ORU", "lab"), ("VXU", "immunization"))


def read_hl7v2(data: bytes, place: str) -> Record | None:
    """The record of all messages of a document; None where it holds none."""
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
            # Procedures are told by the messages that have them, and missing from none that has not.
            if group == "procedure" and not message.named("PR1"):
                continue
            if segments & held_by and (of_state or group not in {"condition", "allergy"} or any(one.name in held_by for one in message.segments)):
                scopes[group] = scope
    present = {item.group for item in record.every()}
    # Orders and results hold what was ordered or observed: of other groups, what they do not hold is not missing from them.
    able = {"condition", "allergy"} | {group for structure in structures for event, group in _PURPOSES if structure.startswith(event)}
    record.tells({group: scope if group in present else "able" for group, scope in scopes.items() if group in present or group in able})
    record.title = f"HL7 v2 {', '.join(dict.fromkeys(structures))}"[:TITLE_LENGTH_MAX]
    return record


def _structure(message: Message) -> tuple[str, frozenset[str]]:
    """The message's structure as far as HL7 knows it, and the segments that it may hold; those that it does hold always count."""
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


def _read(message: Message, prefix: str, record: Record) -> None:
    order: Segment | None = None
    common: Segment | None = None
    in_results = _structure(message)[0].startswith(("ORU", "OUL", "OML", "ORL"))
    timing: Segment | None = None
    is_of_vaccine = False
    visit = _days_of_visit(message)
    for segment in message.segments:
        path = prefix + segment.path
        name = segment.name
        if name == "PID":
            record.meet(patient_of(segment, path))
        elif name == "ORC":
            common, order, timing, is_of_vaccine = segment, None, None, False
        elif name == "OBR":
            order, is_of_vaccine = segment, False
        elif name == "TQ1":
            timing = segment
        elif name == "OBX":
            _observation(segment, order, path, prefix, record, in_results=in_results or order is not None, is_of_vaccine=is_of_vaccine)
        elif name == "PV1":
            _encounter(segment, path, record)
        elif name in {"DG1", "PRB"}:
            _condition(segment, path, record, visit)
        elif name == "PDA":
            _cause_of_death(segment, path, record)
        elif name in {"AL1", "IAM"}:
            _allergy(segment, path, record)
        elif name == "RXA":
            _immunization(segment, path, record)
            is_of_vaccine = True
        elif name == "PR1":
            _procedure(segment, path, record)
        elif name in _MEDICATIONS:
            _medication(segment, path, record, common, timing, prefix)


def _days_of_visit(message: Message) -> frozenset[str]:
    """The days on which the visit began and on which the message tells of it."""
    places = (("PV1", 44), ("EVN", 2), ("MSH", 7))
    return frozenset(day for name, position in places for segment in message.named(name) if len(day := first_of(segment, position)[:8]) == 8)


def _condition(segment: Segment, path: str, record: Record, visit: frozenset[str]) -> None:
    codes, texts = coded_of(segment.field(3).split("~", 1)[0])
    if segment.name == "DG1":
        if first_of(segment, 21) == "D":
            return
        texts.append(first_of(segment, 4))
        # v2-to-FHIR makes DG1-5 the onset. A diagnosis of the day of the visit was made then, and may have begun at any time.
        role = "recorded" if first_of(segment, 5)[:8] in visit else "onset"
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


def _cause_of_death(segment: Segment, path: str, record: Record) -> None:
    """PDA-1, which converters make a condition of the patient, and others a note: its absence says nothing."""
    for at, text in repetitions(segment, 1):
        codes, texts = coded_of(text)
        record.add(Item("condition", "condition", f"{path}{at}", codes, texts_of(texts), is_claimed=False))


def _allergy(segment: Segment, path: str, record: Record) -> None:
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


def _immunization(segment: Segment, path: str, record: Record) -> None:
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


def _procedure(segment: Segment, path: str, record: Record) -> None:
    codes, texts = coded_of(segment.field(3).split("~", 1)[0])
    times = tuple(stamps_of(segment, path, ((5, "effective"),)))
    record.add(Item("procedure", "procedure", path, codes, texts_of([*texts, first_of(segment, 4)]), times=times))


def _medication(segment: Segment, path: str, record: Record, order: Segment | None, timing: Segment | None, prefix: str) -> None:
    position, at_amount, at_unit = _MEDICATIONS[segment.name]
    codes, texts = coded_of(segment.field(position).split("~", 1)[0])
    times = [] if order is None else list(stamps_of(order, prefix + order.path, ((9, "authored"),)))
    if segment.name == "RXD":
        times += stamps_of(segment, path, ((3, "dispensed"),))
    if timing is not None:
        times += stamps_of(timing, prefix + timing.path, ((7, "start"),))
    # Of a dispense the amount is what was handed over, and no dose.
    amounts = () if segment.name == "RXD" else amounts_of(first_of(segment, at_amount), unit_of(segment, at_unit), f"{path}-{at_amount}")
    is_taken_back = order is not None and first_of(order, 1).upper() in _NO_ORDERS
    is_claimed = segment.name in {"RXE", "RXO"} and not is_taken_back
    record.add(Item("medication", "medication", path, codes, texts_of(texts), times=tuple(times), amounts=amounts, is_claimed=is_claimed))


def _encounter(segment: Segment, path: str, record: Record) -> None:
    times = tuple(stamps_of(segment, path, ((44, "start"), (45, "end"))))
    visit = identifier_of(segment.field(19).split("~", 1)[0], f"{path}-19", "VN")
    if not times and visit is None:
        return
    record.add(Item("encounter", "encounter", path, identifiers=() if visit is None else (visit,), times=times, status=class_of(first_of(segment, 2))))


def _observation(segment: Segment, order: Segment | None, path: str, prefix: str, record: Record, *, in_results: bool, is_of_vaccine: bool) -> None:
    if first_of(segment, 11).upper() in _NO_RESULT:
        return
    codes, texts = coded_of(segment.field(3).split("~", 1)[0])
    times = list(stamps_of(segment, path, ((14, "effective"),)))
    if not times and order is not None:
        times = list(stamps_of(order, prefix + order.path, ((7, "effective"),)))
    kind = first_of(segment, 2).upper()
    item = Item("observation", group_of(codes, "lab" if in_results or loinc_of(codes) else None), path, codes, texts_of(texts), times=tuple(times))
    amounts: list[Amount] = []
    answers: list[Code] = []
    for at, text in repetitions(segment, 5):
        where = f"{path}{at}"
        if kind in _NUMERIC:
            amounts += value_of(text, kind, unit_of(segment, 6), where)
            item.pair = item.pair or (pair_of(text, unit_of(segment, 6), where) if kind == "SN" else None)
        answers_of_it, names_of_it = coded_of(text) if kind in _CODED else ((), [text])
        answers += answers_of_it
        verdict = next((found for one in names_of_it if (found := verdict_of(answers_of_it, one))), "")
        if verdict and not amounts:
            item.verdict = item.verdict or Told(verdict, where)
    item.amounts, item.answers = tuple(amounts), tuple(answers)
    # What follows an RXA tells of the vaccine, its dose in the series, say, and need be no observation elsewhere.
    item.is_claimed = bool(amounts) and not is_of_vaccine
    record.add(item)
