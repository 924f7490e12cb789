"""Sentences as offsets into a text, and sliding windows of them. pysbd splits the text; its errors in clinical text are corrected here."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

#: pysbd looks for each sentence from the start of what it was given, so its time grows with the square of that.
BLOCK_CHARS = 2_000

_TERMINAL = ".!?…。！？｡．؟۔।॥"
_FULL_WIDTH = "。！？｡．"
_CLOSING = "\"'”’“‘»›」』）)]}*_`"
_ENDS = re.compile(rf"[{re.escape(_TERMINAL)}][{re.escape(_CLOSING)}]*$")
_CLOSING_ONLY = re.compile(rf"[{re.escape(_CLOSING + _TERMINAL)}]+$")
_BULLET = re.compile(r"(?:[-*+•◦▪‣–—·]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])\s+\S")
_MARKER_ONLY = re.compile(r"(?:[-*+•◦▪‣·#]+|\(?(?:\d{1,3}|[a-zA-Z])[.)])$")
#: A sentence hardly ever ends after these.
_NEVER_LAST = re.compile(
    r"(?:^|[\s(\[\"'“‘/])(?:pt|pts|dr|drs|mr|mrs|ms|messrs|prof|hon|rep|reps|sen|sens|gov|gen|col|lt|sgt|capt|rev|fr|st|mt|ft|vs|viz|cf|ca|approx|resp|fig|figs|eq|eqs"
    r"|ref|refs|vol|dx|hx|rx|sx|tx|fx|e\.g|i\.e|s/p|c/o|r/o|w/o)\.$",
    re.IGNORECASE,
)
#: After these a sentence may end, but not where a small letter, a digit or a bracket comes next.
_SELDOM_LAST = re.compile(
    r"(?:^|[\s(\[\d])(?:p\.?o|i\.?v|i\.?m|s\.?c|s\.?l|p\.?r|p\.?r\.?n|q\.?d|q\.?h|q\.?i\.?d|b\.?i\.?d|t\.?i\.?d|q\.?h\.?s|q\.?o\.?d|h\.?s|a\.?c|p\.?c|stat|mg|mcg|kg|ml|dl|mmol|meq|tab|tabs|cap"
    r"|caps|hr|hrs|min|mins|sec|wk|wks|mo|mos|yr|yrs|no|nos|art|arts|sec|secs|para|ch|pp|p|al|etc|inc|ltd|co|corp|dept|est|max|a\.m|p\.m|u\.s|u\.k|e\.u)\.$",
    re.IGNORECASE,
)
#: A number with its unit, then a full stop: pysbd takes a single letter for an initial.
_AFTER_UNIT = re.compile(r"(?<=\d )(?:°?[CFKLgmsh]|mg|mL|ml|kg|cm|mm|dL)\. +(?=[A-Z])")
_BREAK = re.compile(r"\n\s*\n")
#: Where one element of a tagged text ends and the next begins; tags inside a sentence (emphasis, links) are no boundary.
_BETWEEN_TAGS = re.compile(r"</(?!(?:b|i|em|strong|u|s|span|a|code|sub|sup|mark|small|q)>)[A-Za-z][\w:.-]{0,40}>\s*(?=<[A-Za-z])")
#: Nothing is said here: tags alone, or the rule under the head of a table.
_TAGS_ONLY = re.compile(r"(?:</?[A-Za-z][^<>]{0,100}>\s*)+")
_RULE = re.compile(r"[|:\s=+-]*[-=]{3}[|:\s=+-]*")
_SILENT_CHARS = 200
_HEADING = re.compile(r"#{1,6}\s+\S|(\*\*|__)[^*_\n]{1,100}\1\s*:?$")


class Span(NamedTuple):
    """Characters `start` up to `end` of a text."""

    start: int
    end: int


class Window(NamedTuple):
    """Some sentences in a row. `first`: index of the first one; `size`: how many."""

    start: int
    end: int
    first: int
    size: int


def split(text: str) -> list[Span]:
    """The sentences of a text, in order, without the white space around them; every other character is in exactly one.

    Time grows linearly with the text, some seconds per megabyte. Never raises.
    """
    boundaries = [boundary for block in _blocks(text) for boundary in _boundaries(text, block)]
    spans: list[Span] = []
    for start, end in pairwise([*boundaries, len(text)]):
        span = _trimmed(text, start, end)
        if span is None:
            continue
        if spans and _joined(text, spans[-1], span):
            spans[-1] = Span(spans[-1].start, span.end)
        else:
            spans.append(span)
    return spans


def windows(spans: Sequence[Span], sizes: Sequence[int]) -> list[Window]:
    """W(x): every run of `sizes` sentences, by size as given. A text shorter than every size is one window; one without sentences has none.

    A text one sentence longer has the same windows and more: what a longer text supports never shrinks.
    """
    found = [
        Window(spans[first].start, spans[first + size - 1].end, first, size)
        for size in dict.fromkeys(sizes)
        for first in range(len(spans) - size + 1)
    ]  # fmt: skip
    if not found and spans:
        return [Window(spans[0].start, spans[-1].end, 0, len(spans))]
    return found


def _blocks(text: str) -> Iterator[Span]:
    """Parts of a text that are split one by one: up to the last line, sentence or blank that fits, else cut hard."""
    start = 0
    while start < len(text):
        limit = start + BLOCK_CHARS
        if limit >= len(text):
            yield Span(start, len(text))
            return
        part = text[start:limit]
        cut = max(part.rfind("\n"), 0)
        if cut < BLOCK_CHARS // 4:
            cut = max((part.rfind(end) for end in (". ", "! ", "? ", "。")), default=-1) + 1
        if cut < BLOCK_CHARS // 4:
            cut = part.rfind(" ")
        if cut < BLOCK_CHARS // 4:
            cut = len(part) - 1
        yield Span(start, start + cut + 1)
        start += cut + 1


def _boundaries(text: str, block: Span) -> list[int]:
    """Where sentences begin in a block, its own start first; nothing is lost, since only the places are taken."""
    part = text[block.start : block.end]
    places = {0, *(match.end() for pattern in (_AFTER_UNIT, _BETWEEN_TAGS) for match in pattern.finditer(part))}
    if part.strip():
        places |= set(_segmenter()(part))
    return [block.start + place for place in sorted(places) if place < len(part)]


def _joined(text: str, before: Span, after: Span) -> bool:
    """True if two spans belong to the same sentence."""
    gap = text[before.end : after.start]
    if _BREAK.search(gap):
        return False
    first = text[before.start : before.end][-40:] if before.end - before.start > 40 else text[before.start : before.end]
    second = text[after.start : min(after.end, after.start + 40)]
    if _is_silent(text, before):
        return not second.startswith("</") or first.startswith("<")
    if _is_silent(text, after):
        return second.startswith("</") or not second.startswith("<")
    if not gap:  # an address, a decimal, a word that was cut hard; only full-width stops end a sentence without a blank
        if first[-1] == ">" and second[0] == "<":
            return _BETWEEN_TAGS.match(text, before.start + (first.rfind("<") - len(first)) % (before.end - before.start)) is None
        return first[-1] not in _FULL_WIDTH or _CLOSING_ONLY.match(text[after.start : after.end]) is not None
    line_break = "\n" in gap
    if line_break and (_BULLET.match(text, after.start) or _stands_alone(text, before, after)):
        return False
    if _MARKER_ONLY.fullmatch(text[before.start : before.end]) and not line_break:
        return True
    if _CLOSING_ONLY.fullmatch(text[after.start : after.end]):
        return True
    ended = _ENDS.search(first) is not None
    if _NEVER_LAST.search(first):
        return True
    if second[0].islower() or ((second[0].isdigit() or second[0] in "([") and _SELDOM_LAST.search(first)):
        # A line of its own without a full stop is a heading or an item, unless the next goes on in small letters.
        return not ended or _SELDOM_LAST.search(first) is not None or first[-1] == "."
    # A cut that a block made, or a blank that pysbd took for an end.
    return not ended and not line_break


def _is_silent(text: str, span: Span) -> bool:
    """True if a span is tags or a rule alone."""
    if span.end - span.start > _SILENT_CHARS or text[span.start] not in "<|-=:+":
        return False
    return (_TAGS_ONLY.fullmatch(text, span.start, span.end) or _RULE.fullmatch(text, span.start, span.end)) is not None


def _stands_alone(text: str, before: Span, after: Span) -> bool:
    """True if a line break ends the sentence before it: after a heading, and between the rows of a table."""
    begin = max(text.rfind("\n", before.start, before.end) + 1, before.start, before.end - BLOCK_CHARS)
    if _HEADING.match(text, begin, before.end):
        return True
    end = text.find("\n", after.start, min(after.end, after.start + BLOCK_CHARS))
    line, following = text[begin : before.end], text[after.start : end if end >= 0 else after.end]
    return any(separator in line and separator in following for separator in ("|", "\t"))


def _trimmed(text: str, start: int, end: int) -> Span | None:
    """A span without the white space around it; None if nothing else is left."""
    part = text[start:end]
    bare = part.strip()
    if not bare:
        return None
    start += len(part) - len(part.lstrip())
    return Span(start, start + len(bare))


@lru_cache(maxsize=1)
def _segmenter() -> Callable[[str], list[int]]:
    """The library behind a lock (it keeps the text it works on), as a function from a text to the places where sentences begin."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its patterns are written with escapes that newer Pythons warn of
        import pysbd  # type: ignore[import-untyped]
    segmenter = pysbd.Segmenter(language="en", clean=False)
    lock = threading.Lock()

    def places(part: str) -> list[int]:
        with lock:
            try:
                sentences = segmenter.processor(part).process()
            except Exception:  # noqa: BLE001 -- whatever its patterns stumble over, the text is one span then
                return []
        # Its own search for the places begins at the start of the text for each sentence; and a sentence that it altered is skipped.
        found, cursor = [], 0
        for sentence in map(str, sentences):
            place = part.find(sentence, cursor)
            if place >= 0:
                found.append(place)
                cursor = place + len(sentence)
        return found

    return places
