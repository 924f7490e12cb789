"""Whole-field patterns: what most fields of most messages match, so that they cost one call of `re` each.

A pattern accepts only values in which the careful check (`fields.py`) would find nothing; what it does not accept is looked at
carefully. So a pattern may be too strict, never too lax (a test holds the two against each other).
"""

from __future__ import annotations

import re
from functools import lru_cache

from scorers.clinical.formats.hl7v2.coded import CODED, coding_system_pattern, growing
from scorers.clinical.formats.hl7v2.primitives import ANY, LENGTHS_END, NULL, PRIMITIVES, TEXT_CHARACTER, text_pattern, trie
from scorers.clinical.formats.hl7v2.tables import Element, Version, code_tables, load

LEVELS = ("^", "&")
UNSTRUCTURED = frozenset({"varies", "CM", "*"})


def codes_accepted(version: Version, table: str | None, datatype: str) -> frozenset[str] | None:
    """The codes an element may hold without a word; None where membership is not checked."""
    if table is None or datatype != "ID":
        return None
    codes = version.codes(table)
    if codes is not None and growing(table):
        return frozenset(code_tables()[table].codes)
    return codes


def _primitive(version: Version, datatype: str, table: str | None) -> str:
    """The pattern of a primitive that is not empty."""
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


def _component(version: Version, element: Element, level: int) -> str:
    if element.table == "HL70396":
        return f"(?>{coding_system_pattern()})"
    return _value(version, element.datatype, element.table, level)


def _value(version: Version, datatype: str, table: str | None, level: int) -> str:
    """The pattern of a value of a data type at a level: 0 is a repetition, 1 a component, 2 a subcomponent."""
    components = version.datatypes.get(datatype)
    if components is None:
        return ANY if datatype in UNSTRUCTURED and level == 0 else _primitive(version, datatype, table)
    if level >= len(LEVELS):
        return text_pattern(None)
    separator = re.escape(LEVELS[level])
    required = max((element.position for element in components if element.least), default=0)
    whole = ""
    for element in reversed(components):
        made = _component(version, element, level + 1)
        made = f"(?=[^\\^~&]){made}" if element.least else f"(?:{made})?+"
        tail = f"{separator}{whole}" if element.position < required else f"(?:{separator}{whole})?+"
        whole = made if element.position == len(components) else made + tail
    return whole


def _guard(version: Version, datatype: str, table: str | None) -> str:
    """What a coded value must look like at a glance: a coding system where there is an identifier, or a code of the field's table."""
    if datatype not in CODED:
        return ""
    no_text = TEXT_CHARACTER.replace("[^", "[^\\n", 1)
    codes = version.codes(table)
    system = rf"{no_text}++\^{no_text}*+\^(?!HL7){no_text}" if codes is not None else rf"{no_text}++\^{no_text}*+\^{no_text}"
    bare = rf"|(?:{trie(codes)})(?=[\^~]|\Z)" if codes else ""
    return rf"(?=\^|~|\Z|{system}{bare})"


@lru_cache(maxsize=8_192)
def compiled(version_name: str, datatype: str, table: str | None, *, repeats: bool) -> re.Pattern[str]:
    """The pattern of a field of this data type, bound to this table; use with fullmatch."""
    version = load(version_name)
    repetition = f"(?>{NULL}(?=~|\\Z)|{_guard(version, datatype, table)}{_value(version, datatype, table, 0)})"
    # A pass of the loop that matches nothing ends it: an empty first repetition is begun by the ~ that follows it.
    return re.compile(rf"(?:(?:\A(?!~)|~){repetition})*+" if repeats else repetition)
