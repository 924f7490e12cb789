"""Patterns of whole fields, which most fields match, so that each costs one call of `re`.

A pattern accepts only values in which `value_checks.py` would find nothing; any other value is checked part by part. So a pattern may be too strict,
and never too lax (a test compares the two).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from touchstone.scorers.clinical.formats.hl7v2.code_membership import CODED, GROWING, OID, coding_system_pattern
from touchstone.scorers.clinical.formats.hl7v2.primitives import ANY, LENGTHS_END, NULL, PRIMITIVES, TEXT_CHARACTER, text_pattern, trie
from touchstone.scorers.clinical.formats.hl7v2.tables import Element, Version, code_tables, load

LEVELS = ("^", "&")
#: A mark among the components of a field: it is given more than once.
REPEATED = 0
LEARNT_REPETITIONS_MAX = 10
#: Empty fields after the last that is not empty.
TRAILING_MAX = 100
UNSTRUCTURED = frozenset({"varies", "CM", "*"})
#: The coding systems of nearly all codes. The pattern of a whole segment has only these, to stay small; others are checked part by part.
SYSTEMS_COMMON = frozenset({"LN", "SCT", "L", "UCUM", "I9C", "I10", "I10C", "CDCREC", "ISO+", "99USI", "C4", "CVX", "RXNORM", "NDC", "PLT", "PHINQUESTION"})


class Place(NamedTuple):
    """The surroundings of a field's pattern: what follows the field, the coding systems that it accepts, and its components (none: all of them)."""

    end: str
    systems: str
    parts: frozenset[int] = frozenset()


ALONE = Place(r"\Z", "")
WITHIN_SEGMENT = Place(r"(?:\||\Z)", f"(?:{OID.pattern}|99[A-Za-z0-9_-]{{0,17}}|HL7\\d{{1,4}}|{trie(SYSTEMS_COMMON)})")


def codes_accepted(version: Version, table: str | None, datatype: str) -> frozenset[str] | None:
    """The codes for which an element has no finding; None if membership is not checked."""
    if table is None or datatype != "ID":
        return None
    codes = version.codes(table)
    if codes is not None and table in GROWING:
        return frozenset(code_tables()[table].codes)
    return codes


def _primitive(version: Version, datatype: str, table: str | None) -> str:
    """The pattern of a primitive value that is not empty."""
    primitive = PRIMITIVES.get(datatype)
    if primitive is None:
        return text_pattern(None)
    codes = codes_accepted(version, table, datatype)
    if codes is not None:
        return f"(?>{NULL}|{trie(codes)})"
    if primitive.pattern is None:
        length = primitive.length_max if version.number < LENGTHS_END else None
        return text_pattern(length)
    return f"(?>{primitive.pattern}|{NULL})"


def _component(version: Version, element: Element, level: int, place: Place) -> str:
    if element.table == "HL70396":
        return f"(?>{place.systems or coding_system_pattern()})"
    return _value(version, element.datatype, element.table, level, place)


def _value(version: Version, datatype: str, table: str | None, level: int, place: Place) -> str:
    """The pattern of a value at a level: 0 is a repetition, 1 a component, 2 a subcomponent."""
    components = version.datatypes.get(datatype)
    if components is None:
        return ANY if datatype in UNSTRUCTURED and level == 0 else _primitive(version, datatype, table)
    if level >= len(LEVELS):
        return text_pattern(None)
    separator = re.escape(LEVELS[level])
    required = max((element.position for element in components if element.least), default=0)
    whole = ""
    for element in reversed(components[: max(required, *place.parts)] if place.parts and level == 0 else components):
        is_used = level > 0 or not place.parts or element.position in place.parts
        made = _component(version, element, level + 1, place) if is_used else ""
        made = f"(?=[^\\^~&|]){made}" if element.least else f"(?:{made})?+" if made else ""
        tail = f"{separator}{whole}" if element.position < required else f"(?:{separator}{whole})?+"
        whole = made + tail if whole or element.position < len(components) else made
    return whole


