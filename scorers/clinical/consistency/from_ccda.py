"""C-CDA → record: the header's patient and the entries of the sections that C-CDA on FHIR maps, from a parsed lxml tree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from touchstone.scorers.clinical.consistency import names
from touchstone.scorers.clinical.consistency.amounts import is_number
from touchstone.scorers.clinical.consistency.codes import class_of, code_of, is_none_known, marital_of, severity_of, sex_of, texts_of
from touchstone.scorers.clinical.consistency.groups import group_of
from touchstone.scorers.clinical.consistency.record import ITEMS_MAX, Amount, Code, Group, Identifier, Item, Kind, Patient, Record, Stamp, Told
from touchstone.scorers.clinical.consistency.times import compact_stamp
from touchstone.scorers.clinical.formats.ccda.document import Document
from touchstone.scorers.clinical.formats.ccda.names import name_of
from touchstone.scorers.clinical.formats.ccda.options import Options
from touchstone.scorers.clinical.formats.ccda.reading import read
from touchstone.scorers.clinical.report import Context, Report

HL7V3: Final = "{urn:hl7-org:v3}"
XSI_TYPE: Final = "{http://www.w3.org/2001/XMLSchema-instance}type"
#: LOINC code of a section → the kind of its entries, the group, and whether the section is the patient's whole list.
_SECTIONS: Final[dict[str, tuple[Kind, Group, bool]]] = {
    "11450-4": ("condition", "condition", True),
    "11348-0": ("condition", "condition", False),
    "11535-2": ("condition", "condition", False),
    "46241-6": ("condition", "condition", False),
    "48765-2": ("allergy", "allergy", True),
    "10160-0": ("medication", "medication", True),
    "10183-2": ("medication", "medication", False),
    "42346-7": ("medication", "medication", False),
    "29549-3": ("medication", "medication", False),
    "11369-6": ("immunization", "immunization", True),
    "30954-2": ("observation", "lab", True),
    "8716-3": ("observation", "vital", True),
    "46240-8": ("encounter", "encounter", False),
}
#: Kind of a substance's entry → what its time is the time of, and its group.
_SUBSTANCES: Final[dict[Kind, tuple[str, Group]]] = {"medication": ("start", "medication"), "immunization": ("effective", "immunization")}
#: Template of a problem observation, a medication or immunization activity → the kind of entry that it is in any section.
_TEMPLATES: Final[dict[str, Kind]] = {
    "2.16.840.1.113883.10.20.22.4.4": "condition",
    "2.16.840.1.113883.10.20.22.4.19": "condition",
    "2.16.840.1.113883.10.20.22.4.16": "medication",
    "2.16.840.1.113883.10.20.22.4.52": "immunization",
}
#: Observations inside an entry that say something of it, and are none of their own: status, severity, reaction, criticality, age, comment.
_STATUS: Final = "33999-4"
#: Resolved, inactive, in remission: may be left out of a list of problems.
_OVER: Final = frozenset({"413322009", "73425007", "277022003"})
_SEVERITY_CODES: Final = frozenset({"SEV", "82606-5"})
#: Drug or medicament, vaccine: negated, they say that there is none at all.
_ANY_SUBSTANCE: Final = frozenset({"410942007", "71181003"})
_NULL: Final = "nullFlavor"
_DEPTH_MAX: Final = 6
_REFERENCE_LENGTH_MAX: Final = 200
#: Templates of one entry in a section that is not known.
_TEMPLATES_MAX: Final = 100


def read_ccda(root: Any, place: str) -> Record | None:
    """The record of a C-CDA document by its root element; None where it is no ClinicalDocument."""
    if root is None or root.tag != f"{HL7V3}ClinicalDocument":
        return None
    record = Record("ccda", place, "C-CDA")
    role = _child(root, "recordTarget", "patientRole")
    if role is not None:
        record.meet(_patient(role))
    visit = _child(root, "componentOf", "encompassingEncounter")
    if visit is not None:
        _encounter(visit, record)
    scopes: dict[Group, Any] = {}
    for section in root.iter(f"{HL7V3}section"):
        known = _SECTIONS.get(_attribute(_child(section, "code"), "code"))
        if known is None:
            _elsewhere(section, record)
            continue
        kind, group, is_whole = known
        before = len(record.items.get(kind, ()))
        # Paths count siblings, so that what is beyond the bound must not be looked at.
        for number, entry in enumerate(_children(section, "entry")):
            if number > ITEMS_MAX:
                record.cut.add(kind)
                break
            _entry(entry, kind, group, record, is_claimed=is_whole)
        if is_whole:
            has_some = len(record.items.get(kind, ())) > before or scopes.get(group) == "whole"
            # A section of no information says neither that there is something nor that there is nothing.
            scopes[group] = "whole" if has_some else scopes.get(group, "able")
    record.tells(scopes)
    return record


def _elsewhere(section: Any, record: Record) -> None:
    """What other sections hold by template, such as a discharge diagnosis: it may be what the other side tells, and its absence there says nothing."""
    for entry in islice(_children(section, "entry"), ITEMS_MAX):
        for template in islice(entry.iter(f"{HL7V3}templateId"), _TEMPLATES_MAX):
            one = template.getparent()
            kind = _TEMPLATES.get(_attribute(template, "root"))
            if kind == "condition":
                _condition(one, record, is_claimed=False)
            elif kind in {"medication", "immunization"} and kind is not None:
                _substance(one, kind, record, is_claimed=False)


def parse(data: bytes) -> Any | None:
    """The root of a document, read within the bounds of C-CDA's own reader; None where it cannot be read."""
    document = Document(Report(), Context(), Options())
    return document.root if read(data, document) else None


