"""The readings of cases in an HTML report: each unfolds, marked places and checks are linked to each other. Bounded, so that a browser opens it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import touchstone.schemas.reading as parts
from touchstone.ops.reports.html_words import plural, shown
from touchstone.ops.reports.reading_links import LINKS_MAX, Links, Target
from touchstone.ops.reports.reading_parts import PAGE, TIMELINE_COLUMNS, beside, cut, fraction, headline, in_order, kept_columns, matter, span_of, told
from touchstone.ops.reports.signs import SIGNS, WORDS, pieces
from touchstone.schemas.reading import CaseReading, Mark, MarkState
from touchstone.scorers.reporting.words import counted, number

#: Readings in one report, and characters of their HTML: a browser opens a file of some megabytes without a pause.
READINGS_MAX: Final = 200
CHARS_MAX: Final = 6_000_000
TONES: Final[dict[MarkState, str]] = {"good": "pass", "missing": "review", "bad": "fail", "unsure": "unscored", "note": "other"}
_LABELS: Final = {"Pass": "pass", "Review": "review", "Warn": "review", "Fail": "fail", "unscored": "unscored"}


class Drawn(NamedTuple):
    """A reading as HTML, and the name of its case."""

    name: str
    page: str


def drawn_readings(readings: Iterable[CaseReading]) -> list[Drawn]:
    """The first readings, the worst first, as far as there is room. One is held at a time: it may have megabytes."""
    drawn: list[Drawn] = []
    room = CHARS_MAX
    for place, reading in zip(range(READINGS_MAX), readings, strict=False):
        page = "".join(_Reading(place, reading).pieces())
        if len(page) > room:
            break
        room -= len(page)
        drawn.append(Drawn(reading.name, page))
    return drawn


def anchors_of(drawn: Sequence[Drawn]) -> dict[str, str]:
    """Name of a case → anchor of its reading; of two cases with one name, the worse."""
    return {one.name: f"reading-{place}" for place, one in reversed(list(enumerate(drawn)))}


def readings_section(drawn: Sequence[Drawn], noun: str, total: int) -> Iterator[str]:
    """The drawn readings. `total`: cases of the report."""
    if not drawn:
        return
    left = total - len(drawn)
    how = "<code>touchstone show FILE --case NAME</code> (or <code>touchstone show ID</code>) reads any of them"
    bound = f"<small>the worst {len(drawn):,} of {total:,}; {left:,} are left out: {how}</small>" if left > 0 else ""
    yield f'<section aria-labelledby="readings"><h2 id="readings">{shown(plural(noun).capitalize())} in full{bound}</h2>\n<div class="codes readings">\n'
    yield from (one.page for one in drawn)
    yield "</div></section>\n"


class _Reading:
    """One reading being drawn."""

    def __init__(self, place: int, reading: CaseReading) -> None:
        self._place = place
        self._reading = reading
        self._links = Links(place, reading)

    def pieces(self) -> Iterator[str]:
        """Summary and sections."""
        reading = self._reading
        yield f'<details class="reading tone-{_LABELS[reading.label]}" id="reading-{self._place}">'
        yield f'<summary><span class="code">{shown(reading.name)}</span><span class="chip">{shown(reading.label)}</span></summary>\n<div class="parts">\n'
        if lines := headline(reading):
            yield '<ul class="checks headline">' + "".join(f"<li>{_sign(state)}{shown(words)}</li>" for state, words in lines) + "</ul>\n"
        if not reading.has_text:
            yield "<p><small>The text of the case is not at hand; this is what its result says.</small></p>\n"
        for section in reading.sections:
            yield from self._section(section)
        yield "</div></details>\n"

    def _section(self, section: parts.Section) -> Iterator[str]:
        note = f"<small>{shown(section.note)}</small>" if section.note else ""
        body = "".join(self._content(section))
        anchor = self._id(section.id)
        if section.folded:
            yield f'<details class="part"{anchor}><summary>{shown(section.title)}{note}</summary>{body}</details>\n'
        else:
            yield f'<div class="part"{anchor}><h3>{shown(section.title)}{note}</h3>{body}</div>\n'

    def _id(self, id: str) -> str:
        """The attribute of what links lead to."""
        target = self._links.of(id)
        return "" if target is None else f' id="{target.anchor}"'

    def _content(self, section: parts.Section) -> Iterator[str]:
        match section:
            case parts.TextSection():
                yield from self._text(section)
            case parts.CodeSection():
                yield from self._code(section)
            case parts.ChecksSection():
                yield from _list([self._item(item) for item in section.items[: PAGE.items]], len(section.items), "checks")
            case parts.PairsSection():
                pairs = [
                    f'<li>{_sign(one.state)}<span class="soft">{shown(one.key)}</span> {shown(one.value)}{self._away("", None, one.to)}</li>'
                    for one in section.pairs[: PAGE.items]
                ]
                yield from _list(pairs, len(section.pairs), "checks")
            case parts.TableSection():
                rows = [
                    (self._id(row.id), [_sign(row.state), *map(shown, row.cells), shown(row.note) + self._away(row.id, row.finding, row.to)])
                    for row in section.rows[: PAGE.items]
                ]
                yield from _table(section.title, ("", *section.columns, ""), rows, len(section.rows))
            case parts.TimelineSection():
                yield from _table(section.title, TIMELINE_COLUMNS, [self._entry(one) for one in in_order(section)[: PAGE.items]], len(section.entries))
            case parts.BarsSection():
                yield '<ul class="checks bars">' + "".join(map(_bar, section.bars)) + "</ul>"

    def _entry(self, entry: parts.Entry) -> tuple[str, list[str]]:
        """An entry of a timeline as a row: its anchor, and its cells."""
        note = shown(entry.note) + self._away(entry.id, entry.finding, entry.to)
        return self._id(entry.id), [_sign(entry.state), shown(span_of(entry)), shown(entry.lane), shown(entry.text), note]

    def _item(self, item: parts.Item) -> str:
        label = f'<span class="soft">{shown(item.label)}</span> ' if item.label else ""
        note = f" <small>{shown(words)}</small>" if (words := matter(item)) else ""
        return f"<li{self._id(item.id)}>{_sign(item.state)}{label}{shown(item.text)}{note}{self._away(item.id, item.finding, item.to)}</li>"

    def _away(self, id: str, finding: int | None, to: Sequence[str]) -> str:
        """Links to the marked places, and to whatever else belongs to a part."""
        targets = self._links.from_part(id, finding, to)
        links = " ".join(f'<a href="#{one.anchor}">{shown(one.name)}</a>' for one in targets[:LINKS_MAX])
        more = f" and {len(targets) - LINKS_MAX:,} more" if len(targets) > LINKS_MAX else ""
        return f' <span class="away">→ {links}{more}</span>' if links else ""

    def _back(self, mark: Mark) -> str:
        """A mark's sign; it leads to what the mark is about."""
        target = self._links.from_mark(mark)
        if target is None:
            return _sign(mark.state).rstrip()
        words = "; ".join(filter(None, (WORDS[mark.state], told(mark), f"to {target.name}")))
        sign = f'<span class="sign tone-{TONES[mark.state]}" aria-hidden="true">{SIGNS[mark.state]}</span>'
        return f'<a href="#{target.anchor}" title="{shown(words)}" aria-label="{shown(words)}">{sign}</a>'

    def _mark(self, piece: str, mark: Mark) -> str:
        """A marked place."""
        return f'<mark class="tone-{TONES[mark.state]}"{_anchor(self._links.place_of(mark))}>{self._back(mark)}{_escaped(piece)}</mark>'

    def _text(self, section: parts.TextSection) -> Iterator[str]:
        text = section.text[: PAGE.text_chars]
        drawn = (_escaped(piece) if mark is None else self._mark(piece, mark) for piece, mark in pieces(text, section.marks))
        yield f'<p class="text">{"".join(drawn)}</p>' if text else ""
        yield from _rest(len(section.text) - len(text), "character")

    def _code(self, section: parts.CodeSection) -> Iterator[str]:
        lines = section.text.split("\n")
        marks, wanted = self._links.lines[section.id]
        if len(wanted) < len(lines):
            yield f"<p><small>{counted(len(lines), 'line')}; {'those around marks' if wanted else 'none is marked'}</small></p>"
        if not wanted:
            return
        yield f'<div class="scroll lines" tabindex="0" role="region" aria-label="{shown(section.title)}"><table><tbody>'
        for line in wanted:
            found = marks.get(line, [])
            tone = f' class="tone-{TONES[found[0].state]} marked"{_anchor(self._links.line(section, line))}' if found else ""
            notes = "".join(f"<small>{self._back(mark)} {shown(told(mark))}</small>" for mark in found)
            yield f'<tr{tone}><td class="num">{line}</td><td><code>{_escaped(cut(lines[line - 1], found, PAGE))}</code>{notes}</td></tr>'
        yield "</tbody></table></div>"


