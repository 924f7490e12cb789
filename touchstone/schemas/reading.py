"""A reading: how a case looks beside its result. Sections with marked places, drawn alike by the page, by HTML reports and by terminals.

Texts of the case are in the fields `text`, `cells`, `value`; everything else (titles, notes, codes, paths, ids) never quotes the case, so that a reading
without the right to text is the same reading with these fields blocked out (`without_text`).
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import Field, FiniteFloat

from touchstone.schemas.base import Outbound
from touchstone.schemas.result import Label

#: What a mark says of its place. `good`: as it should be (found, supported, ticked). `missing`: expected and not there. `bad`: wrong (violated,
#: contradicted). `unsure`: cannot be decided, or a minor matter. `note`: worth seeing, and neither good nor bad.
MarkState = Literal["good", "missing", "bad", "unsure", "note"]
#: Stands for every visible character of a text that may not be shown. Blanks are covered too: lengths of words give names away.
BLOCK = "░"
#: Blocks of a text that are shown in a row at most; more would only show how long it is.
BLOCKS_MAX = 20_000


class Mark(Outbound):
    """A marked place of a text: characters `start` to `end` (end excluded, counted in Unicode code points), or a whole line (counted from 1) with a column.

    `finding`: index of the result's finding that it belongs to. `code`: of a finding or check. `note`: what is the matter, without quoting.
    `to`: ids of items, rows and entries of this reading that it is about.
    """

    state: MarkState
    start: int | None = None
    end: int | None = None
    line: int | None = None
    column: int | None = None
    finding: int | None = None
    code: str = ""
    note: str = ""
    to: tuple[str, ...] = ()


class _Section(Outbound):
    """What all sections have. `id` is unique in the reading. `folded`: shown closed at first. `note`: a line below the title, without text of the case."""

    id: str
    title: str
    note: str = ""
    folded: bool = False


class TextSection(_Section):
    """Running text."""

    type: Literal["text"] = "text"
    text: str
    marks: tuple[Mark, ...] = ()


class CodeSection(_Section):
    """A document in a format. `format`: `json`, `xml`, `hl7v2` or `text`."""

    type: Literal["code"] = "code"
    format: str
    text: str
    marks: tuple[Mark, ...] = ()


class Item(Outbound):
    """One line of a list of checks. `text`: from the case (an expectation, a fact). `label`: its name, which quotes nothing ("fact 3").

    `to`: ids it is about.
    """

    id: str
    state: MarkState
    label: str = ""
    text: str = ""
    finding: int | None = None
    code: str = ""
    note: str = ""
    to: tuple[str, ...] = ()


class ChecksSection(_Section):
    """Expectations, facts or rules: each met, missing or violated."""

    type: Literal["checks"] = "checks"
    items: tuple[Item, ...] = ()


class Pair(Outbound):
    """A name, which quotes nothing, and its value."""

    key: str
    value: str
    state: MarkState | None = None
    to: tuple[str, ...] = ()


class PairsSection(_Section):
    """Keys and values."""

    type: Literal["pairs"] = "pairs"
    pairs: tuple[Pair, ...] = ()


class Row(Outbound):
    """A row of a table; `state` where something is the matter with it."""

    id: str
    cells: tuple[str, ...]
    state: MarkState | None = None
    finding: int | None = None
    note: str = ""
    to: tuple[str, ...] = ()


class TableSection(_Section):
    """A table; `columns` quote nothing."""

    type: Literal["table"] = "table"
    columns: tuple[str, ...]
    rows: tuple[Row, ...] = ()


class Entry(Outbound):
    """A moment, or a span, on a timeline. `begin` and `end` are ISO dates or times as far as they are known; `lane`: which row it is drawn in."""

    id: str
    lane: str
    text: str
    begin: str | None = None
    end: str | None = None
    state: MarkState | None = None
    finding: int | None = None
    note: str = ""
    to: tuple[str, ...] = ()


class TimelineSection(_Section):
    """Entries over time, in lanes."""

    type: Literal["timeline"] = "timeline"
    lanes: tuple[str, ...]
    entries: tuple[Entry, ...] = ()


class Bar(Outbound):
    """A value on its scale; None: it could not be computed. `share`: its weight in the whole, where it has one. `printed`: as reports print it."""

    name: str
    value: FiniteFloat | None
    low: FiniteFloat = 0.0
    high: FiniteFloat = 1.0
    better: Literal["higher", "lower"] | None = "higher"
    printed: str = ""
    share: FiniteFloat | None = None
    state: MarkState | None = None


class BarsSection(_Section):
    """Values as bars."""

    type: Literal["bars"] = "bars"
    bars: tuple[Bar, ...] = ()


Section = Annotated[TextSection | CodeSection | ChecksSection | PairsSection | TableSection | TimelineSection | BarsSection, Field(discriminator="type")]


class CaseReading(Outbound):
    """How one case reads beside one result. `has_text`: False where texts are blocked out, or the case itself is not at hand."""

    suite: str
    name: str
    label: Label
    sections: tuple[Section, ...] = ()
    has_text: bool = True

    def without_text(self) -> Self:
        """The same reading with every text of the case blocked out; marks keep their places."""
        return self.model_copy(update={"sections": tuple(_blocked(section) for section in self.sections), "has_text": False})


def blocked(text: str) -> str:
    """As many blocks as the text has characters, up to a bound; line ends stay."""
    return "".join(character if character == "\n" else BLOCK for character in text[:BLOCKS_MAX])


#: Short texts are all blocked out to the same length.
_SHORT = BLOCK * 8


def _without(parts: Iterable[Any], **texts: Any) -> tuple[Any, ...]:
    return tuple(part.model_copy(update={name: change(part) for name, change in texts.items()}) for part in parts)


def _blocked(section: Any) -> Any:
    match section:
        case TextSection() | CodeSection():
            return section.model_copy(update={"text": blocked(section.text)})
        case ChecksSection():
            return section.model_copy(update={"items": _without(section.items, text=lambda item: _SHORT if item.text else "")})
        case PairsSection():
            return section.model_copy(update={"pairs": _without(section.pairs, value=lambda pair: _SHORT if pair.value else "")})
        case TableSection():
            return section.model_copy(update={"rows": _without(section.rows, cells=lambda row: tuple(_SHORT if cell else "" for cell in row.cells))})
        case TimelineSection():
            entries = _without(section.entries, text=lambda entry: _SHORT if entry.text else "", begin=lambda _: None, end=lambda _: None)
            return section.model_copy(update={"entries": entries})
        case _:
            return section
