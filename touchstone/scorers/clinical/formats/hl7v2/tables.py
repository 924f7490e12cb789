"""HL7's own tables, per version: segments, data types, grammars and codes.

Compiled from hl7apy's tables and HL7's published code systems by `python -m touchstone.ops.lab build tables hl7v2` (licence: tables/NOTICE) and read once per
version, on first use. The source carries no field lengths; the lengths that are checked are those of the primitive data types (chapter 2A up to version 2.6).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

import orjson

VERSIONS = ("2.1", "2.2", "2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6", "2.7", "2.8", "2.8.1", "2.8.2")
#: Published versions that the source does not have → the version whose tables are used.
VERSIONS_MORE = {"2.0": "2.1", "2.0D": "2.1", "2.3.2": "2.3.1", "2.7.1": "2.7", "2.9": "2.8.2", "2.9.1": "2.8.2"}
#: The version of a message without a usable MSH-12.
VERSION_DEFAULT = "2.5.1"


class Element(NamedTuple):
    """A field of a segment or a component of a data type. `most`: -1 for no limit."""

    position: int
    datatype: str
    least: int
    most: int
    table: str | None
    name: str

    @property
    def title(self) -> str:
        """The element's name in words."""
        return self.name.replace("_", " ").strip().capitalize()


@dataclass(frozen=True, slots=True)
class CodeTable:
    """One HL7 code table.

    `codes`: code → the versions that list it, as bits; the bit after the last version's means HL7's published code systems. `open_in`: the versions
    that leave the table open, as bits.
    """

    number: str
    name: str
    codes: Mapping[str, int]
    patterns: tuple[re.Pattern[str], ...]
    open_in: int

    def matches(self, code: str) -> bool:
        """True if some version lists the code, itself or by a pattern such as HL7nnnn."""
        return code in self.codes or any(pattern.fullmatch(code) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Version:
    """The tables of one HL7 version. `number`: the version as numbers that compare; `bit`: its bit in the code tables."""

    name: str
    number: tuple[int, ...]
    bit: int
    segments: Mapping[str, tuple[Element, ...]]
    datatypes: Mapping[str, tuple[Element, ...]]
    groups: Mapping[str, Any]
    messages: Mapping[str, Any]
    listed: dict[str, frozenset[str] | None] = field(default_factory=dict)

    def codes(self, table: str | None) -> frozenset[str] | None:
        """The codes that this version lists in a table; None if it lists none or leaves the table open, so that membership is not checked."""
        if table is None:
            return None
        if table not in self.listed:
            known = code_tables().get(table)
            mask = 1 << self.bit
            closed = known is not None and not known.open_in & mask
            codes = frozenset(code for code, versions in known.codes.items() if versions & mask) if known is not None and closed else frozenset()
            self.listed[table] = codes or None
        return self.listed[table]


def _read(name: str) -> Any:
    """One compressed table of this package."""
    return orjson.loads(zlib.decompress(resources.files(__package__).joinpath("tables", name).read_bytes()))


@lru_cache(maxsize=1)
def _shared() -> Any:
    return _read("codes.json.z")


@lru_cache(maxsize=1)
def code_tables() -> Mapping[str, CodeTable]:
    """All code tables, by their HL7 number (`HL70001`)."""
    return {
        number: CodeTable(number, table["name"], table["codes"], tuple(re.compile(p, re.ASCII) for p in table["patterns"]), table["open"])
        for number, table in _shared()["tables"].items()
    }


def edition() -> str:
    """How new the tables are: the last HL7 version, and the days of the published code systems."""
    return f"HL7 {VERSIONS[-1]} and {_shared()['edition']}"


@lru_cache(maxsize=1)
def structures_of_events() -> Mapping[str, list[str]]:
    """`ADT_A04` → the structures that event uses, the newest first."""
    events: Mapping[str, list[str]] = _shared()["events"]
    return events


def _elements(rows: list[list[Any]], *, numbered: bool) -> tuple[Element, ...]:
    if numbered:
        return tuple(Element(*row) for row in rows)
    return tuple(Element(position, *row) for position, row in enumerate(rows, start=1))


@lru_cache(maxsize=len(VERSIONS))
def load(name: str) -> Version:
    """One version's tables. Raises KeyError for one that is not in VERSIONS."""
    if name not in VERSIONS:
        raise KeyError(name)
    content = _read(f"v{name}.json.z")
    return Version(
        name=name,
        number=tuple(int(part) for part in name.split(".")),
        bit=VERSIONS.index(name),
        segments={segment: _elements(rows, numbered=True) for segment, rows in content["segments"].items()},
        datatypes={datatype: _elements(rows, numbered=False) for datatype, rows in content["datatypes"].items()},
        groups=content["groups"],
        messages=content["messages"],
    )


def nearest(written: str) -> str:
    """The version whose tables are used for a declared version: itself, its longest known prefix, the newest, or the default."""
    if written in VERSIONS:
        return written
    if written in VERSIONS_MORE:
        return VERSIONS_MORE[written]
    prefixes = [version for version in VERSIONS if written.startswith(version) and not written[len(version) :][:1].isdigit()]
    if prefixes:
        return max(prefixes, key=len)
    return VERSIONS[-1] if re.fullmatch(r"2\.(9|[1-9]\d)(\.\d+)?", written, re.ASCII) else VERSION_DEFAULT
