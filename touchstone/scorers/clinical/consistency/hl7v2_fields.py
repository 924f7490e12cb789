"""Fields of HL7 v2 segments as they compare across formats: codes, times, identifiers, amounts, and the patient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from touchstone.scorers.clinical.consistency import identifiers, person_names
from touchstone.scorers.clinical.consistency.amounts import amount_of_text, comparator_of, is_number
from touchstone.scorers.clinical.consistency.code_maps import marital_of, sex_of
from touchstone.scorers.clinical.consistency.code_systems import code_of
from touchstone.scorers.clinical.consistency.record import Amount, Code, Identifier, Name, Pair, Patient, PlacedValue, Stamp
from touchstone.scorers.clinical.consistency.stamps import compact_stamp
from touchstone.scorers.clinical.formats.hl7v2.escapes import unescape
from touchstone.scorers.clinical.formats.hl7v2.identities import repetitions_of
from touchstone.scorers.clinical.formats.hl7v2.lexer import Segment, part

_NULL: Final = '""'
#: Separator in SN.3 → the kind of its two numbers.
_PAIRS: Final = {"-": "range", ":": "ratio", "/": "ratio"}


def repetitions(segment: Segment, position: int) -> list[tuple[str, str]]:
    """(path after the segment, text) of each repetition that is not empty."""
    return repetitions_of(segment.field(position), f"-{position}")


def component_of(text: str, component: int) -> str:
    """A component of a field, unescaped."""
    value = unescape(part(text, "^", component)).strip()
    return "" if value == _NULL else value


def first_of(segment: Segment, position: int) -> str:
    """The first component of a field, unescaped."""
    value = unescape(segment.component(position, 1)).strip()
    return "" if value == _NULL else value


def coded_of(text: str) -> tuple[tuple[Code, ...], list[object]]:
    """The codes and names of a CE, CNE or CWE."""
    pairs = ((1, 3), (4, 6), (10, 12))
    codes = tuple(code for at_code, at_system in pairs if (code := code_of(component_of(text, at_system), component_of(text, at_code))) is not None)
    return codes, [component_of(text, number) for number in (2, 5, 9, 11)]


def stamps_of(segment: Segment, path: str, fields: tuple[tuple[int, str], ...]) -> Iterator[Stamp]:
    """The times of a segment by (field, role)."""
    for position, role in fields:
        if (stamp := compact_stamp(role, first_of(segment, position), f"{path}-{position}")) is not None:
            yield stamp


def identifier_of(text: str, path: str, kind: str = "") -> Identifier | None:
    """The identifier of a CX."""
    authority = part(text, "^", 4)
    universal = part(authority, "&", 2)
    # A universal id that is neither OID nor URL is as local as a namespace, and converters then take the namespace.
    system = universal if part(authority, "&", 3).upper() in {"ISO", "URI"} and universal else part(authority, "&", 1) or universal
    return identifiers.identifier(unescape(system), component_of(text, 5) or kind, component_of(text, 1), path)


def patient_of(segment: Segment, path: str) -> Patient:
    """The patient of a PID."""
    patient = Patient(path)
    patient.names += _names(segment, path)
    for position, kind in ((3, ""), (2, ""), (4, ""), (19, "SS")):
        found = (identifier_of(text, f"{path}{at}", kind) for at, text in repetitions(segment, position))
        patient.identifiers += (one for one in found if one is not None)
    patient.birth = compact_stamp("birth", first_of(segment, 7), f"{path}-7")
    if sex := sex_of(first_of(segment, 8)):
        patient.sex = PlacedValue(sex, f"{path}-8")
    if marital := marital_of(first_of(segment, 16), is_v2=True):
        patient.marital = PlacedValue(marital, f"{path}-16")
    died = first_of(segment, 30).upper()
    if died in {"Y", "N"} or first_of(segment, 29):
        patient.dead = PlacedValue("alive" if died == "N" else "dead", f"{path}-{30 if died else 29}")
    for at, text in repetitions(segment, 11):
        if code := component_of(text, 5):
            patient.postal_codes.append(PlacedValue(identifiers.postal_code(code), f"{path}{at}"))
    patient.phones += _phones(segment, path)
    return patient


def _names(segment: Segment, path: str) -> Iterator[Name]:
    """The names in PID-5, and the aliases in PID-9."""
    for position in (5, 9):
        for at, text in repetitions(segment, position):
            given = [component_of(text, 2), component_of(text, 3)]
            use = component_of(text, 7) if position == 5 else "alias"
            if (found := person_names.name(unescape(part(part(text, "^", 1), "&", 1)), given, use, f"{path}{at}")) is not None:
                yield found


def _phones(segment: Segment, path: str) -> Iterator[PlacedValue]:
    for position in (13, 14, 40):
        for at, text in repetitions(segment, position):
            if number := _phone(text):
                yield PlacedValue(number, f"{path}{at}")


def _phone(text: str) -> str:
    """The number of an XTN: its area and number, its one text, or its unformatted number."""
    if component_of(text, 3).upper() in {"INTERNET", "FX", "MD"}:
        return ""
    parts = identifiers.phone(component_of(text, 6) + component_of(text, 7)) if component_of(text, 7) else ""
    return parts or identifiers.phone(component_of(text, 1)) or identifiers.phone(component_of(text, 12))


def amounts_of(number: str, unit: str, path: str, comparator: str = "") -> tuple[Amount, ...]:
    """A number with its unit; empty if the text is no number."""
    return (Amount(number, unit, comparator, path),) if is_number(number) else ()


def unit_of(segment: Segment, position: int) -> str:
    """A unit's code; its name if the code is a number."""
    code = first_of(segment, position)
    return code if code and not code.isdecimal() else unescape(segment.component(position, 2)).strip()


def value_of(text: str, kind: str, unit: str, path: str) -> tuple[Amount, ...]:
    """The amount of an NM, an SN, or a number in a text such as `<0.01`."""
    if kind == "SN":
        # A ratio or an interval is not one number.
        return () if component_of(text, 3) else amounts_of(component_of(text, 2), unit, path, comparator_of(component_of(text, 1)))
    found = amount_of_text(unescape(text), path, unit)
    if found is not None:
        return (found,)
    plain = unescape(text).strip()
    bare = plain.lstrip("<>=≤≥ ")
    return amounts_of(bare, unit, path, comparator_of(plain[: len(plain) - len(bare)]))


def pair_of(text: str, unit: str, path: str) -> Pair | None:
    """The range or ratio of an SN."""
    kind = _PAIRS.get(component_of(text, 3))
    first, second = (amounts_of(component_of(text, number), unit, path) for number in (2, 4))
    return Pair("range" if kind == "range" else "ratio", first[0], second[0]) if kind and first and second else None