def _child(element: Any, *tags: str) -> Any | None:
    for tag in tags:
        if element is None:
            return None
        element = element.find(f"{HL7V3}{tag}")
    return element


def _children(element: Any, tag: str) -> Iterator[Any]:
    if element is not None:
        yield from element.findall(f"{HL7V3}{tag}")


def _attribute(element: Any, name: str) -> str:
    return "" if element is None else (element.get(name) or "").strip()


def _path(element: Any) -> str:
    """Where an element stands, as the findings of C-CDA say it: indices begin at 1 and stand where an element has siblings of its name."""
    parts: list[str] = []
    while element is not None:
        before = sum(1 for _ in element.itersiblings(element.tag, preceding=True))
        is_alone = before == 0 and next(element.itersiblings(element.tag), None) is None
        parts.append(name_of(element) if is_alone else f"{name_of(element)}[{before + 1}]")
        element = element.getparent()
    return "/".join(reversed(parts))


def _text(element: Any) -> str:
    """An element's text, without its comments."""
    return "" if element is None else " ".join(str(element.xpath("string()")).split())


def _coded(element: Any) -> tuple[tuple[Code, ...], list[object]]:
    """The codes and names of a CD: its own and its translations'."""
    if element is None:
        return (), []
    every = [element, *_children(element, "translation")]
    codes = tuple(code for one in every if (code := code_of(_attribute(one, "codeSystem"), _attribute(one, "code"))) is not None)
    texts: list[object] = [_attribute(one, "displayName") for one in every]
    # The narrative is searched only for what is named nowhere else.
    return codes, texts if any(texts) and codes else [*texts, _original(element)]


def _original(element: Any) -> str:
    """The original text of a code: written out, or where its reference leads in the narrative."""
    original = _child(element, "originalText")
    if original is None:
        return ""
    if text := _text(original):
        return text
    target = _attribute(_child(original, "reference"), "value")
    if not target.startswith("#") or len(target) > _REFERENCE_LENGTH_MAX:
        return ""
    section = next(element.iterancestors(f"{HL7V3}section"), None)
    narrative = None if section is None else _child(section, "text")
    found = [] if narrative is None else narrative.xpath(".//*[@ID=$target]", target=target[1:])
    return _text(found[0]) if found else ""


def _identifiers(element: Any) -> tuple[Identifier, ...]:
    found = []
    for one in _children(element, "id"):
        root, extension = _attribute(one, "root"), _attribute(one, "extension")
        # A root without an extension is the identifier itself.
        told = names.identifier(root, "", extension, _path(one)) if extension else names.identifier("", "", root, _path(one))
        if told is not None:
            found.append(told)
    return tuple(found)


