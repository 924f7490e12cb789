"""The primitive data types and their patterns (chapter 2A).

Each pattern is used twice: as part of the pattern of a whole field, and alone to say which part of a field is wrong.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TEXT_CHARACTER = r"[^|^~\\&\x00-\x1f\x7f]"
#: Any structure within one repetition: for `varies`, and for CM of 2.1, which has no components in the tables.
ANY = r"[^|~\\\x00-\x1f\x7f]*+"
NULL = '""'
_DAY = r"(?:(?:0[1-9]|1[0-2])(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])(?:29|30)|(?:0[13578]|1[02])31)"
#: Leap days: of years that 4 divides, except centuries that 400 does not divide.
_LEAP = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)0229"
_DATE = rf"(?:\d{{4}}{_DAY}|{_LEAP})"
_CLOCK = r"(?:[01]\d|2[0-3])(?:[0-5]\d(?:[0-5]\d(?:\.\d{1,4})?)?)?"
_OFFSET = r"(?:[+-](?:0\d|1[0-4])[0-5]\d)"
_MONTH = r"\d{4}(?:0[1-9]|1[0-2])"


class Primitive(NamedTuple):
    """A primitive data type: its pattern (None: any text), its form in words, and its length if it has one."""

    pattern: str | None
    form: str
    length_max: int | None = None


DT = Primitive(rf"(?:{_DATE}|{_MONTH}|\d{{4}})", "a date (YYYY[MM[DD]])")
DTM = Primitive(rf"(?:{_DATE}(?:{_CLOCK})?|{_MONTH}|\d{{4}}){_OFFSET}?", "a time stamp (YYYY[MM[DD[HH[MM[SS[.S[S[S[S]]]]]]]]][+/-ZZZZ])")
PRIMITIVES: dict[str, Primitive] = {
    "ST": Primitive(None, "text", 199),
    "TX": Primitive(None, "text", 65_536),
    "FT": Primitive(None, "text", 65_536),
    "GTS": Primitive(None, "a timing", 199),
    "TN": Primitive(None, "a telephone number", 199),
    "ID": Primitive(None, "a code"),
    "IS": Primitive(None, "a code", 20),
    "NM": Primitive(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)", "a number"),
    "SI": Primitive(r"\d{1,4}", "a sequence number (0 to 9999)"),
    "DT": DT,
    "TM": Primitive(rf"{_CLOCK}{_OFFSET}?", "a time (HH[MM[SS[.S[S[S[S]]]]]][+/-ZZZZ])"),
    "DTM": DTM,
    "TSCOMPONENT": DTM,
}
#: From 2.7 on, lengths are conformance lengths and no longer limits.
LENGTHS_END = (2, 7)


def text_pattern(length_max: int | None) -> str:
    """Text without delimiters, escapes or control characters."""
    return f"{TEXT_CHARACTER}*+" if length_max is None else f"{TEXT_CHARACTER}{{0,{length_max}}}+"


def trie(words: frozenset[str]) -> str:
    """A pattern of exactly these words that reads each letter once."""
    tree: dict[str, dict] = {}  # type: ignore[type-arg]
    for word in words:
        node = tree
        for letter in word:
            node = node.setdefault(letter, {})
        node[""] = {}

    def branch(node: dict) -> str:  # type: ignore[type-arg]
        ends = "" in node
        branches = [re.escape(letter) + branch(below) for letter, below in sorted(node.items()) if letter]
        if not branches:
            return ""
        joined = branches[0] if len(branches) == 1 and not ends else f"(?:{'|'.join(branches)})"
        return f"{joined}?" if ends else joined

    return branch(tree)
