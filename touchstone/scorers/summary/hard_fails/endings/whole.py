"""The end of a text: is it the end of its last sentence, list, table, heading or tag (Loss V3 §4, truncation)?

Prose ends with a full stop of any script; closing quotes, brackets, emphasis and references may follow. What is built of lines does not: an item of a
list, a heading, a row of a table, tagged text, a signature, `Label: value`, and lines that are no sentences (a verse, a list without marks) are whole
whatever word they end with, as long as nothing shows a cut: an article or "and" at the end, a row that lacks columns, a tag that is not closed.
"""

import re
from typing import NamedTuple

from touchstone.scorers.summary.hard_fails.endings.against import ends_with_mark
from touchstone.scorers.summary.hard_fails.endings.lines import (
    HEADING,
    TAIL_CHARS,
    Lines,
    is_address,
    is_apart,
    is_dashed,
    is_headline,
    is_labelled_value,
    is_of_lines,
    is_signature,
    is_verse,
    is_whole_item,
    is_whole_row,
    last_lines,
)
from touchstone.scorers.summary.hard_fails.endings.marks import (
    CITATION,
    EMOTICON,
    INLINE_CODE,
    NOTE,
    POSTCODE,
    REMARK,
    SCORE,
    TELEPHONE,
    ends_with_address,
    ends_with_value,
    is_symbol,
    remark_after_stop,
)
from touchstone.scorers.summary.hard_fails.endings.words import BEFORE_NAME, STOPS_SHORT, TAG_CLOSED, TERMINAL, UNFINISHED, WITHOUT_STOP, without_closing

_TAG_VOID = re.compile(r"<(?:br|hr|p|img|wbr)\b[^<>]*>$", re.IGNORECASE)
_TAG_OPEN_END = re.compile(r"<(?:/[A-Za-z]?|[A-Za-z!])[^<>]*$")
_INLINE = frozenset(("b", "i", "em", "strong", "u", "s", "span", "a", "code", "sub", "sup", "mark", "small", "font", "abbr", "q"))
_STRUCTURE = re.compile(r"[{\[]\s*[\"{\[]")
_FENCE = re.compile(r"\s*(?:```|~~~)")
#: A quotation that breaks off is finished by its mark.
_QUOTES = frozenset("\"'”’»›」』")
_TRAILING_OFF = re.compile(r"\b(?:etc|so on|so forth|and more)\W{1,8}$")


class _End(NamedTuple):
    """The end of a text: its last lines, the last one without line-break tags (`stripped`), and that without closing marks (`bare`)."""

    text: str
    lines: Lines
    stripped: str
    bare: str


def ends_whole(text: str) -> bool:
    """True if a text is whole at its end. Linear time."""
    if (block := _ends_in_block(text)) is not None:
        return block
    if ends_with_mark(text):
        return False
    lines = last_lines(text)
    stripped = _without_voids(lines.last.rstrip()[-TAIL_CHARS:])
    end = _End(text, lines, stripped, without_closing(stripped))
    for rule in (_by_tag, _by_last_mark, _by_row, _by_full_stop, _by_item, _by_heading, _by_line):
        if (whole := rule(end)) is not None:
            return whole
    return _needs_no_full_stop(end)


# Rules in their order. Each returns True (whole), False (cut off), or None if it does not apply.


def _by_tag(end: _End) -> bool | None:
    """False inside an open tag, True behind a closed element that is no inline markup."""
    if _ends_in_tag(end.text, end.stripped):
        return False
    closed = TAG_CLOSED.search(end.stripped)
    if closed and ((closed[1] or "").lower() not in _INLINE or _is_element_apart(end.stripped, closed[1])):
        return True
    return None


def _by_last_mark(end: _End) -> bool | None:
    """An ellipsis cuts a text off unless a quotation mark closes it, or "and so on" is before it; so does "Dr." at the end."""
    if end.bare.endswith(("...", "…", "‥", ". . .")):
        return end.stripped[len(end.bare) :].strip()[:1] in _QUOTES or _TRAILING_OFF.search(end.bare) is not None
    return False if BEFORE_NAME.search(end.bare) else None


def _by_row(end: _End) -> bool | None:
    return is_whole_row(end.lines)


def _by_full_stop(end: _End) -> bool | None:
    return True if end.bare and end.bare[-1] in TERMINAL else None


def _by_item(end: _End) -> bool | None:
    return is_whole_item(end.lines, end.bare)


def _by_heading(end: _End) -> bool | None:
    is_heading = end.lines.underlined or HEADING.match(end.lines.last)
    return STOPS_SHORT.search(end.bare) is None if is_heading else None


def _by_line(end: _End) -> bool | None:
    """True for "Label: value", emoticons and verse; otherwise "and", "the" or a comma at the end shows a cut."""
    if is_labelled_value(end.lines, end.bare) or EMOTICON.search(end.stripped) or is_verse(end.lines):
        return True
    return is_dashed(end.lines) if UNFINISHED.search(end.bare) else None


def _needs_no_full_stop(end: _End) -> bool:
    """True for what ends without a full stop: addresses, quantities, headlines, citations, symbols, signatures, lines that are no sentences."""
    lines, stripped = end.lines, end.stripped
    return (
        ends_with_address(stripped)
        or ends_with_value(stripped)
        or any(pattern.search(stripped) for pattern in (CITATION, TELEPHONE, POSTCODE, INLINE_CODE, SCORE, REMARK))
        or NOTE.match(lines.last) is not None
        or WITHOUT_STOP.search(end.bare) is not None
        or is_symbol(end.bare)
        or remark_after_stop(end.text)
        or any(shape(lines) for shape in (is_dashed, is_headline, is_apart, is_signature, is_address, is_of_lines))
    )


def _ends_in_block(text: str) -> bool | None:
    """True if a block of code, or a text that is one structure of braces, is closed at the end; None if the text does not end in such."""
    bare = text.strip()
    if _STRUCTURE.match(bare):
        return bare[-1] in "}]"
    lines = bare.splitlines()
    fences = [at for at, line in enumerate(lines) if _FENCE.match(line)]
    if not fences:
        return None
    if fences[-1] == len(lines) - 1:  # a text that is nothing but a block is judged by its content
        return True if len(fences) % 2 == 0 and fences[-2] > 0 else None
    return False if len(fences) % 2 and fences[-1] > 0 and bare[-1] not in TERMINAL else None


def _is_element_apart(stripped: str, name: str) -> bool:
    """True if an inline element is the whole end, or all after a full stop: "It was late. <b>Refund: $61</b>"."""
    before = stripped[: max(stripped.rfind(f"<{name}>"), stripped.rfind(f"<{name} "), 0)].rstrip()
    return not before or before[-1] in TERMINAL


def _without_voids(stripped: str) -> str:
    """A line without tags at its end that hold nothing: line breaks."""
    while void := _TAG_VOID.search(stripped):
        stripped = stripped[: void.start()].rstrip()
    return stripped


def _ends_in_tag(text: str, stripped: str) -> bool:
    """True if a tagged text is cut inside a tag: "<summary>He is home.</summ"."""
    opened = _TAG_OPEN_END.search(stripped)
    return opened is not None and (opened[0].startswith("</") or re.search(r"<[A-Za-z][\w:.-]*>", text) is not None)
