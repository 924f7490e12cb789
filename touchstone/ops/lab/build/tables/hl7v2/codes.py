"""The code tables of hl7apy without their prose, misprints and lost zeros, and with the codes that HL7 has published besides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

ELLIPSES = ("...", "…")
#: A row of prose that slipped into a code column.
CODE_CHARACTERS_MAX = 24
#: Entry in a code column of the source → the entries in the standard's chapter. An ellipsis leaves the table open.
MISPRINTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("HL70255", "* (star)"): ("*",),
    ("HL70291", "Octet - stream"): ("Octet-stream",),
    ("HL70301", "L, M, N"): ("L", "M", "N"),
    ("HL70301", "L,M,N"): ("L", "M", "N"),
    ("HL70356", "ISO 2022-199"): ("ISO 2022-1994",),
    ("HL70357", "Errors"): (),
    ("HL70357", "Rejection"): (),
    ("HL70357", "Success"): (),
    ("HL70359", "2 _"): ("2", "..."),
    ("HL70418", "2 _"): ("2", "..."),
}
#: A non-breaking space that was read in the wrong character set.
_SPACES = str.maketrans("", "", "\xa0Â")


def cleaned(codes: tuple[str, ...]) -> tuple[set[str], set[str], bool]:
    """Codes, patterns and whether the source leaves the table open."""
    kept: set[str] = set()
    patterns: set[str] = set()
    is_open = False
    for written in codes:
        code = re.sub(r"\s*\((?:obsolete|deprecated)\)$", "", written.translate(_SPACES).strip())
        span = re.fullmatch(r"([A-Z]*)(\d+)\s*(?:\.\.\.|…|(?<=\s)_)\s*([A-Z]*)(\d+)", code)
        if code.endswith(ELLIPSES) or "<" in code[1:]:
            is_open = True
        elif span:
            kept.update(f"{span[1]}{number:0{len(span[2])}d}" for number in range(int(span[2]), int(span[4]) + 1))
        elif re.search(r"nnn|xxx|zzz", code):
            patterns.add(re.escape(code).replace("nnnn", r"\d{1,4}").replace("xxx", "[A-Z]{3}").replace("zzz", "[A-Za-z0-9_-]{0,17}").replace("sss", "[A-Z]*"))
        elif code and code not in {"null", "<null>"} and len(code) <= CODE_CHARACTERS_MAX and not re.search(r"[a-z] [a-z]", code):
            kept.add(code)
    return kept, patterns, is_open


def code_tables(modules: Mapping[str, Any], published: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Table → its name, its codes with the versions (as bits) that list them, the patterns, and whether it is open.

    `published`: the second source (published.py); its further codes carry the bit after the last version's.
    """
    zeros = (published or {}).get("zeros", {})
    tables: dict[str, Any] = {}
    for bit, module in enumerate(modules.values()):
        for name, (title, codes) in getattr(module, "TABLES", {}).items():
            printed = tuple(code for written in codes for code in MISPRINTS.get((name, written.strip()), (written,)))
            kept, patterns, is_open = cleaned(tuple(zeros.get(name, {}).get(code.strip(), code) for code in printed))
            table = tables.setdefault(name, {"name": title, "codes": {}, "patterns": [], "open": 0})
            table["name"] = title
            table["open"] |= is_open << bit
            table["patterns"] = sorted({*table["patterns"], *patterns})
            for code in kept:
                table["codes"][code] = table["codes"].get(code, 0) | 1 << bit
    for name, codes in (published or {}).get("codes", {}).items():
        tables[name]["codes"] |= {code: 1 << len(modules) for code in codes if "\\" not in code}
        tables[name]["patterns"] = sorted({*tables[name]["patterns"], *(code for code in codes if "\\" in code)})
    return tables