def _anchor(target: Target | None) -> str:
    """The attribute of a marked place."""
    return "" if target is None else f' id="{target.anchor}"'


def _escaped(text: str) -> str:
    """A text with its line ends; everything else that is not printable is an escape."""
    return "\n".join(shown(line.replace("\t", "    ")) for line in text.replace("\r\n", "\n").split("\n"))


def _sign(state: MarkState | None) -> str:
    if state is None:
        return ""
    return f'<span class="sign tone-{TONES[state]}" role="img" aria-label="{WORDS[state]}">{SIGNS[state]}</span> '


def _bar(bar: parts.Bar) -> str:
    """A value with its bar; the bar repeats the number, so it is hidden from readers that speak."""
    bed, filled = (f'<rect{kind} width="{width:.1f}" height="6"/>' for kind, width in ((' class="bed"', 100), ("", fraction(bar) * 100)))
    drawn = f'<svg viewBox="0 0 100 6" aria-hidden="true" preserveAspectRatio="none">{bed}{filled}</svg>'
    value = shown(bar.printed or number(bar.value))
    return f"<li><span>{_sign(bar.state)}{shown(bar.name)}</span><b>{value}</b>{drawn}<small>{shown(beside(bar))}</small></li>"


def _list(lines: Sequence[str], total: int, name: str) -> Iterator[str]:
    yield f'<ul class="{name}">{"".join(lines)}</ul>' if lines else ""
    yield from _rest(total - len(lines), "item")


def _table(title: str, header: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], total: int) -> Iterator[str]:
    """A table of rows, each with its anchor; columns of signs and notes are left out where they are empty."""
    kept = kept_columns(header, [cells for _, cells in rows])
    head = "".join(f'<th scope="col">{shown(header[column])}</th>' if header[column] else "<td></td>" for column in kept)
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{shown(title)}"><table><thead><tr>{head}</tr></thead><tbody>'
    for anchor, cells in rows:
        yield f"<tr{anchor}>" + "".join(f"<td>{cells[column] if column < len(cells) else ''}</td>" for column in kept) + "</tr>"
    yield "</tbody></table></div>"
    yield from _rest(total - len(rows), "row")


def _rest(left: int, noun: str) -> Iterator[str]:
    if left > 0:
        yield f'<p class="rest">and {counted(left, f"more {noun}")}; <code>touchstone show --all</code> shows everything</p>'
