"""Learns which fields and components segments use, and compiles a pattern of the whole segment from it (field_patterns.py)."""

from __future__ import annotations

import re

from touchstone.scorers.clinical.formats.hl7v2.field_patterns import parts_of, segment_pattern
from touchstone.scorers.clinical.formats.hl7v2.tables import Version

#: Segments without findings before the first pattern is compiled; each further pattern needs LEARN_AGAIN times more, up to LEARN_MAX.
LEARN_AFTER = 256
LEARN_AGAIN = 4
LEARN_MAX = LEARN_AFTER * LEARN_AGAIN**5
#: One segment in so many is analysed, because that costs more than checking one.
LEARN_FROM_EACH = 16
#: Longer segments are not learned from.
LEARNT_LENGTH_MAX = 4_096


class Learner:
    """Compiles a pattern of the whole segment from the fields and components that segments without findings use.

    A pattern of all possible ones would take a second to compile. It is compiled again after many segments that it did not accept. Of a segment
    only the positions of its non-empty fields and components are kept.
    """

    def __init__(self, version: Version, name: str, known: frozenset[int], required: frozenset[int], value_type: str = "") -> None:
        self.version = version
        self.name = name
        self.known = known
        self.required = required
        self.value_type = value_type
        self.whole: re.Pattern[str] | None = None
        self.used: dict[int, frozenset[int]] = {}
        self.made_of: dict[int, frozenset[int]] = {}
        self.missed = 0
        self.at = LEARN_AFTER

    def wants(self, raw: str) -> bool:
        """True if a segment without findings can be learned from: usual delimiters and length, while patterns are still compiled."""
        return 0 < len(raw) <= LEARNT_LENGTH_MAX and self.at < LEARN_MAX

    def learn(self, fields: list[str]) -> None:
        """Learn from a segment without findings that the pattern did not accept."""
        self.missed += 1
        if self.missed % LEARN_FROM_EACH:
            return
        used = dict(self.used)  # another thread may be reading the one there is
        for position, value in enumerate(fields):
            if value and position in self.known:
                used[position] = used.get(position, frozenset()) | parts_of(value)
        self.used = used
        if self.missed >= self.at and self.used:
            self.missed = 0
            self.at *= LEARN_AGAIN
            if self.used == self.made_of:
                return  # segments were not accepted because of their values: the pattern would be the same
            self.made_of = self.used
            self.whole = segment_pattern(self.version, self.name, self.used, self.required, self.value_type)
