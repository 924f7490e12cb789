"""The table of registries that code systems outside HL7 are decided by: language subtags, currencies, CDC's races and ethnicities.

The subtags are IANA's, as the package language-tags (MIT) carries them; the currencies are ISO 4217's current list, as the package iso4217 (public domain)
carries it; the races and ethnicities are CDC's (US government work), as US Core 4.0.0 (CC0-1.0) lists them. Neither package is needed at run time.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from touchstone.ops.lab.build.tables.clinical.value_sets import read_package
from touchstone.scorers.base import ConfigError

_RACES: Final = "urn:oid:2.16.840.1.113883.6.238"
_KINDS: Final = ("language", "extlang", "script", "region", "variant")
_CURRENCY: Final = re.compile(r"<Ccy>([A-Z]{3})</Ccy>")
_PUBLISHED: Final = re.compile(r'<ISO_4217 Pblshd="([0-9-]+)"')


def compile_registries(us_core: Path) -> bytes:
    """The table's file. `us_core`: hl7.fhir.us.core 4.0.0, a folder or a .tgz. Raises ConfigError if a source is missing."""
    races = next((one for one in read_package(us_core).values() if one.get("url") == _RACES and one.get("content") == "complete"), None)
    if races is None:
        raise ConfigError(f"{us_core}: has no complete list of CDC's races and ethnicities; give hl7.fhir.us.core 4.0.0")
    subtags, currencies = _source("language_tags", "data/json"), _source("iso4217", "table.xml").read_text("utf-8")
    published = _PUBLISHED.search(currencies)
    found = {
        "notice": "IANA's language subtag registry, ISO 4217, CDC's races and ethnicities; NOTICE.md",
        "subtags": {"edition": json.loads((subtags / "meta.json").read_text("utf-8"))["File-Date"]} | _subtags(subtags / "registry.json"),
        "currencies": {"edition": published[1] if published else "", "codes": sorted(set(_CURRENCY.findall(currencies)))},
        "races": {"edition": f"US Core {races['version']}, {str(races.get('date'))[:10]}", "codes": dict(sorted(_parents(races.get("concept", ()), "")))},
    }
    return lzma.compress(json.dumps(found, separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode(), preset=9)


def _source(package: str, inside: str) -> Path:
    """A part of an installed package, which is located and not imported."""
    spec = find_spec(package)
    path = Path(spec.origin).parent / inside if spec is not None and spec.origin else None
    if path is None or not path.exists():
        raise ConfigError(f"the table of registries is made from the package {package.replace('_', '-')}: install it with pip, beside this package")
    return path


def _subtags(path: Path) -> dict[str, list[str]]:
    """Kind → subtags, those for private use as `qaa..qtz`, in lower case."""
    found: dict[str, set[str]] = {kind: set() for kind in _KINDS}
    for record in json.loads(path.read_text("utf-8")):
        if record.get("Type") in found:
            found[record["Type"]].add(record["Subtag"].lower())
    return {kind: sorted(subtags) for kind, subtags in found.items()}


def _parents(concepts: Any, parent: str) -> Iterator[tuple[str, str]]:
    for concept in concepts:
        yield concept["code"], parent
        yield from _parents(concept.get("concept", ()), concept["code"])