def _guard(version: Version, datatype: str, table: str | None, place: Place) -> str:
    """A look-ahead for a coded value: an identifier has a coding system, or is a code of the field's table."""
    if datatype not in CODED:
        return ""
    no_text = TEXT_CHARACTER.replace("[^", "[^\\n", 1)
    codes = version.codes(table)
    system = rf"{no_text}++\^{no_text}*+\^(?!HL7){no_text}" if codes is not None else rf"{no_text}++\^{no_text}*+\^{no_text}"
    bare = rf"|(?:{trie(codes)})(?=[\^~]|{place.end})" if codes else ""
    return rf"(?=\^|~|{place.end}|{system}{bare})"


def _repetition(version: Version, datatype: str, table: str | None, place: Place) -> str:
    return f"(?>{NULL}(?=~|{place.end})|{_guard(version, datatype, table, place)}{_value(version, datatype, table, 0, place)})"


def _field(version: Version, element: Element, parts: frozenset[int], value_type: str) -> str:
    """The pattern of a field within its segment; it may match nothing. `value_type`: the type of a field of varying type, if known."""
    if element.datatype == "varies":
        if not value_type:
            return "[^|]*+"
        element = element._replace(datatype=value_type, table=None, most=-1)
    repetition = _repetition(version, element.datatype, element.table, WITHIN_SEGMENT._replace(parts=parts - {REPEATED}))
    return f"(?:{repetition})?+" + (f"(?:~(?:{repetition})?+)*+" if element.most != 1 and REPEATED in parts else "")


def segment_pattern(version: Version, name: str, used: Mapping[int, frozenset[int]], required: frozenset[int], value_type: str = "") -> re.Pattern[str]:
    """The pattern of a whole segment with its delimiters, in which only the `used` fields and components may hold something. Use with fullmatch.

    `used`: field → components, with REPEATED if the field was given more than once. `value_type`: the type that OBX-2 names, which OBX-5 must match.
    """
    elements = {element.position: element for element in version.segments[name]}
    first = 3 if name == "MSH" else 1  # MSH-1 is the separator itself, and MSH-2 was read by the lexer
    whole = rf"\|{{0,{TRAILING_MAX}}}+"
    for position in range(max(used.keys() | required), first - 1, -1):
        value = _field(version, elements[position], used[position], value_type) if position in used else ""
        field = rf"\|(?=[^|]){value}{whole}" if position in required else rf"\|{value}{whole}"
        whole = field if any(position <= later for later in required) else f"(?:{field})?+"
    return re.compile((r"MSH\|[^|]*+" if name == "MSH" else name) + whole, re.ASCII)


def parts_of(value: str) -> frozenset[int]:
    """The components of a field that are not empty, with REPEATED if there is more than one repetition."""
    repetitions = value.split("~", LEARNT_REPETITIONS_MAX)[:LEARNT_REPETITIONS_MAX]
    found = {position for repetition in repetitions for position, part in enumerate(repetition.split("^"), start=1) if part}
    return frozenset(found | {REPEATED} if "~" in value else found)


@lru_cache(maxsize=8_192)
def compiled(version_name: str, datatype: str, table: str | None, *, repeats: bool) -> re.Pattern[str]:
    """The pattern of a field of this data type, bound to this table. Use with fullmatch."""
    version = load(version_name)
    repetition = _repetition(version, datatype, table, ALONE)
    # A loop in `re` ends at a pass that matches nothing, so an empty first repetition begins at the ~ that follows it.
    return re.compile(rf"(?:(?:\A(?!~)|~){repetition})*+" if repeats else repetition, re.ASCII)


@lru_cache(maxsize=8_192)
def component_accepts(version_name: str, datatype: str, table: str | None, level: int) -> Callable[[str], object]:
    """A function that accepts a well-formed component (level 1) or subcomponent (level 2) that is not empty."""
    return re.compile(_component(load(version_name), Element(1, datatype, 0, 1, table, ""), level, ALONE), re.ASCII).fullmatch
