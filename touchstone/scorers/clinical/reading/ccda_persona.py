"""C-CDA document → persona: header, and the entries of its sections, in the words of the document (C-CDA R2.1, volume 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from touchstone.scorers.clinical.consistency.ccda_elements import Tree, attribute, text_of
from touchstone.scorers.clinical.consistency.ccda_record import parse, read_ccda
from touchstone.scorers.clinical.consistency.record import Item, Kind
from touchstone.scorers.clinical.formats.ccda.elements import carries, child, children, kind
from touchstone.scorers.clinical.reading.record_persona import NOTHING, Entry, Read, persona

#: Code of a status observation, of a severity observation (its code of release 1.1, and of 2.1), and template of an indication.
_STATUS: Final = frozenset({"33999-4"})
_SEVERITY: Final = frozenset({"SEV"})
_INDICATION: Final = "2.16.840.1.113883.10.20.22.4.19"
_GIVEN_MAX: Final = 5


class _Remembered(Tree):
    """Elements by the paths that were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: dict[str, Any] = {}

    def path(self, element: Any) -> str:
        """The path of an element."""
        path = super().path(element)
        self.elements[path] = element
        return path

    def words(self, element: Any) -> str:
        """The words of a coded element: a name, or the text that it refers to."""
        if element is None:
            return ""
        names = [text for text in self.coded(element)[1] if isinstance(text, str) and text]
        return names[0] if names else self._original(element)


