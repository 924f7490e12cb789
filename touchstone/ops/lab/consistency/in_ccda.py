"""Changes of the C-CDA side of a pair, in its parsed tree. A fact is changed only if the Bundle's text has it, too."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from touchstone.ops.lab.consistency.changes import EQUAL_UNITS, Chance, Change, fresh, has_number, moved_in_zone, plain_number, shifted_day
from touchstone.scorers.clinical.consistency.ccda_elements import HL7V3
from touchstone.scorers.clinical.consistency.ccda_record import parse

#: LOINC code of a section → kind, and the path from an entry to the element with the code.
CODED: Final = {
    "11450-4": ("condition", "{0}act/{0}entryRelationship/{0}observation", "{0}value"),
    "48765-2": ("allergy", "{0}act/{0}entryRelationship/{0}observation", "{0}participant/{0}participantRole/{0}playingEntity/{0}code"),
    "10160-0": ("medication", "{0}substanceAdministration", "{0}consumable/{0}manufacturedProduct/{0}manufacturedMaterial/{0}code"),
    "11369-6": ("immunization", "{0}substanceAdministration", "{0}consumable/{0}manufacturedProduct/{0}manufacturedMaterial/{0}code"),
    "30954-2": ("observation", "{0}organizer/{0}component/{0}observation", "{0}code"),
    "8716-3": ("observation", "{0}organizer/{0}component/{0}observation", "{0}code"),
}


def changes(content: bytes, other: str, chance: Chance) -> Iterator[Change]:
    """Every change of a document whose counterpart is `other`, the text of the Bundle."""
    root = parse(content)
    if root is None:
        return
    yield from _of_patient(root, other, chance)
    for section in root.iter(f"{HL7V3}section"):
        code = section.find(f"{HL7V3}code")
        known = CODED.get(code.get("code", "")) if code is not None else None
        if known is not None:
            yield from _of_section(root, section, known, other, chance)
    yield Change("written anew", as_bytes(root), None)


def as_bytes(root: Any) -> bytes:
    """The document of a tree."""
    from lxml import etree

    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8"))


def _twin(root: Any, element: Any) -> tuple[Any, Any]:
    """A copy of the document, and the same element in it."""
    path = element.getroottree().getpath(element)
    copied = copy.deepcopy(root)
    return copied, copied.getroottree().xpath(path)[0]


def _set(root: Any, element: Any, **values: str) -> bytes:
    copied, twin = _twin(root, element)
    for name, value in values.items():
        twin.set(name, value)
    return as_bytes(copied)


def _of_patient(root: Any, other: str, chance: Chance) -> Iterator[Change]:
    role = root.find(f"{HL7V3}recordTarget/{HL7V3}patientRole")
    birth, sex = (role.find(f"{HL7V3}patient/{HL7V3}{name}") for name in ("birthTime", "administrativeGenderCode"))
    written = birth.get("value", "") if birth is not None else ""
    if re.match(r"\d{8}", written) and f"{written[:4]}-{written[4:6]}-{written[6:8]}" in other:
        changed = shifted_day(written[:8], chance.dice.choice((1, 31, 366))) + written[8:]
        yield Change("birth date", _set(root, birth, value=changed), ("patient.birth-date", "patient.other"))
    if sex is not None and sex.get("code") in {"M", "F"}:
        yield Change("sex", _set(root, sex, code="F" if sex.get("code") == "M" else "M"), ("patient.sex",))
    family = role.find(f"{HL7V3}patient/{HL7V3}name/{HL7V3}family")
    if family is not None and family.text and family.text in other:
        copied, twin = _twin(root, family)
        twin.text = f"Q{family.text[1:]}oke"
        yield Change("name", as_bytes(copied), ("patient.name", "patient.other"))
        copied, twin = _twin(root, family)
        twin.text = family.text.upper()
        yield Change("name in another case", as_bytes(copied), None)
    for identifier in role.findall(f"{HL7V3}id")[:1]:
        value = identifier.get("extension", "")
        if len(value) > 3 and f'"{value}"' in other:
            yield Change("identifier", _set(root, identifier, extension=chance.other_code(value)), ("patient.identifier",))


def _of_section(root: Any, section: Any, known: tuple[str, str, str], other: str, chance: Chance) -> Iterator[Change]:
    kind, at_statement, at_code = known
    statements = [
        (statement, code)
        for statement in section.findall(f"{HL7V3}entry/{at_statement.format(HL7V3)}")
        if (code := statement.find(at_code.format(HL7V3))) is not None and statement.get("negationInd") != "true"
    ]
    codes = Counter(code.get("code") for _, code in statements)
    for number, (statement, code) in enumerate(statements):
        written = code.get("code", "")
        if not written or f'"{written}"' not in other or codes[written] > 1:
            continue
        value = statement.find(f"{HL7V3}value")
        is_number = kind != "observation" or _has_number(value, other)
        if is_number:
            changed = chance.other_code(written)
            if not code.findall(f"{HL7V3}translation"):
                yield Change("code", _set(root, code, code=changed), (f"{kind}.",))
            yield from _dropped_and_invented(root, statement, code, kind, number)
            if kind == "observation":
                yield from _of_value(root, value, chance)
        yield from _of_time(root, statement, kind, other, chance)


def _dropped_and_invented(root: Any, statement: Any, code: Any, kind: str, number: int) -> Iterator[Change]:
    outer = statement
    while outer.getparent().tag not in {f"{HL7V3}entry", f"{HL7V3}organizer"}:
        outer = outer.getparent()
    holder = outer.getparent() if outer.getparent().tag == f"{HL7V3}entry" else outer
    copied, twin = _twin(root, holder)
    twin.getparent().remove(twin)
    yield Change("dropped entry", as_bytes(copied), (f"{kind}.",))
    copied, twin = _twin(root, holder)
    made = copy.deepcopy(twin)
    path = code.getroottree().getpath(code)[len(holder.getroottree().getpath(holder)) :]
    twin.addnext(made)
    renamed = made.xpath(f".{path}")[0] if path else made
    for inner in renamed.findall(f"{HL7V3}translation"):
        renamed.remove(inner)
    renamed.set("code", next(fresh(number)))
    renamed.set("displayName", "Something else entirely")
    for gone in [*made.iter(f"{HL7V3}id"), *made.iter(f"{HL7V3}name")]:
        gone.getparent().remove(gone)
    yield Change("invented entry", as_bytes(copied), (f"{kind}.missing",))


def _has_number(value: Any, other: str) -> bool:
    written = value.get("value", "") if value is not None else ""
    if re.fullmatch(r"-?\d+(\.\d+)?", written) is None:
        return False
    return has_number(other, written)


def _of_value(root: Any, value: Any, chance: Chance) -> Iterator[Change]:
    written, unit = value.get("value"), value.get("unit", "")
    yield Change("value", _set(root, value, value=chance.other_number(written)), ("observation.value",))
    if unit in EQUAL_UNITS:
        equal, factor = EQUAL_UNITS[unit]
        yield Change("value in another unit", _set(root, value, value=plain_number(float(written) * factor), unit=equal), None)


def _of_time(root: Any, statement: Any, kind: str, other: str, chance: Chance) -> Iterator[Change]:
    if kind == "medication":
        return
    time = statement.find(f"{HL7V3}effectiveTime")
    time = time if time is None or time.get("value") else time.find(f"{HL7V3}low")
    written = time.get("value", "") if time is not None else ""
    if not re.match(r"\d{8}", written):
        return
    moved = moved_in_zone(written, other, chance)
    if moved == "":
        return
    if moved is not None:
        yield Change("time in another zone", _set(root, time, value=moved), None)
    elif f"{written[:4]}-{written[4:6]}-{written[6:8]}" not in other:
        return
    yield Change("time", _set(root, time, value=shifted_day(written[:8], chance.dice.choice((2, 30, 365))) + written[8:]), (f"{kind}.",))
