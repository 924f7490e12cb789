"""HL7 v2 → record: the fields that the v2-to-FHIR maps give a counterpart in FHIR."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from touchstone.scorers.clinical.consistency import names
from touchstone.scorers.clinical.consistency.amounts import comparator_of, is_number
from touchstone.scorers.clinical.consistency.codes import class_of, code_of, is_none_known, marital_of, severity_of, sex_of, texts_of
from touchstone.scorers.clinical.consistency.groups import group_of, loinc_of
from touchstone.scorers.clinical.consistency.record import TITLE_LENGTH_MAX, Amount, Code, Group, Identifier, Item, Patient, Record, Scope, Stamp, Told
from touchstone.scorers.clinical.consistency.times import compact_stamp
from touchstone.scorers.clinical.formats import hl7v2
from touchstone.scorers.clinical.formats.hl7v2.escapes import unescape
from touchstone.scorers.clinical.formats.hl7v2.lexer import Message, Segment, part
from touchstone.scorers.clinical.formats.hl7v2.tables import load, nearest, structures_of_events

#: Repetitions of one field that are read.
REPETITIONS_MAX: Final = 50
#: How deep groups of messages nest.
_DEPTH_MAX: Final = 8
_NULL: Final = '""'
#: OBX-11: wrong, deleted, cancelled, not asked, no result.
_NO_RESULT: Final = frozenset({"W", "D", "X", "N", "O"})
_NUMERIC: Final = frozenset({"NM", "SN", "ST"})
_CODED: Final = frozenset({"CE", "CWE", "CNE", "CF", "IS", "ID"})
#: Group → the segments that hold it, and how much a message with one of them tells.
_HELD_BY: Final[dict[Group, tuple[frozenset[str], Scope]]] = {
    "condition": (frozenset({"DG1", "PRB", "PDA"}), "part"),
    "allergy": (frozenset({"AL1", "IAM"}), "whole"),
    "medication": (frozenset({"RXO", "RXE", "RXD", "RXG"}), "part"),
    "immunization": (frozenset({"RXA"}), "part"),
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
    visit = _days_of_visit(message)
    for segment in message.segments:
        path = prefix + segment.path
        name = segment.name
        if name == "PID":
            record.meet(_patient(segment, path))
        elif name == "ORC":
            common, order, timing = segment, None, None
        elif name == "OBR":
            order = segment
        elif name == "TQ1":
            timing = segment
        elif name == "OBX":
            _observation(segment, order, path, prefix, record, in_results=in_results or order is not None)
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
        elif name in _MEDICATIONS:
            _medication(segment, path, record, common, timing, prefix)


def _repetitions(segment: Segment, position: int) -> Iterator[tuple[str, str]]:
    """(path after the segment, text) of each repetition that holds something."""
    value = segment.field(position)
    if not value or value == _NULL:
        return
    found = value.split("~", REPETITIONS_MAX)[:REPETITIONS_MAX]
    for number, text in enumerate(found, start=1):
        if text and text != _NULL:
            yield (f"-{position}" if len(found) == 1 else f"-{position}[{number}]"), text


def _at(text: str, component: int) -> str:
    value = unescape(part(text, "^", component)).strip()
    return "" if value == _NULL else value


def _first(segment: Segment, position: int) -> str:
    value = unescape(segment.component(position, 1)).strip()
    return "" if value == _NULL else value


def _coded(text: str) -> tuple[tuple[Code, ...], list[object]]:
    """The codes and names of a CE, CNE or CWE."""
    pairs = ((1, 3), (4, 6))
    codes = tuple(code for at_code, at_system in pairs if (code := code_of(_at(text, at_system), _at(text, at_code))) is not None)
    return codes, [_at(text, 2), _at(text, 5), _at(text, 9)]


def _stamps(segment: Segment, path: str, fields: tuple[tuple[int, str], ...]) -> Iterator[Stamp]:
    for position, role in fields:
        if (stamp := compact_stamp(role, _first(segment, position), f"{path}-{position}")) is not None:
            yield stamp


def _identifier(text: str, path: str, kind: str = "") -> Identifier | None:
    """A CX."""
    authority = part(text, "^", 4)
    universal = part(authority, "&", 2)
    # A universal id that is no OID nor URL is as local as a namespace; the namespace is what converters take then.
    system = universal if part(authority, "&", 3).upper() in {"ISO", "URI"} and universal else part(authority, "&", 1) or universal
    return names.identifier(unescape(system), _at(text, 5) or kind, _at(text, 1), path)


def _patient(segment: Segment, path: str) -> Patient:
    patient = Patient(path)
    for position in (5, 9):
        for at, text in _repetitions(segment, position):
            given = [_at(text, 2), _at(text, 3)]
            use = _at(text, 7) if position == 5 else "alias"
            if (found := names.name(unescape(part(part(text, "^", 1), "&", 1)), given, use, f"{path}{at}")) is not None:
                patient.names.append(found)
    for position, kind in ((3, ""), (2, ""), (4, ""), (19, "SS")):
        for at, text in _repetitions(segment, position):
            if (one := _identifier(text, f"{path}{at}", kind)) is not None:
                patient.identifiers.append(one)
    patient.birth = compact_stamp("birth", _first(segment, 7), f"{path}-7")
    if sex := sex_of(_first(segment, 8)):
        patient.sex = Told(sex, f"{path}-8")
    if marital := marital_of(_first(segment, 16), is_v2=True):
        patient.marital = Told(marital, f"{path}-16")
    died = _first(segment, 30).upper()
    if died in {"Y", "N"} or _first(segment, 29):
        patient.dead = Told("alive" if died == "N" else "dead", f"{path}-{30 if died else 29}")
    for at, text in _repetitions(segment, 11):
        if code := _at(text, 5):
            patient.postal_codes.append(Told(names.postal_code(code), f"{path}{at}"))
    return patient


def _days_of_visit(message: Message) -> frozenset[str]:
    """The days on which the visit began and on which the message tells of it."""
    places = (("PV1", 44), ("EVN", 2), ("MSH", 7))
    return frozenset(day for name, position in places for segment in message.named(name) if len(day := _first(segment, position)[:8]) == 8)


def _condition(segment: Segment, path: str, record: Record, visit: frozenset[str]) -> None:
    codes, texts = _coded(segment.field(3).split("~", 1)[0])
    if segment.name == "DG1":
        if _first(segment, 21) == "D":
            return
        texts.append(_first(segment, 4))
        # v2-to-FHIR makes DG1-5 the onset. A diagnosis of the day of the visit was made then, and may have begun at any time.
        role = "recorded" if _first(segment, 5)[:8] in visit else "onset"
        times = tuple(_stamps(segment, path, ((5, role), (19, "recorded"))))
    else:
        if _first(segment, 1) in {"DE", "D"}:
            return
        times = tuple(_stamps(segment, path, ((16, "onset"), (7, "recorded"))))
    if is_none_known(codes, texts):
        record.deny("condition", path)
        return
    record.add(Item("condition", "condition", path, codes, texts_of(texts), times=times))


def _cause_of_death(segment: Segment, path: str, record: Record) -> None:
    """PDA-1, which converters make a condition of the patient, and others a note: its absence says nothing."""
    for at, text in _repetitions(segment, 1):
        codes, texts = _coded(text)
        record.add(Item("condition", "condition", f"{path}{at}", codes, texts_of(texts), is_claimed=False))


def _allergy(segment: Segment, path: str, record: Record) -> None:
    codes, texts = _coded(segment.field(3).split("~", 1)[0])
    if segment.name == "IAM" and _first(segment, 6) == "D":
        return
    if is_none_known(codes, texts):
        record.deny("allergy", path)
        return
    fields = ((6, "onset"),) if segment.name == "AL1" else ((11, "onset"), (13, "recorded"))
    severity = severity_of(_first(segment, 4))
    record.add(
        Item(
            "allergy",
            "allergy",
            path,
            codes,
            texts_of(texts),
            times=tuple(_stamps(segment, path, fields)),
            severity=(severity,) if severity else (),
        )
    )


def _amount(number: str, unit: str, path: str, comparator: str = "") -> tuple[Amount, ...]:
    return (Amount(number, unit, comparator, path),) if is_number(number) else ()


def _unit(segment: Segment, position: int) -> str:
    """A unit's code; its name where the code is none of UCUM but a number."""
    code = _first(segment, position)
    return code if code and not code.isdecimal() else unescape(segment.component(position, 2)).strip()


