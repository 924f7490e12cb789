"""Value sets of a profile, and whether a code is a member: yes, no, or not known because the profile does not list the set."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from touchstone.scorers.clinical.checks.patterns import PatternError, Test
from touchstone.scorers.clinical.formats.hl7v2.nist.expressions import pattern_of
from touchstone.scorers.clinical.formats.hl7v2.nist.xml_files import local

if TYPE_CHECKING:
    from lxml.etree import _Element

#: Entries of table 0396 that stand for many codes, in profiles that give no pattern for them.
OLD_PATTERNS: Final = {"HL7nnnn": "HL7[0-9]{4}", "99zzz": "99[a-zA-Z0-9]{3}"}


class Code(NamedTuple):
    """One entry. `usage`: R, P, or E for a code that is excluded from the set."""

    value: str
    system: str
    usage: str


@dataclass(slots=True)
class ValueSet:
    """One value set. `is_open`: sites may add codes of their own."""

    id: str
    is_open: bool
    codes: dict[str, list[Code]] = field(default_factory=dict)
    patterns: list[tuple[Test, Code]] = field(default_factory=list)

    def entries(self, value: str) -> list[Code]:
        """The entries that a code is, by itself or by a pattern."""
        return [*self.codes.get(value, ()), *(code for matches, code in self.patterns if matches(value))]

    def is_undecided(self, value: str) -> bool:
        """True if a pattern could not be tried on this code, so that it may be a member."""
        return any(matches(value) is None for matches, _ in self.patterns)

    @property
    def is_empty(self) -> bool:
        """True if the profile lists no code of it."""
        return not self.codes and not self.patterns


@dataclass(slots=True)
class Library:
    """The value sets of a profile. `excluded`: those that the profile says are not to be validated."""

    sets: dict[str, ValueSet] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)

    def known(self, name: str) -> ValueSet | None:
        """A value set whose codes decide membership; None if it is excluded, external, or empty."""
        found = self.sets.get(name)
        return None if found is None or name in self.excluded or found.is_empty else found

    def read(self, root: _Element, unknown: Counter[str]) -> None:
        """Add the sets of a ValueSetLibrary."""
        for section in root:
            name = local(section)
            if name == "NoValidation":
                self.excluded |= {(one.text or "").strip() for one in section if local(one) == "BindingIdentifier"}
            elif name == "ValueSetDefinitions":
                for one in section:
                    if local(one) == "ValueSetDefinition":
                        self._add(one, unknown)
                    elif local(one) == "ExternalValueSetDefinition":
                        self.excluded.add(one.get("BindingIdentifier", ""))
                    else:
                        unknown[local(one)] += 1
            elif name != "MetaData":
                unknown[name] += 1

    def _add(self, element: _Element, unknown: Counter[str]) -> None:
        made = ValueSet(element.get("BindingIdentifier", ""), element.get("Extensibility", "").lower() == "open")
        for one in element:
            if local(one) != "ValueElement":
                unknown[local(one)] += 1
                continue
            code = Code(one.get("Value", ""), one.get("CodeSystem", ""), one.get("Usage", "R").upper())
            pattern = one.get("CodePattern") or (OLD_PATTERNS.get(code.value) if "0396" in made.id else None)
            if not pattern:
                made.codes.setdefault(code.value, []).append(code)
                continue
            try:
                made.patterns.append((pattern_of(pattern), code))
            except PatternError as error:
                unknown[f"a CodePattern that is not tried ({error})"] += 1
                self.excluded.add(made.id)
        self.sets[made.id] = made
