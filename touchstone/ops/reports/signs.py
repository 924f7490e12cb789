"""The signs of a reading's marks, the same in terminals and HTML: beside colours, for readers who cannot distinguish them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from touchstone.schemas.reading import Mark, MarkState

SIGNS: Final[Mapping[MarkState, str]] = {"good": "✓", "missing": "○", "bad": "✗", "unsure": "?", "note": "·"}
WORDS: Final[Mapping[MarkState, str]] = {"good": "as it should be", "missing": "missing", "bad": "wrong", "unsure": "uncertain", "note": "note"}


def pieces(text: str, marks: Sequence[Mark]) -> Iterator[tuple[str, Mark | None]]:
    """The text in pieces, each with its mark. Of two marks that overlap, the second loses what the first has; marks beyond the text are dropped."""
    at = 0
    spans = [(mark.start, mark.end, mark) for mark in marks if mark.start is not None and mark.end is not None]
    for begin, stop, mark in sorted(spans, key=lambda span: (span[0], span[1])):
        start, end = max(begin, at), min(stop, len(text))
        if start >= end:
            continue
        if start > at:
            yield text[at:start], None
        yield text[start:end], mark
        at = end
    if at < len(text):
        yield text[at:], None


def by_line(text: str, marks: Sequence[Mark]) -> dict[int, list[Mark]]:
    """Line, counted from 1, → the marks on it, in order; of a mark with a span the line of its start."""
    found: dict[int, list[Mark]] = {}
    line, at = 1, 0
    spans = sorted((mark for mark in marks if mark.line is None and mark.start is not None), key=lambda mark: mark.start or 0)
    for mark in spans:
        start = mark.start or 0
        line += text.count("\n", at, start)
        at = start
        found.setdefault(line, []).append(mark)
    for mark in marks:
        if mark.line is not None:
            found.setdefault(mark.line, []).append(mark)
    return found
