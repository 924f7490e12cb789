"""The readings of cases in an HTML report: each unfolds, marked places and checks are linked to each other. Bounded, so that a browser opens it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from touchstone.ops.reports.html_words import plural, shown
from touchstone.ops.reports.signs import SIGNS, WORDS, by_line, pieces
from touchstone.schemas.reading import (
    Bar,
    BarsSection,
    CaseReading,
    ChecksSection,
    CodeSection,
    Item,
    Mark,
    MarkState,
    PairsSection,
    Section,
    TableSection,
    TextSection,
    TimelineSection,
)
from touchstone.scorers.reporting.words import counted, number, percent

#: Readings in one report, and characters of their HTML: a browser opens a file of some megabytes without a pause.
READINGS_MAX: Final = 50
CHARS_MAX: Final = 6_000_000
#: Of one section: lines of its items, characters of a text, lines of a document around each mark.
ITEMS_MAX: Final = 300
TEXT_CHARS_MAX: Final = 60_000
LINES_MAX: Final = 400
LINE_CHARS_MAX: Final = 1_000
CONTEXT_LINES: Final = 3
TONES: Final[dict[MarkState, str]] = {"good": "pass", "missing": "review", "bad": "fail", "unsure": "unscored", "note": "other"}
_LABELS: Final = {"Pass": "pass", "Review": "review", "Warn": "review", "Fail": "fail", "unscored": "unscored"}


def drawn_readings(readings: Sequence[CaseReading]) -> list[str]:
    """The first readings, the worst first, as far as there is room."""
    drawn: list[str] = []
    room = CHARS_MAX
    for place, reading in enumerate(readings[:READINGS_MAX]):
        page = "".join(_Drawn(place).reading(reading))
        if len(page) > room:
            break
        room -= len(page)
        drawn.append(page)
    return drawn


def anchors_of(readings: Sequence[CaseReading], count: int) -> dict[str, str]:
    """Name of a case → anchor of its reading, of the first `count`; of two cases with one name, the worse."""
    return {reading.name: f"reading-{place}" for place, reading in reversed(list(enumerate(readings[:count])))}


def readings_section(drawn: Sequence[str], noun: str, total: int) -> Iterator[str]:
    """The drawn readings. `total`: cases of the report."""
    if not drawn:
        return
    bound = f"<small>the worst {len(drawn):,} of {total:,}; <code>touchstone show</code> reads any</small>" if len(drawn) < total else ""
    yield f'<section aria-labelledby="readings"><h2 id="readings">{shown(plural(noun).capitalize())} in full{bound}</h2>\n<div class="codes readings">\n'
    yield from drawn
    yield "</div></section>\n"


@dataclass(slots=True)
class _Drawn:
    """One reading being drawn. Ids are numbers of the report's own: those of a reading may be any text."""

    place: int
    ids: dict[str, str] = field(default_factory=dict)
    _anchors: "count[int]" = field(default_factory=count)

    def reading(self, reading: CaseReading) -> Iterator[str]:
        """Summary and sections."""
        for section in reading.sections:
            self._note_ids(section)
        tone = _LABELS[reading.label]
        yield f'<details class="reading tone-{tone}" id="reading-{self.place}">'
        yield f'<summary><span class="code">{shown(reading.name)}</span><span class="chip">{shown(reading.label)}</span></summary>\n<div class="parts">\n'
        for section in reading.sections:
            yield from self._section(section)
        yield "</div></details>\n"

    def _anchor(self) -> str:
        return f"reading-{self.place}-{next(self._anchors)}"

    def _note_ids(self, section: Section) -> None:
        """Give every item an anchor."""
        if isinstance(section, ChecksSection):
            for item in section.items[:ITEMS_MAX]:
                self.ids[item.id] = self._anchor()

    def _section(self, section: Section) -> Iterator[str]:
        note = f"<small>{shown(section.note)}</small>" if section.note else ""
        body = "".join(self._content(section))
        if section.folded:
            yield f'<details class="part"><summary>{shown(section.title)}{note}</summary>{body}</details>\n'
        else:
            yield f'<div class="part"><h3>{shown(section.title)}{note}</h3>{body}</div>\n'

    def _content(self, section: Section) -> Iterator[str]:
        match section:
            case TextSection():
                yield from self._text(section)
            case CodeSection():
                yield from self._code(section)
            case ChecksSection():
                yield from _list([self._item(item) for item in section.items[:ITEMS_MAX]], len(section.items), "checks")
            case PairsSection():
                pairs = [f'<li>{_sign(one.state)}<span class="soft">{shown(one.key)}</span> {shown(one.value)}</li>' for one in section.pairs[:ITEMS_MAX]]
                yield from _list(pairs, len(section.pairs), "checks")
            case TableSection():
                rows = [[_sign(row.state), *map(shown, row.cells), shown(row.note)] for row in section.rows[:ITEMS_MAX]]
                yield from _table(("", *section.columns, ""), rows, len(section.rows))
            case TimelineSection():
                entries = sorted(section.entries, key=lambda entry: (entry.begin is None, entry.begin or ""))[:ITEMS_MAX]
                rows = [
                    [_sign(one.state), shown(" – ".join(filter(None, (one.begin, one.end)))), shown(one.lane), shown(one.text), shown(one.note)]
                    for one in entries
                ]
                yield from _table(("", "When", "Lane", "What", ""), rows, len(section.entries))
            case BarsSection():
                yield '<ul class="checks bars">' + "".join(map(_bar, section.bars)) + "</ul>"

    def _item(self, item: Item) -> str:
        label = f'<span class="soft">{shown(item.label)}</span> ' if item.label else ""
        note = "; ".join(dict.fromkeys(filter(None, (item.note, item.code if item.code not in item.note else ""))))
        return f'<li id="{self.ids[item.id]}">{_sign(item.state)}{label}{shown(item.text)}{f" <small>{shown(note)}</small>" if note else ""}</li>'

    def _mark(self, piece: str, mark: Mark) -> str:
        """A marked place; its sign leads to what it is about."""
        target = next((self.ids[one] for one in mark.to if one in self.ids), None)
        sign = f'<span class="sign" role="img" aria-label="{WORDS[mark.state]}">{SIGNS[mark.state]}</span>'
        if target is not None:
            sign = f'<a href="#{target}" title="{shown(mark.note or mark.code)}">{sign}</a>'
        return f'<mark class="tone-{TONES[mark.state]}">{sign}{_escaped(piece)}</mark>'

    def _text(self, section: TextSection) -> Iterator[str]:
        text = section.text[:TEXT_CHARS_MAX]
        drawn = (_escaped(piece) if mark is None else self._mark(piece, mark) for piece, mark in pieces(text, section.marks))
        yield f'<p class="text">{"".join(drawn)}</p>' if text else ""
        yield from _rest(len(section.text) - len(text), "character")

    def _code(self, section: CodeSection) -> Iterator[str]:
        lines = section.text.split("\n")
        marks = by_line(section.text, section.marks)
        wanted = list(range(1, len(lines) + 1))
        if len(lines) > LINES_MAX:
            near = {line + step for line in marks for step in range(-CONTEXT_LINES, CONTEXT_LINES + 1)}
            wanted = sorted(near.intersection(wanted))[:LINES_MAX]
            yield f"<p><small>{counted(len(lines), 'line')}; {'those around marks' if wanted else 'none is marked'}</small></p>"
        if not wanted:
            return
        yield '<div class="scroll lines" tabindex="0" role="region" aria-label="document"><table><tbody>'
        for line in wanted:
            found = marks.get(line, [])
            tone = f' class="tone-{TONES[found[0].state]} marked"' if found else ""
            notes = "".join(f"<small>{_sign(mark.state)}{shown(': '.join(filter(None, (mark.code, mark.note))))}</small>" for mark in found)
            yield f'<tr{tone}><td class="num">{line}</td><td><code>{_escaped(_cut(lines[line - 1], found))}</code>{notes}</td></tr>'
        yield "</tbody></table></div>"


