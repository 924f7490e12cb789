"""Extensions that carry an element of another FHIR version (R4: versions.html#extensions), checked against that element's definition."""

from __future__ import annotations

import json
import lzma
import re
from functools import lru_cache
from typing import Any

from touchstone.scorers.clinical.formats.fhir.tables import FOLDER, definitions

_URL = re.compile(r"http://hl7\.org/fhir/(\d\.\d)/StructureDefinition/extension-([A-Za-z]\w{0,80}(?:\.[\w\[\]:]{1,80}){0,20})", re.ASCII)
#: The version before which R4 knows all that there were.
R4 = "4.0"
#: Parts of every element.
_COMMON = frozenset({"id", "extension", "modifierExtension"})


def cross_version(url: str) -> tuple[str | None, dict[str, Any] | None]:
    """Return (fault of the URL, definition) of such an extension; both None if it is not one, or its version is not in the table."""
    named = _URL.fullmatch(url)
    if named is not None and named[1] < R4 and named[1] not in _versions():
        return f"there is no FHIR version {named[1]}", None
    elements = _versions().get(named[1]) if named is not None else None
    if named is None or elements is None:
        return None, None
    path = named[2] if named[2] in elements else f"{named[2]}[x]"
    if path not in elements:
        return f"FHIR {named[1]} has no element that this extension could carry", None
    facts = elements[path]
    if facts is None:
        return f"R4 has what this element of FHIR {named[1]} holds, and needs no extension for it", None
    modifier, _, parts = facts
    inner = {one: _values(elements, f"{path}.{one}") for one in sorted({*parts} - _COMMON)}
    return None, {"contexts": [], "values": _values(elements, path), "modifier": bool(modifier), "parts": {}, "elements": inner}


def _values(elements: dict[str, list[Any] | None], path: str) -> list[str] | None:
    """The types that the value of an element's extension may have; none if it has parts instead, None if they are not known."""
    facts = elements.get(path)
    if facts is None:
        return None
    _, types, parts = facts
    known = definitions()
    # Types that R4 does not have are written in another way.
    values: list[str] | None = types if types is None or all(one in known.primitives or one in known.types for one in types) else None
    return values or ([] if parts else None)


@lru_cache(maxsize=1)
def _versions() -> dict[str, dict[str, list[Any] | None]]:
    with lzma.open(FOLDER / "cross.json.xz") as file:
        table: dict[str, dict[str, list[Any] | None]] = json.load(file)["versions"]
    return table
