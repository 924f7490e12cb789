"""Elements of other FHIR versions, which may be used in R4 as extensions (HL7's package hl7.fhir.xver-extensions, CC0-1.0), made compact."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_FILE = re.compile(r"xver-paths-(\d\.\d)\.json")


def cross_table(folder: Path) -> dict[str, Any]:
    """Return version → element → [modifier, types or null if they are not simple, parts]; null for an element that needs no extension."""
    versions = {}
    for path in sorted((folder / "package" / "other").glob("xver-paths-*.json")):
        named = _FILE.fullmatch(path.name)
        if named is not None:
            listed = json.loads(path.read_text("utf-8"))
            versions[named[1]] = {element: _facts(facts) for element, facts in listed.items() if isinstance(facts, dict)}
    return {"versions": versions}


def _facts(facts: dict[str, Any]) -> list[Any] | None:
    types, parts = facts.get("types"), facts.get("elements")
    if types is None and parts is None:
        return None
    names = sorted({re.sub(r"^!|\(.*", "", one) for one in types or ()})
    is_simple = all("(" not in one or one.lstrip("!").startswith("Reference(") for one in types or ())
    return [int(bool(facts.get("modifier"))), names if is_simple else None, sorted(one.lstrip("!") for one in parts or ())]