def _cut(line: str, marks: Sequence[Mark]) -> str:
    """A line, or the part of a long one around its first mark."""
    if len(line) <= LINE_CHARS_MAX:
        return line
    at = next((mark.column for mark in marks if mark.column is not None), 1)
    start = max(0, min(at - LINE_CHARS_MAX // 2, len(line) - LINE_CHARS_MAX))
    return f"{'…' if start else ''}{line[start : start + LINE_CHARS_MAX]}{'…' if start + LINE_CHARS_MAX < len(line) else ''}"


def _escaped(text: str) -> str:
    """A text with its line ends; everything else that is not printable is an escape."""
    return "\n".join(shown(line.replace("\t", "    ")) for line in text.replace("\r\n", "\n").split("\n"))


def _sign(state: MarkState | None) -> str:
    if state is None:
        return ""
    return f'<span class="sign tone-{TONES[state]}" role="img" aria-label="{WORDS[state]}">{SIGNS[state]}</span> '


def _bar(bar: Bar) -> str:
    """A value with its bar; the bar repeats the number, so it is hidden from readers that speak."""
    extent = bar.high - bar.low
    share = 0.0 if bar.value is None or extent <= 0 else min(1.0, max(0.0, (bar.value - bar.low) / extent))
    rest = ", ".join(filter(None, ("lower is better" if bar.better == "lower" else "", "" if bar.share is None else f"{percent(bar.share)} of the whole")))
    bed, filled = (f'<rect{kind} width="{width:.1f}" height="6"/>' for kind, width in ((' class="bed"', 100), ("", share * 100)))
    drawn = f'<svg viewBox="0 0 100 6" aria-hidden="true" preserveAspectRatio="none">{bed}{filled}</svg>'
    return f"<li><span>{_sign(bar.state)}{shown(bar.name)}</span><b>{shown(bar.printed or number(bar.value))}</b>{drawn}<small>{shown(rest)}</small></li>"


def _list(lines: Sequence[str], total: int, name: str) -> Iterator[str]:
    yield f'<ul class="{name}">{"".join(lines)}</ul>' if lines else ""
    yield from _rest(total - len(lines), "item")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], total: int) -> Iterator[str]:
    """A table; its first and last columns, of signs and notes, are left out where they are empty."""
    kept = [column for column in range(len(header)) if header[column] or any(column < len(row) and row[column] for row in rows)]
    head = "".join(f'<th scope="col">{shown(header[column])}</th>' if header[column] else "<td></td>" for column in kept)
    yield '<div class="scroll" tabindex="0" role="region" aria-label="table"><table><thead><tr>' + head + "</tr></thead><tbody>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{row[column] if column < len(row) else ''}</td>" for column in kept) + "</tr>"
    yield "</tbody></table></div>"
    yield from _rest(total - len(rows), "row")


def _rest(left: int, noun: str) -> Iterator[str]:
    if left > 0:
        yield f'<p class="rest">and {counted(left, f"more {noun}")}; <code>touchstone show --all</code> shows everything</p>'