def _immunization(segment: Segment, path: str, record: Record) -> None:
    codes, texts = _coded(segment.field(5).split("~", 1)[0])
    # 998: no vaccine administered; RE, NA: refused, not administered; action D: deleted.
    if _first(segment, 20) in {"RE", "NA"} or _first(segment, 21) == "D" or any(code.code == "998" for code in codes):
        return
    number = _first(segment, 6)
    amounts = () if number == "999" else _amount(number, _unit(segment, 7), f"{path}-6")
    times = tuple(_stamps(segment, path, ((3, "effective"),)))
    record.add(Item("immunization", "immunization", path, codes, texts_of(texts), times=times, amounts=amounts))


def _medication(segment: Segment, path: str, record: Record, order: Segment | None, timing: Segment | None, prefix: str) -> None:
    position, at_amount, at_unit = _MEDICATIONS[segment.name]
    codes, texts = _coded(segment.field(position).split("~", 1)[0])
    times = [] if order is None else list(_stamps(order, prefix + order.path, ((9, "authored"),)))
    if segment.name == "RXD":
        times += _stamps(segment, path, ((3, "dispensed"),))
    if timing is not None:
        times += _stamps(timing, prefix + timing.path, ((7, "start"),))
    # Of a dispense the amount is what was handed over, and no dose.
    amounts = () if segment.name == "RXD" else _amount(_first(segment, at_amount), _unit(segment, at_unit), f"{path}-{at_amount}")
    record.add(Item("medication", "medication", path, codes, texts_of(texts), times=tuple(times), amounts=amounts, is_claimed=segment.name in {"RXE", "RXO"}))


