"""The ICD-10-CM table: every code of the CMS edition that the simple-icd-10-cm package ships (MIT; the codes are US government work)."""

from __future__ import annotations

import lzma
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Final

#: Letter, digit, digit or letter; then up to four more. Chapters ("1") and blocks ("A00-A09") are not codes.
_CODE: Final = re.compile(r"[A-Z][0-9][0-9A-Z][0-9A-Z]{0,4}")
_EDITION: Final = re.compile(r"code-list-([A-Za-z]+-[0-9]{4})\.txt")


def read_codes() -> tuple[str, list[str]]:
    """The edition's name and its codes without dots, sorted. Raises FileNotFoundError if the package has no code list."""
    # The package is located, not imported: importing it builds the whole tree of codes (1.4 s, 190 MB).
    spec = find_spec("simple_icd_10_cm")
    for entry in sorted(Path(spec.origin).parent.glob("data/*.txt")) if spec is not None and spec.origin else ():
        match = _EDITION.fullmatch(entry.name)
        if match is not None:
            lines = entry.read_text("ascii").split()
            return match[1].replace("-", " "), sorted({line for line in lines if _CODE.fullmatch(line)})
    raise FileNotFoundError("simple_icd_10_cm is not there, or ships no code-list-*.txt; install the version that pyproject.toml names")


def compile_table() -> bytes:
    """The table's file: a comment on source and licence, then front-coded codes, compressed.

    A line holds how many characters it shares with the line before (one digit), then the rest.
    """
    edition, codes = read_codes()
    lines = [
        f"# ICD-10-CM, {edition}: {len(codes)} codes. US government work (CDC/NCHS, CMS), in the public domain.",
        "# Compiled by ops/clinical_tables from the package simple-icd-10-cm (MIT, (c) 2021-2026 Stefano Travasci).",
    ]
    before = ""
    for code in codes:
        shared = 0
        while shared < min(len(before), len(code)) and before[shared] == code[shared]:
            shared += 1
        lines.append(f"{shared}{code[shared:]}")
        before = code
    return lzma.compress("\n".join(lines).encode("ascii"), preset=9)