def _patient(role: Any) -> Patient:
    patient = Patient(_path(role))
    patient.identifiers += _identifiers(role)
    person = _child(role, "patient")
    for one in _children(person, "name"):
        given = [_text(part) for part in _children(one, "given") if _attribute(part, "qualifier") != "CL"]
        families = list(_children(one, "family"))
        current = [part for part in families if _attribute(part, "qualifier") != "BR"] or families
        family = " ".join(_text(part) for part in current)
        use = "" if not _attribute(one, "use") else "l" if "L" in _attribute(one, "use").split() else _attribute(one, "use")
        if (found := names.name(family, given, use, _path(one))) is not None:
            patient.names.append(found)
    birth, sex = _child(person, "birthTime"), _child(person, "administrativeGenderCode")
    if birth is not None:
        patient.birth = compact_stamp("birth", _attribute(birth, "value"), _path(birth))
    if sex is not None and (told := sex_of(_attribute(sex, "code") or _attribute(sex, _NULL))):
        patient.sex = Told(told, _path(sex))
    marital = _child(person, "maritalStatusCode")
    if marital is not None and (status := marital_of(_attribute(marital, "code"), is_v2=False)):
        patient.marital = Told(status, _path(marital))
    deceased = None if person is None else person.find("{urn:hl7-org:sdtc}deceasedInd")
    if deceased is not None and _attribute(deceased, "value") in {"true", "false"}:
        patient.dead = Told("dead" if _attribute(deceased, "value") == "true" else "alive", _path(deceased))
    for address in _children(role, "addr"):
        code = _child(address, "postalCode")
        if postal := names.postal_code(_text(code)):
            patient.postal_codes.append(Told(postal, _path(code)))
    return patient


def _entry(entry: Any, kind: Kind, group: Group, record: Record, *, is_claimed: bool) -> None:
    """Add what one entry of a section says."""
    if kind in {"medication", "immunization"}:
        for act in islice(_acts(entry, "substanceAdministration"), ITEMS_MAX):
            _substance(act, kind, record, is_claimed=is_claimed)
    elif kind == "encounter":
        for one in islice(_children(entry, "encounter"), ITEMS_MAX):
            _encounter(one, record)
    else:
        for one in islice(_acts(entry, "observation"), ITEMS_MAX):
            if kind == "condition":
                _condition(one, record, is_claimed=is_claimed)
            elif kind == "allergy":
                _allergy(one, record)
            else:
                _observation(one, group, record)


def _acts(element: Any, tag: str, depth: int = 0) -> Iterator[Any]:
    """The nearest elements of a name inside an entry, through acts and organizers, and not within each other."""
    for child in element:
        if child.tag == f"{HL7V3}{tag}":
            yield child
        elif depth < _DEPTH_MAX and child.tag in {f"{HL7V3}{inner}" for inner in ("act", "organizer", "entryRelationship", "component")}:
            yield from _acts(child, tag, depth + 1)


def _is_negated(element: Any) -> bool:
    return _attribute(element, "negationInd") == "true"


def _condition(one: Any, record: Record, *, is_claimed: bool) -> None:
    codes, texts = _coded(_child(one, "value"))
    if _is_negated(one) or is_none_known(codes, texts):
        if is_claimed:
            record.deny("condition", _path(one))
        return
    times = tuple(_stamps(_child(one, "effectiveTime"), "onset"))
    statuses = [_child(inner, "value") for inner in one.iter(f"{HL7V3}observation") if _attribute(_child(inner, "code"), "code") == _STATUS]
    is_claimed = is_claimed and not any(stamp.role == "end" for stamp in times) and not any(_attribute(status, "code") in _OVER for status in statuses)
    record.add(Item("condition", "condition", _path(one), codes, texts_of(texts), _identifiers(one), times, is_claimed=is_claimed))


