"""A second source of HL7's code tables: the code systems that HL7 publishes of them for FHIR (CC0-1.0).

`published.json` has the codes that are missing in hl7apy, and those that lost their leading zeros there. It is made from two packages,
which the compile script reads only for that; without them the file is taken as it is.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touchstone.ops.lab.build.tables.fhir.terminology import flatten
from touchstone.ops.lab.build.tables.fhir_package import edition, read_package
from touchstone.ops.lab.build.tables.hl7v2.codes import MISPRINTS, cleaned

FILE = Path(__file__).with_name("published.json")
#: `v2-0203`, and `v2-2.4-0391` if a table was another one in an earlier version.
_TABLE = re.compile(r"v2-(?:[\d.]+-)?(\d{4})")


def published_codes(*packages: Path) -> dict[str, set[str]]:
    """Table (`HL70203`) → its codes, as these packages have them, spans and patterns included."""
    found: dict[str, set[str]] = defaultdict(set)
    for package in packages:
        for system in read_package(package)["CodeSystem"]:
            named = _TABLE.fullmatch(str(system.get("id")))
            if named is not None:
                found[f"HL7{named[1]}"].update(flatten(system.get("concept", []), {}))
    return dict(found)


def without_zeros(codes: set[str], published: set[str]) -> dict[str, str]:
    """Codes that a spreadsheet has taken for numbers: as in the source → as published."""
    by_number: dict[float, list[str]] = defaultdict(list)
    for code in published:
        if re.fullmatch(r"\d+(?:\.\d+)?", code, re.ASCII):
            by_number[float(code)].append(code)
    lost = {code: by_number.get(float(code), []) for code in codes - published if re.fullmatch(r"\d+", code, re.ASCII)}
    return {code: meant[0] for code, meant in sorted(lost.items()) if len(meant) == 1}


def second_source(core: Path, terminology: Path, tables: Mapping[str, Any]) -> dict[str, Any]:
    """The content of the file: `edition`, `zeros` (table → code in hl7apy → right code) and `codes` (table → codes that are missing in hl7apy).

    `tables`: the code tables as hl7apy alone gives them.
    """
    zeros: dict[str, dict[str, str]] = {}
    more: dict[str, list[str]] = {}
    for table, codes in sorted(published_codes(core, terminology).items()):
        if table not in tables:
            continue
        known = set(tables[table]["codes"])
        lost = without_zeros(known, codes)
        kept, patterns, _ = cleaned(tuple(sorted(code for code in codes if " or " not in code and (table, code) not in MISPRINTS)))
        added = sorted((kept | patterns) - known - set(tables[table]["patterns"]) - set(lost.values()))
        if lost:
            zeros[table] = lost
        if added:
            more[table] = added
    return {"edition": f"HL7 Terminology {edition(terminology)}", "zeros": zeros, "codes": more}


def read_published() -> dict[str, Any]:
    """The file beside this module."""
    found: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return found


def write_published(content: dict[str, Any]) -> None:
    """Write the file."""
    FILE.write_text(json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
