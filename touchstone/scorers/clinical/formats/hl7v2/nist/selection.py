"""Chooses the profile of a message: by what MSH-21 declares, else by the message structure in MSH-9 and the version in MSH-12."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from touchstone.schemas.result import NotChecked
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.lexer import Message, Segment
from touchstone.scorers.clinical.formats.hl7v2.nist.checking import Check
from touchstone.scorers.clinical.formats.hl7v2.nist.model import MessageProfile, Profile
from touchstone.scorers.clinical.formats.hl7v2.nist.sink import CHECK, Sink
from touchstone.scorers.clinical.formats.hl7v2.nist.tree import tree_of

DECLARED_IN: Final = 21
DECLARATIONS_MAX: Final = 20
#: The shortest identifier that is looked for within a profile's name.
WITHIN_CHARS_MIN: Final = 6
_LOOSE: Final = re.compile(r"[^a-z0-9]+")


def loose(text: str) -> str:
    """A name without case and punctuation, for comparison."""
    return _LOOSE.sub("", text.casefold())


class Candidate(NamedTuple):
    """One message of one loaded profile. `names`: what MSH-21 may call it, loosely written; `titles`: names that may hold an identifier."""

    profile: Profile
    message: MessageProfile
    names: frozenset[str]
    titles: tuple[str, ...]

    @property
    def declares(self) -> bool:
        """True if the profile itself says what MSH-21 must hold."""
        return bool(self.profile.identifiers)

    def is_named(self, name: str) -> bool:
        """True if an identifier of MSH-21 is this profile's."""
        return name in self.names or (len(name) >= WITHIN_CHARS_MIN and any(name in title for title in self.titles))

    def is_foreign_to(self, declared: AbstractSet[str]) -> bool:
        """True if MSH-21 shares an identifier with this profile, lacks another that it demands, and names one that is not its own.

        Guides of one family share an identifier, so that alone is no declaration.
        """
        own = {loose(name) for name in self.profile.identifiers} - {""}
        return bool(own & declared) and bool(own - declared) and not all(self.is_named(name) for name in declared)

    def fits(self, header: Segment) -> bool:
        """True if MSH-9 names this message."""
        code, event, structure = (header.component(9, part) for part in (1, 2, 3))
        if (code, event) == (self.message.type, self.message.event):
            return True
        return bool(structure) and structure == self.message.structure and not (code and event)

    @property
    def version(self) -> str:
        """The HL7 version of the profile's header segment."""
        return next((flavor.version for flavor in self.profile.segments.values() if flavor.name == "MSH"), "")

    def check(self, message: Message, findings: Findings) -> None:
        """Check a message, after the checks of the standard: what those have reported is not reported again."""
        sink = Sink(self.profile, findings)
        Check(tree_of(message, self.profile, self.message.id, self.message.root), sink).run()
        sink.close()


class Profiles:
    """The loaded profiles, ready to be applied; safe to share between threads."""

    def __init__(self, profiles: tuple[Profile, ...]) -> None:
        self._candidates = tuple(
            Candidate(
                profile,
                message,
                frozenset(loose(name) for name in (*profile.identifiers, message.id, message.name, message.identifier, profile.title) if loose(name)),
                tuple(loose(name) for name in (profile.title, message.name, profile.folder)),
            )
            for profile in profiles
            for message in profile.messages
        )
        shared = Counter(name for one in self._candidates for name in one.names)
        self._shared = frozenset(name for name, count in shared.items() if count > 1)

    def choose(self, header: Segment, findings: Findings) -> Candidate | None:
        """The profile of a message; None, with an entry in `not_checked`, if none can be chosen."""
        chosen = self._chosen(header)
        if isinstance(chosen, str):
            findings.not_checked(NotChecked(check=CHECK, reason=chosen))
            return None
        return chosen

    def _chosen(self, header: Segment) -> Candidate | str:
        """The candidate for a header, or why there is none. The reason holds nothing of the message."""
        fitting = [one for one in self._candidates if one.fits(header)]
        if not fitting:
            return "no loaded profile is for the message type in MSH-9"
        declared = {loose(header_part) for header_part in _declarations(header)} - {""}
        if declared and all(one.is_foreign_to(declared) for one in fitting):
            return "MSH-21 names a profile that is not loaded"
        fitting = [one for one in fitting if not one.is_foreign_to(declared)]
        named = [(len({name for name in declared - self._shared if one.is_named(name)}), one) for one in fitting]
        best = max(count for count, _ in named)
        if best:
            fitting = [one for count, one in named if count == best]
        elif declared and any(one.is_named(name) for one in fitting for name in declared):
            fitting = [one for one in fitting if any(one.is_named(name) for name in declared)]
        elif declared and all(one.declares for one in fitting):
            return "MSH-21 names a profile that is not loaded"
        elif declared:
            fitting = [one for one in fitting if not one.declares]
        if len(fitting) > 1:
            fitting = [one for one in fitting if one.version == header.component(12, 1)] or fitting
        if len(fitting) > 1:
            return f"{len(fitting)} loaded profiles fit the message, and MSH-21 names none of them alone"
        return fitting[0]


def _declarations(header: Segment) -> list[str]:
    """The identifiers in MSH-21: entity identifier and universal id of each repetition."""
    found = []
    for repetition in header.field(DECLARED_IN).split("~", DECLARATIONS_MAX)[:DECLARATIONS_MAX]:
        parts = repetition.split("^", 3)
        found += [parts[0], *parts[2:3]]
    return found