def _allergy(one: Any, record: Record) -> None:
    codes: tuple[Code, ...] = ()
    texts: list[object] = []
    for participant in _children(one, "participant"):
        entity = _child(participant, "participantRole", "playingEntity")
        named, told = _coded(_child(entity, "code"))
        label = _child(entity, "name")
        codes, texts = codes + named, [*texts, *told, _text(label)]
    value_codes, value_texts = _coded(_child(one, "value"))
    if _is_negated(one) or is_none_known((*codes, *value_codes), (*texts, *value_texts)):
        # Without a code no allergy at all is known; with one, not that one.
        if not codes or is_none_known((*codes, *value_codes), texts) or _is_any(texts):
            record.deny("allergy", _path(one))
        return
    written = [
        _attribute(_child(inner, "value"), "code") for inner in one.iter(f"{HL7V3}observation") if _attribute(_child(inner, "code"), "code") in _SEVERITY_CODES
    ]
    severity = tuple(severity_of(code) for code in written)
    # A severity between those of FHIR, such as moderate to severe, is one or the other there.
    severity = severity if all(severity) else ()
    times = tuple(_stamps(_child(one, "effectiveTime"), "onset"))
    record.add(Item("allergy", "allergy", _path(one), codes, texts_of(texts), _identifiers(one), times, severity=severity))


def _is_any(texts: list[object]) -> bool:
    """Whether a substance is any at all."""
    return any(isinstance(text, str) and text.casefold().startswith(("allergy", "substance", "drug or medicament")) for text in texts)


def _substance(one: Any, kind: Kind, record: Record, *, is_claimed: bool) -> None:
    material = _child(one, "consumable", "manufacturedProduct", "manufacturedMaterial")
    codes, texts = _coded(_child(material, "code"))
    label = _child(material, "name")
    texts.append(_text(label))
    if _is_negated(one) and not any(code.code in _ANY_SUBSTANCE for code in codes):
        return
    if _is_negated(one) or is_none_known(codes, texts):
        if is_claimed:
            record.deny(kind, _path(one))
        return
    role, group = _SUBSTANCES[kind]
    # A medication's other effectiveTimes tell how often.
    times = list(_stamps(_child(one, "effectiveTime"), role))
    author = _child(one, "author", "time")
    if author is not None and (stamp := compact_stamp("authored", _attribute(author, "value"), _path(author))) is not None and kind == "medication":
        times.append(stamp)
    record.add(
        Item(kind, group, _path(one), codes, texts_of(texts), _identifiers(one), tuple(times), _amounts(_child(one, "doseQuantity")), is_claimed=is_claimed)
    )


def _observation(one: Any, group: Group, record: Record) -> None:
    codes, texts = _coded(_child(one, "code"))
    item = Item("observation", group_of(codes, group), _path(one), codes, texts_of(texts), _identifiers(one))
    item.times = tuple(_stamps(_child(one, "effectiveTime"), "effective"))
    value = _child(one, "value")
    item.amounts = _amounts(value)
    if value is not None and not item.amounts:
        item.answers = _coded(value)[0]
    item.is_claimed = bool(item.amounts)
    record.add(item)


def _amounts(value: Any) -> tuple[Amount, ...]:
    """The amount of a PQ, INT or REAL, or of an interval with one end."""
    if value is None:
        return ()
    if is_number(number := _attribute(value, "value")):
        return (Amount(number, "" if _attribute(value, "unit") == "1" else _attribute(value, "unit"), "", _path(value)),)
    low, high = _child(value, "low"), _child(value, "high")
    ends = [(one, sign) for one, sign in ((low, ">"), (high, "<")) if one is not None and is_number(_attribute(one, "value"))]
    if len(ends) != 1:
        return ()
    one, sign = ends[0]
    sign += "" if _attribute(one, "inclusive") == "false" else "="
    return (Amount(_attribute(one, "value"), _attribute(one, "unit"), sign, _path(one)),)


def _encounter(one: Any, record: Record) -> None:
    times = tuple(_stamps(_child(one, "effectiveTime"), "start"))
    code = class_of(_attribute(_child(one, "code"), "code"))
    if times or code:
        record.add(Item("encounter", "encounter", _path(one), identifiers=_identifiers(one), times=times, status=code, is_claimed=False))


def _stamps(time: Any, role: str) -> Iterator[Stamp]:
    """A point in time, or the ends of an interval."""
    if time is None:
        return
    if (stamp := compact_stamp(role, _attribute(time, "value"), _path(time))) is not None:
        yield stamp
    for tag, of_end in (("low", role), ("high", "end")):
        end = _child(time, tag)
        if end is not None and (stamp := compact_stamp(of_end, _attribute(end, "value"), _path(end))) is not None:
            yield stamp
