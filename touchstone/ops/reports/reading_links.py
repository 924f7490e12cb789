"""What belongs together in a reading, as links of an HTML page: from a marked place to its checks, and back. They need no script."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Final, NamedTuple

from touchstone.ops.reports.reading_parts import PAGE, in_order, lines_wanted
from touchstone.ops.reports.signs import by_line, pieces
from touchstone.schemas.reading import CaseReading, ChecksSection, CodeSection, Mark, Section, TableSection, TextSection, TimelineSection

#: Links of one item; a forbidden word may stand in a text a hundred times.
LINKS_MAX: Final = 6


class Target(NamedTuple):
    """Something that a link can lead to: its anchor in the page, and its name, which quotes nothing."""

    anchor: str
    name: str


class Links:
    """The targets of one reading. Anchors are numbers of the page's own: ids of a reading may be any text. Only what is drawn is a target.

    `lines`: id of a document's section → its marks by line, and the lines that are drawn.
    """

    def __init__(self, place: int, reading: CaseReading) -> None:
        self._anchors = (f"reading-{place}-{number}" for number in count())
        self._targets: dict[str, Target] = {}
        self._places: dict[int, Target] = {}
        self._naming: dict[str, list[Target]] = {}
        self._of_finding: dict[int, list[Target]] = {}
        self.lines: dict[str, tuple[dict[int, list[Mark]], Sequence[int]]] = {}
        for section in reading.sections:
            self._section(section)

    def of(self, id: str) -> Target | None:
        """The section, item, row or entry with an id."""
        return self._targets.get(id)

    def place_of(self, mark: Mark) -> Target | None:
        """Where a mark is drawn; of a document, its line."""
        return self._places.get(id(mark))

    def line(self, section: CodeSection, number: int) -> Target:
        """A marked line of a document."""
        return self._targets[f"{section.id}\n{number}"]

    def from_mark(self, mark: Mark) -> Target | None:
        """What a mark is about."""
        return next((self._targets[one] for one in mark.to if one in self._targets), None)

    def from_part(self, id: str, finding: int | None, to: Iterable[str]) -> list[Target]:
        """Where an item, row or entry leads: to the places that name it or share its finding, then to what it names itself."""
        found = dict.fromkeys((*self._naming.get(id, ()), *(self._of_finding.get(finding, ()) if finding is not None else ())))
        marked = {target.name for target in found}
        for one in to:
            target = self._targets.get(one)
            # A document as a whole says nothing beside a line of it.
            if target is not None and not any(name.startswith(target.name) for name in marked):
                found[target] = None
        return [target for target in found if target != self._targets.get(id)]

    def _new(self, name: str) -> Target:
        return Target(next(self._anchors), name)

    def _section(self, section: Section) -> None:
        """Give the section and its parts their anchors."""
        self._targets[section.id] = self._new(section.title)
        for number, (name, label) in enumerate(_parts(section), 1):
            self._targets[name] = self._new(label or f"{section.title} {number}")
        if isinstance(section, TextSection):
            drawn = [mark for _, mark in pieces(section.text[: PAGE.text_chars], section.marks) if mark is not None]
            for number, mark in enumerate(drawn, 1):
                self._tie(mark, self._new(section.title if len(drawn) == 1 else f"{section.title}, place {number}"))
        elif isinstance(section, CodeSection):
            marks = by_line(section.text, section.marks)
            wanted = lines_wanted(section.text.count("\n") + 1, marks, PAGE)[: PAGE.lines]
            self.lines[section.id] = marks, wanted
            for line in wanted:
                if line in marks:
                    target = self._targets[f"{section.id}\n{line}"] = self._new(f"{section.title}, line {line}")
                    for mark in marks[line]:
                        self._tie(mark, target)

    def _tie(self, mark: Mark, target: Target) -> None:
        self._places[id(mark)] = target
        for one in mark.to:
            self._naming.setdefault(one, []).append(target)
        if mark.finding is not None:
            self._of_finding.setdefault(mark.finding, []).append(target)


def _parts(section: Section) -> Iterator[tuple[str, str]]:
    """Id and label of what a section lists, as far as it is drawn."""
    match section:
        case ChecksSection():
            yield from ((item.id, item.label) for item in section.items[: PAGE.items])
        case TableSection():
            yield from ((row.id, "") for row in section.rows[: PAGE.items])
        case TimelineSection():
            yield from ((entry.id, "") for entry in in_order(section)[: PAGE.items])
        case _:
            pass
