"""Where a watcher is: the next offset of every partition, as the compact text that is an event's id (`r0.12-r1.7-p0.3`)."""

import re
from collections.abc import Mapping

#: (role, partition): `r` is the results topic, `p` the reports topic.
Place = tuple[str, int]
#: Next offset of each partition.
Positions = dict[Place, int]

TEXT_CHARS_MAX = 32_768
_TEXT = re.compile(r"[rp][0-9]{1,6}\.[0-9]{1,18}(-[rp][0-9]{1,6}\.[0-9]{1,18})*")


def position_text(positions: Mapping[Place, int]) -> str:
    """The positions as one text; results first, each by partition."""
    return "-".join(f"{role}{partition}.{positions[role, partition]}" for role, partition in sorted(positions, key=_order))


def read_positions(text: str) -> Positions | None:
    """The positions of a text; None if it is none, or names a partition twice."""
    if len(text) > TEXT_CHARS_MAX or not _TEXT.fullmatch(text):
        return None
    found: Positions = {}
    for part in text.split("-"):
        partition, _, offset = part[1:].partition(".")
        place = (part[0], int(partition))
        if place in found:
            return None
        found[place] = int(offset)
    return found


def covers(ahead: Mapping[Place, int], behind: Mapping[Place, int]) -> bool:
    """Whether the first positions are at or after the second in every partition of the second."""
    return all(ahead.get(place, 0) >= offset for place, offset in behind.items())


class Clock:
    """Positions that advance, with their text at hand: an event's id is made for every event."""

    def __init__(self, positions: Mapping[Place, int]) -> None:
        self.positions: Positions = dict(positions)
        self._order = sorted(self.positions, key=_order)
        self._slots = {place: slot for slot, place in enumerate(self._order)}
        self._parts = [f"{role}{partition}.{self.positions[role, partition]}" for role, partition in self._order]

    def advance(self, place: Place, offset: int) -> None:
        """Move one partition to its next offset. A partition that is new takes its place among the others."""
        if place not in self._slots:
            self.__init__({**self.positions, place: offset})  # type: ignore[misc]
            return
        self.positions[place] = offset
        self._parts[self._slots[place]] = f"{place[0]}{place[1]}.{offset}"

    @property
    def text(self) -> str:
        """The positions as they are now."""
        return "-".join(self._parts)


def _order(place: Place) -> tuple[bool, int]:
    """Results before reports, then by number."""
    return place[0] != "r", place[1]