def _encounter(segment: Segment, path: str, record: Record) -> None:
    times = tuple(_stamps(segment, path, ((44, "start"), (45, "end"))))
    visit = _identifier(segment.field(19).split("~", 1)[0], f"{path}-19", "VN")
    if not times and visit is None:
        return
    record.add(Item("encounter", "encounter", path, identifiers=() if visit is None else (visit,), times=times, status=class_of(_first(segment, 2))))


def _observation(segment: Segment, order: Segment | None, path: str, prefix: str, record: Record, *, in_results: bool) -> None:
    if _first(segment, 11).upper() in _NO_RESULT:
        return
    codes, texts = _coded(segment.field(3).split("~", 1)[0])
    times = list(_stamps(segment, path, ((14, "effective"),)))
    if not times and order is not None:
        times = list(_stamps(order, prefix + order.path, ((7, "effective"),)))
    kind = _first(segment, 2).upper()
    item = Item("observation", group_of(codes, "lab" if in_results or loinc_of(codes) else None), path, codes, texts_of(texts), times=tuple(times))
    amounts: list[Amount] = []
    answers: list[Code] = []
    for at, text in _repetitions(segment, 5):
        if kind in _NUMERIC:
            amounts += _value(text, kind, _unit(segment, 6), f"{path}{at}")
        elif kind in _CODED:
            answers += _coded(text)[0]
    item.amounts, item.answers = tuple(amounts), tuple(answers)
    item.is_claimed = bool(amounts)
    record.add(item)


def _value(text: str, kind: str, unit: str, path: str) -> tuple[Amount, ...]:
    """The amount of an NM, SN, or a number written as text (`<0.01` too)."""
    if kind == "SN":
        # A ratio or an interval is no single number.
        return () if _at(text, 3) else _amount(_at(text, 2), unit, path, comparator_of(_at(text, 1)))
    plain = unescape(text).strip()
    bare = plain.lstrip("<>=≤≥ ")
    return _amount(bare, unit, path, comparator_of(plain[: len(plain) - len(bare)]))
