"""HL7 v2 messages → persona: the segments that a chart shows, in the words of the message (HL7 v2.5.1, chapters 3, 4, 6 and 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from touchstone.scorers.clinical.consistency.hl7v2_fields import coded_of, component_of, first_of, repetitions, unit_of
from touchstone.scorers.clinical.consistency.hl7v2_record import read_hl7v2
from touchstone.scorers.clinical.consistency.record import Item
from touchstone.scorers.clinical.formats import hl7v2
from touchstone.scorers.clinical.formats.hl7v2.escapes import unescape
from touchstone.scorers.clinical.formats.hl7v2.lexer import Message, Segment
from touchstone.scorers.clinical.reading.fhir_persona import PLACE
from touchstone.scorers.clinical.reading.record_persona import NOTHING, Entry, Read, persona

#: Table 0004, 0085, 0128, 0052, and 0322: codes of HL7's own that a reader need not know by heart.
_CLASSES: Final = {"E": "Emergency", "I": "Inpatient", "O": "Outpatient", "P": "Preadmit", "R": "Recurring patient", "B": "Obstetrics"}
_RESULTS: Final = {"F": "final", "P": "preliminary", "C": "corrected", "R": "not verified", "S": "partial", "I": "pending", "U": "final", "B": "pending"}
_SEVERITIES: Final = {"SV": "severe", "MO": "moderate", "MI": "mild"}
_DIAGNOSES: Final = {"A": "admitting", "W": "working", "F": "final"}
_ADMINISTERED: Final = {"CP": "complete", "PA": "partially administered"}
#: OBX-2 of values that are whole documents, or pointers to such.
_ENCLOSED: Final = frozenset({"ED", "RP"})
_TIMES: Final = frozenset({"DT", "TS", "DTM"})
#: Segment → field of its code, of its amount, and of the amount's unit.
_CODED: Final[Mapping[str, tuple[int, int, int]]] = {
    "DG1": (3, 0, 0), "PRB": (3, 0, 0), "PDA": (1, 0, 0), "AL1": (3, 0, 0), "IAM": (3, 0, 0), "PR1": (3, 0, 0), "OBX": (3, 0, 0),
    "RXA": (5, 6, 7), "RXO": (1, 2, 4), "RXE": (2, 3, 5), "RXD": (2, 4, 5), "RXG": (4, 5, 7),
}  # fmt: skip


class _Placed(NamedTuple):
    """A segment among the others of its order. `order`, `timing`, `route`: the ORC, TQ1 and RXR that belong to it."""

    segment: Segment
    kind: str
    order: Segment | None
    timing: Segment | None
    route: Segment | None


def persona_of_hl7v2(content: str | bytes, place: str) -> Read:
    """The persona that the messages of a document describe; empty if there is no message, or they describe nothing. Never fails."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    record = read_hl7v2(data, place)
    if record is None:
        return NOTHING
    messages = hl7v2.read(hl7v2.decode(data).text).messages
    placed: dict[str, _Placed] = {}
    for message in messages:
        prefix = f"message[{message.number}]/" if len(messages) > 1 else ""
        placed.update({prefix + path: one for path, one in _placed(message).items()})
    first = next((one.segment for one in placed.values() if one.segment.name == "PID"), None)

    def words(item: Item) -> Entry:
        # PDA-1 has a path of its own; the others have those of their segments.
        one = placed.get(item.path) or placed.get(item.path.split("-", 1)[0])
        return {} if one is None else _READERS.get(one.segment.name, _nothing)(one)

    found = persona(record, words, {} if first is None else _patient(first))
    if "encounters" not in found.persona:
        # A visit without a time and a number is not compared, and yet says where the patient is.
        visits = [(path, one) for path, one in placed.items() if one.segment.name == "PV1" and first_of(one.segment, 2) not in {"", "N"}]
        if visits:
            found.persona["encounters"] = [_visit(one) | {PLACE: f"{place}/{path}"} for path, one in visits]
    return found


def _placed(message: Message) -> dict[str, _Placed]:
    """Path of each segment → the segment with those of its order. An RXR and a TQ1 follow what they belong to, or precede it within one order."""
    kind = message.segments[0].component(9, 1)
    found: dict[str, _Placed] = {}
    order = timing = None
    last: str | None = None
    for segment in message.segments:
        if segment.name == "ORC":
            order, timing, last = segment, None, None
        elif segment.name == "TQ1":
            timing = segment
            if last is not None:
                found[last] = found[last]._replace(timing=segment)
        elif segment.name == "RXR" and last is not None and found[last].route is None:
            found[last] = found[last]._replace(route=segment)
        found[segment.path] = _Placed(segment, kind, order, timing, None)
        if segment.name.startswith("RX") and segment.name in _CODED:
            last = segment.path
    return found


def _coded(segment: Segment) -> Entry:
    """Code and name of what a segment is about."""
    text = segment.field(_CODED[segment.name][0]).split("~", 1)[0]
    return {"name": _name(text), "code": component_of(text, 1) or component_of(text, 4)}


def _name(text: str) -> str:
    """The words of a coded field: a name, or the original text."""
    return next((name for name in coded_of(text)[1] if isinstance(name, str) and name), "")


def _text(segment: Segment, position: int) -> str:
    """The words of a field that may be coded: a name if it has one, else the code, which is the text in fields that have no codes."""
    text = segment.field(position).split("~", 1)[0]
    return _name(text) or component_of(text, 1)


def _all(segment: Segment, position: int) -> str:
    """All repetitions of a field in words."""
    return ", ".join(filter(None, (_name(text) or component_of(text, 1) for _, text in repetitions(segment, position))))


