"""What a profile asks of a narrative by extension: sections in languages, and a class that gives the source of each part (HL7's extensions package)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from touchstone.scorers.clinical.formats.fhir.narrative_scan import TAGS_MAX, TOKEN

_ATTRIBUTE: Final = re.compile(r"\s(lang|xml:lang|class)\s*=\s*(?:\"([^\"<]*)\"|'([^'<]*)')")
#: Classes by which a part of a narrative gives its source.
SOURCES: Final = frozenset({"boilerplate", "generated", "original", "extensions", "additional"})
_DIV_DEPTH: Final = 1


class Part(NamedTuple):
    """Something directly inside the div: an element with its attributes, or text (no name)."""

    name: str
    attributes: dict[str, str]

    @property
    def language(self) -> str | None:
        """The language of a section; None for anything else."""
        return self.attributes.get("xml:lang") or self.attributes.get("lang") if self.name == "div" else None


def parts_of(div: str) -> Iterator[Part]:
    """Yield what is directly inside the div of a narrative. Stops where it is not well-formed, which other rules report."""
    depth = place = 0
    for _ in range(TAGS_MAX):
        start = div.find("<", place)
        if start < 0:
            return
        if depth == _DIV_DEPTH and div[place:start].strip():
            yield Part("", {})
        match = TOKEN.match(div, start)
        if match is None:
            return
        place = match.end()
        if match["close"]:
            depth -= 1
        elif match["name"]:
            if depth == _DIV_DEPTH:
                yield Part(match["name"], {one[1]: one[2] if one[2] is not None else one[3] for one in _ATTRIBUTE.finditer(match["rest"])})
            depth += not match["rest"].endswith("/")


def without_source(div: str) -> int:
    """The number of parts directly inside the div that do not give their source."""
    return sum(SOURCES.isdisjoint(one.attributes.get("class", "").split()) for one in parts_of(div))


def language_fault(div: str, asked: tuple[str, ...], language: object) -> str | None:
    """What is wrong with the language sections of a narrative. `asked`: codes of the extension; `language`: that of the resource. None if nothing is."""
    found = [one.language for one in parts_of(div) if one.language]
    if "_no" in asked:
        return "allows no sections in languages (div with lang) in this narrative, and it has some" if found else None
    if not found:
        return "asks for sections in languages (div with lang) in this narrative, and it has none"
    for one in asked:
        wanted = language if one == "_resource" else one
        if one != "_yes" and isinstance(wanted, str) and wanted not in found:
            which = "the language of the resource" if one == "_resource" else f"the language {wanted}"
            return f"asks for a section (div with lang) in {which}, and this narrative has none"
    return None