def persona_of_ccda(content: str | bytes, place: str) -> Read:
    """The persona that a C-CDA document describes; empty if it cannot be read, or describes nothing. Never fails."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    root, tree = parse(data), _Remembered()
    record = read_ccda(root, place, tree)
    if record is None:
        return NOTHING

    def words(item: Item) -> Entry:
        element = tree.elements.get(item.path)
        return {} if element is None else _READERS[item.kind](element, tree)

    return persona(record, words, _patient(child(root, "recordTarget", "patientRole"), tree))


def _code(element: Any) -> str:
    """The code of a CD; of its first translation, if it has none itself."""
    if element is None:
        return ""
    return attribute(element, "code") or next((code for one in children(element, "translation") if (code := attribute(one, "code"))), "")


def _quantity(element: Any) -> str:
    """A PQ, or the ends of an interval of these."""
    if element is None:
        return ""
    if attribute(element, "value"):
        return " ".join(filter(None, (attribute(element, "value"), _unit(element))))
    low, high = child(element, "low"), child(element, "high")
    ends = (attribute(low, "value"), attribute(high, "value"))
    unit = _unit(low) or _unit(high)
    if all(ends):
        return f"{ends[0]} to {ends[1]} {unit}".rstrip()
    return f"from {ends[0]} {unit}".rstrip() if ends[0] else f"up to {ends[1]} {unit}".rstrip() if ends[1] else ""


def _unit(element: Any) -> str:
    unit = attribute(element, "unit")
    return "" if unit == "1" else unit


def _inside(element: Any, tag: str) -> Iterator[Any]:
    """The statements of a name in the entryRelationships of an element."""
    for relation in children(element, "entryRelationship"):
        yield from children(relation, tag)


def _of_code(element: Any, codes: frozenset[str], tree: _Remembered) -> str:
    """The value of the observation inside that has one of these codes."""
    found = (tree.words(child(one, "value")) for one in _inside(element, "observation") if attribute(child(one, "code"), "code") in codes)
    return next(filter(None, found), "")


def _condition(element: Any, tree: _Remembered) -> Entry:
    value = child(element, "value")
    above = element.getparent()
    concern = above.getparent() if above is not None else None
    status = _of_code(element, _STATUS, tree) or (attribute(child(concern, "statusCode"), "code"))
    return {"name": tree.words(value), "code": _code(value), "status": status, "severity": _of_code(element, _SEVERITY, tree)}


def _allergy(element: Any, tree: _Remembered) -> Entry:
    entities = [child(one, "participantRole", "playingEntity") for one in children(element, "participant")]
    substance = next((one for one in entities if one is not None), None)
    code = child(substance, "code")
    reactions = [
        (tree.words(child(one, "value")), _of_code(one, _SEVERITY, tree))
        for relation in children(element, "entryRelationship")
        if attribute(relation, "typeCode") == "MFST"
        for one in children(relation, "observation")
    ]
    severity = _of_code(element, _SEVERITY, tree) or next((of for _, of in reactions if of), "")
    return {
        "name": tree.words(code) or text_of(child(substance, "name")),
        "code": _code(code),
        "reaction": ", ".join(filter(None, (name for name, _ in reactions))),
        "severity": severity,
        "status": _of_code(element, _STATUS, tree),
    }


def _substance(element: Any, tree: _Remembered) -> Entry:
    material = child(element, "consumable", "manufacturedProduct", "manufacturedMaterial")
    code = child(material, "code")
    reasons = (tree.words(child(one, "value")) for one in _inside(element, "observation") if carries(one, _INDICATION))
    return {
        "name": tree.words(code) or text_of(child(material, "name")),
        "code": _code(code),
        "dose": _quantity(child(element, "doseQuantity")),
        "frequency": _frequency(element),
        "route": tree.words(child(element, "routeCode")),
        "reason": next(filter(None, reasons), ""),
        "status": attribute(child(element, "statusCode"), "code"),
        "lot": text_of(child(material, "lotNumberText")),
    }


def _frequency(element: Any) -> str:
    """How often: the period of a PIVL_TS, or the event of an EIVL_TS."""
    for time in children(element, "effectiveTime"):
        if kind(time) == "PIVL_TS" and (period := _quantity(child(time, "period"))):
            return f"every {period}"
        if kind(time) == "EIVL_TS" and (event := attribute(child(time, "event"), "code")):
            return event
    return ""


def _observation(element: Any, tree: _Remembered) -> Entry:
    code, value = child(element, "code"), child(element, "value")
    type_ = "" if value is None else kind(value)
    if type_ in {"CD", "CE", "CO", "CV"}:
        shown, unit = tree.words(value) or _code(value), ""
    elif type_ == "PQ":
        shown, unit = attribute(value, "value"), _unit(value)
    else:
        shown, unit = _quantity(value) or text_of(value), ""
    limits = child(element, "referenceRange", "observationRange")
    return {
        "name": tree.words(code),
        "code": _code(code),
        "value": shown,
        "unit": unit,
        "range": "" if limits is None else _quantity(child(limits, "value")) or text_of(child(limits, "text")),
        "flag": ", ".join(filter(None, (tree.words(one) or attribute(one, "code") for one in children(element, "interpretationCode")))),
        "status": attribute(child(element, "statusCode"), "code"),
    }


def _procedure(element: Any, tree: _Remembered) -> Entry:
    code = child(element, "code")
    return {"name": tree.words(code), "code": _code(code), "status": attribute(child(element, "statusCode"), "code")}


def _encounter(element: Any, tree: _Remembered) -> Entry:
    """An encounter of the section, or the one of the header, whose place is written elsewhere."""
    code = child(element, "code")
    place = child(element, "location", "healthCareFacility", "location", "name")
    if place is None:
        places = (child(one, "participantRole", "playingEntity", "name") for one in children(element, "participant") if attribute(one, "typeCode") == "LOC")
        place = next((one for one in places if one is not None), None)
    return {"name": tree.words(code) or attribute(code, "code"), "location": text_of(place)}


def _patient(role: Any, tree: _Remembered) -> Entry:
    """The patient in words; what the comparison reads is not repeated."""
    if role is None:
        return {}
    person = child(role, "patient")
    name = child(person, "name")
    given = [text_of(one) for one in children(name, "given")][:_GIVEN_MAX]
    parts = [*given, text_of(child(name, "family"))]
    address = child(role, "addr")
    lines = [text_of(one) for tag in ("streetAddressLine", "city", "state", "postalCode") for one in children(address, tag)]
    language = child(person, "languageCommunication", "languageCode")
    return {
        "name": " ".join(filter(None, parts)) or text_of(name),
        "mrn": next((value for one in children(role, "id") if (value := attribute(one, "extension"))), ""),
        "race": tree.words(child(person, "raceCode")),
        "ethnicity": tree.words(child(person, "ethnicGroupCode")),
        "language": attribute(language, "code"),
        "maritalStatus": tree.words(child(person, "maritalStatusCode")),
        "address": ", ".join(filter(None, lines)),
    }


_READERS: Final[Mapping[Kind, Callable[[Any, _Remembered], Entry]]] = {
    "condition": _condition,
    "medication": _substance,
    "immunization": _substance,
    "allergy": _allergy,
    "observation": _observation,
    "procedure": _procedure,
    "encounter": _encounter,
}