def _amount(segment: Segment) -> str:
    """An amount with its unit, or a range of amounts; 0 and 999 of a vaccine say that it is not known."""
    _, at_amount, at_unit = _CODED[segment.name]
    low = first_of(segment, at_amount)
    high = first_of(segment, at_amount + 1) if segment.name in {"RXO", "RXE"} else ""
    if not low or (segment.name == "RXA" and low in {"0", "999"}):
        return ""
    return " ".join(filter(None, (f"{low} to {high}" if high and high != low else low, unit_of(segment, at_unit))))


def _condition(one: _Placed) -> Entry:
    segment = one.segment
    if segment.name == "DG1":
        entry = _coded(segment)
        # DG1-4 is the description of old messages, and often the only name.
        return entry | {"name": entry["name"] or first_of(segment, 4), "type": _DIAGNOSES.get(first_of(segment, 6), "")}
    if segment.name == "PRB":
        return _coded(segment) | {"status": _text(segment, 14), "severity": _text(segment, 26)}
    return _coded(segment) | {"notes": "cause of death"}


def _allergy(one: _Placed) -> Entry:
    severity = first_of(one.segment, 4)
    return _coded(one.segment) | {"severity": _SEVERITIES.get(severity, _text(one.segment, 4)), "reaction": _all(one.segment, 5)}


def _immunization(one: _Placed) -> Entry:
    segment = one.segment
    status = first_of(segment, 20)
    entry = _coded(segment) | {"dose": _amount(segment), "status": _ADMINISTERED.get(status, status), "lot": first_of(segment, 15)}
    # In an administration (RAS) this segment is of any medication; elsewhere, of a vaccine.
    return entry | {"list": "medications", "route": _route(one)} if one.kind == "RAS" else entry


def _medication(one: _Placed) -> Entry:
    segment = one.segment
    entry = _coded(segment) | {"route": _route(one), "frequency": _frequency(one)}
    if segment.name == "RXD":
        return entry | {"dispensed": _amount(segment)}
    sig = _all(segment, 7) if segment.name in {"RXO", "RXE"} else ""
    return entry | {"dose": _amount(segment), "notes": sig}


def _route(one: _Placed) -> str:
    return "" if one.route is None else _text(one.route, 1)


def _frequency(one: _Placed) -> str:
    """How often: TQ1-3, else the interval of the timing that older versions have in RXE-1 and ORC-7."""
    if one.timing is not None and (found := _text(one.timing, 3)):
        return found.replace("&", " ")
    texts = (one.segment.field(1) if one.segment.name == "RXE" else "", one.order.field(7) if one.order is not None else "")
    return next((found.split("&")[0] for text in texts if (found := component_of(text.split("~", 1)[0], 2))), "")


def _observation(one: _Placed) -> Entry:
    segment = one.segment
    status = first_of(segment, 11)
    return _coded(segment) | {
        "value": _value(segment), "unit": unit_of(segment, 6), "range": unescape(segment.field(7)), "flag": _all(segment, 8),
        "status": _RESULTS.get(status, status),
    }  # fmt: skip


def _value(segment: Segment) -> str:
    """OBX-5 in words, by the type in OBX-2."""
    kind = first_of(segment, 2).upper()
    if kind in _ENCLOSED:
        return "an enclosed document"
    parts = []
    for _, text in repetitions(segment, 5):
        if kind == "SN":
            parts.append("".join(component_of(text, number) for number in (1, 2, 3, 4)))
        elif kind in {"CE", "CWE", "CNE", "CF"}:
            parts.append(_name(text) or component_of(text, 1))
        else:
            parts.append(component_of(text, 1) if "^" in text and kind not in {"TX", "FT", "ST"} else unescape(text).strip())
    return ", ".join(filter(None, parts))


def _procedure(one: _Placed) -> Entry:
    entry = _coded(one.segment)
    return entry | {"name": entry["name"] or first_of(one.segment, 4)}


def _visit(one: _Placed) -> Entry:
    """PV1: class, place, attending doctor."""
    segment = one.segment
    kind = first_of(segment, 2)
    place = segment.field(3).split("~", 1)[0]
    doctor = segment.field(7).split("~", 1)[0]
    return {
        "name": _CLASSES.get(kind, kind),
        "location": " ".join(filter(None, (component_of(place, number).split("&")[0] for number in (1, 2, 3, 4)))),
        "provider": " ".join(filter(None, (component_of(doctor, number).split("&")[0] for number in (3, 2)))) or component_of(doctor, 1),
    }


def _patient(segment: Segment) -> Entry:
    """PID in words; what the comparison reads is not repeated."""
    name = segment.field(5).split("~", 1)[0]
    place = segment.field(11).split("~", 1)[0]
    return {
        "name": " ".join(filter(None, (component_of(name, 2), component_of(name, 3), component_of(name, 1).split("&")[0]))),
        "mrn": next((value for _, text in repetitions(segment, 3) if (value := component_of(text, 1))), ""),
        "race": _all(segment, 10),
        "ethnicity": _all(segment, 22),
        "language": _text(segment, 15),
        "maritalStatus": _text(segment, 16),
        "address": ", ".join(filter(None, (component_of(place, number).split("&")[0] for number in (1, 2, 3, 4, 5)))),
    }


def _nothing(_: _Placed) -> Entry:
    return {}


_READERS: Final[Mapping[str, Callable[[_Placed], Entry]]] = {
    **dict.fromkeys(("DG1", "PRB", "PDA"), _condition), **dict.fromkeys(("AL1", "IAM"), _allergy), "RXA": _immunization,
    **dict.fromkeys(("RXO", "RXE", "RXD", "RXG"), _medication), "OBX": _observation, "PR1": _procedure, "PV1": _visit,
}  # fmt: skip
