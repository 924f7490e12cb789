"""Where a watcher is: the next offset of every partition, as the compact text that is an event's id.

The text is base64url, without padding, of a version byte and two groups: the results topic and the reports topic. All numbers are
varints (seven bits a byte, lowest first).

    group   twice its number of runs, plus 1 if the 16 bytes of the topic's id follow; then the runs
    run     partitions left out since the run before, partitions in the run, and for each of these its offset as the difference
            (zigzag) from the partition before, the group's first from 0

A thousand partitions with offsets of a million and neighbours within one per cent make 3,000 characters. The form that people can
read, `r0.12-r1.7-p0.3` (`r` results, `p` reports, partition and next offset), is read as well.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Iterator, Mapping

#: (role, partition): `r` is the results topic, `p` the reports topic.
Place = tuple[str, int]
#: Next offset of each partition.
Positions = dict[Place, int]
#: Role → id of its topic, 16 bytes: positions in a topic mean nothing in another of the same name.
TopicIds = Mapping[str, bytes]

TEXT_CHARS_MAX = 32_768
_VERSION = 1
_ROLES = ("r", "p")
_ID_BYTES = 16
_NUMBER_MAX = 10**18
_TEXT = re.compile(r"[rp][0-9]{1,6}\.[0-9]{1,18}(-[rp][0-9]{1,6}\.[0-9]{1,18})*")
_COMPACT = re.compile(r"[A-Za-z0-9_-]+")


def position_text(positions: Mapping[Place, int], topics: TopicIds | None = None) -> str:
    """The positions as one text. `topics`: ids of the topics, where they are known."""
    return Clock(positions, topics).text


def read_positions(text: str) -> Positions | None:
    """The positions of a text in either form; None if it is none, or names a partition twice."""
    read = _read(text)
    return None if read is None else read[0]


def read_topic_ids(text: str) -> TopicIds:
    """The ids of the topics that a text names; empty if it names none."""
    read = _read(text)
    return {} if read is None else read[1]


def _read(text: str) -> tuple[Positions, dict[str, bytes]] | None:
    """Positions and topic ids of a text; None if it is none."""
    if len(text) > TEXT_CHARS_MAX:
        return None
    if _TEXT.fullmatch(text):
        return _read_plain(text)
    if not _COMPACT.fullmatch(text):
        return None
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return _read_compact(data) if data[0] == _VERSION else None
    except (Error, IndexError, ValueError):
        return None


def _read_plain(text: str) -> tuple[Positions, dict[str, bytes]] | None:
    """The form that people can read."""
    found: Positions = {}
    for part in text.split("-"):
        partition, _, offset = part[1:].partition(".")
        place = (part[0], int(partition))
        if place in found:
            return None
        found[place] = int(offset)
    return found, {}


def _read_compact(data: bytes) -> tuple[Positions, dict[str, bytes]]:
    """The compact form. Raises `ValueError` or `IndexError`."""
    found: Positions = {}
    topics: dict[str, bytes] = {}
    at = 1
    for role in _ROLES:
        group, at = _number(data, at)
        if group & 1:
            topics[role], at = data[at : at + _ID_BYTES], at + _ID_BYTES
        partition = offset = 0
        for _ in range(group >> 1):
            left_out, at = _number(data, at)
            size, at = _number(data, at)
            partition += left_out
            for _ in range(size):
                step, at = _number(data, at)
                offset += (step >> 1) ^ -(step & 1)
                if not 0 <= offset < _NUMBER_MAX or partition >= _NUMBER_MAX:
                    raise ValueError
                found[role, partition] = offset
                partition += 1
    if at != len(data) or not found:
        raise ValueError
    return found, topics


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A varint and the place behind it."""
    number = bits = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << bits
        if byte < 0x80:
            return number, at
        bits += 7
        if bits > 63:
            raise ValueError


def _varint(number: int) -> bytes:
    """A number as a varint."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def covers(ahead: Mapping[Place, int], behind: Mapping[Place, int]) -> bool:
    """Whether the first positions are at or after the second in every partition of the second."""
    return all(ahead.get(place, 0) >= offset for place, offset in behind.items())


class Clock:
    """Positions that advance, with the parts of their text at hand: an event's id is made for every event."""

    def __init__(self, positions: Mapping[Place, int], topics: TopicIds | None = None) -> None:
        self.positions: Positions = dict(positions)
        self._topics = dict(topics or {})
        #: Places in the order of the text; None where a group begins.
        self._order: list[Place | None] = []
        #: What comes before each place's offset, and both together.
        self._heads: list[bytes] = []
        for role in _ROLES:
            self._add_group(role)
        self._slots = {place: slot for slot, place in enumerate(self._order) if place is not None}
        self._parts = [self._part(slot) for slot in range(len(self._order))]

    def _add_group(self, role: str) -> None:
        """The places of one topic."""
        runs = list(_runs(sorted(partition for one, partition in self.positions if one == role)))
        topic = self._topics.get(role, b"")
        self._order.append(None)
        self._heads.append((b"" if role != _ROLES[0] else bytes([_VERSION])) + _varint(2 * len(runs) + bool(topic)) + topic)
        behind = 0
        for first, last in runs:
            self._order += [(role, partition) for partition in range(first, last + 1)]
            self._heads += [_varint(first - behind) + _varint(last - first + 1), *([b""] * (last - first))]
            behind = last + 1

    def _part(self, slot: int) -> bytes:
        """One place's piece of the text."""
        place = self._order[slot]
        if place is None:
            return self._heads[slot]
        before = self._order[slot - 1]
        step = self.positions[place] - (0 if before is None else self.positions[before])
        return self._heads[slot] + _varint(step << 1 if step >= 0 else (-step << 1) - 1)

    def advance(self, place: Place, offset: int) -> None:
        """Move one partition to its next offset. A partition that is new takes its place among the others."""
        slot = self._slots.get(place)
        if slot is None:
            self.__init__({**self.positions, place: offset}, self._topics)  # type: ignore[misc]
            return
        self.positions[place] = offset
        self._parts[slot] = self._part(slot)
        if slot + 1 < len(self._order):
            self._parts[slot + 1] = self._part(slot + 1)

    @property
    def text(self) -> str:
        """The positions as they are now; empty if there are none."""
        return urlsafe_b64encode(b"".join(self._parts)).rstrip(b"=").decode() if self.positions else ""


def _runs(partitions: list[int]) -> Iterator[tuple[int, int]]:
    """Consecutive numbers as (first, last)."""
    first = last = -2
    for number in partitions:
        if number != last + 1:
            if first >= 0:
                yield first, last
            first = number
        last = number
    if first >= 0:
        yield first, last
