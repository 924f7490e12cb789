"""Which fields and components good segments use, and a pattern of the whole segment made of it (field_patterns.py)."""

from __future__ import annotations

import re

from touchstone.scorers.clinical.formats.hl7v2.field_patterns import parts_of, segment_pattern
from touchstone.scorers.clinical.formats.hl7v2.tables import Version

#: Good segments of a name before a pattern of the whole is made; each further pattern takes so many times more, up to a number.
LEARN_AFTER = 256
LEARN_AGAIN = 4
LEARN_MAX = LEARN_AFTER * LEARN_AGAIN**5
#: One in so many is looked at: looking costs more than checking.
LEARN_FROM_EACH = 16
#: Longer segments teach nothing, and cost nothing here.
LEARNT_LENGTH_MAX = 4_096


class Learner:
    """Makes a pattern of the whole segment, of the fields and components that good segments of this name use, once there were enough of them.

    A pattern of them all would take a second to compile. It is made again, of more of them, after ever more good segments that it does
    not accept; nothing of a segment is kept but which of its fields and components hold something.
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
        """Whether a good segment is one to learn from: of usual delimiters and length, while patterns are still made."""
        return 0 < len(raw) <= LEARNT_LENGTH_MAX and self.at < LEARN_MAX

    def learn(self, fields: list[str]) -> None:
        """Take note of a good segment that the pattern did not accept."""
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
                return  # what is missed, is missed for its values: the pattern would be the same
            self.made_of = self.used
            self.whole = segment_pattern(self.version, self.name, self.used, self.required, self.value_type)
