"""The last lines of a text as rows, items, labelled values, names, addresses or verse, which end without a full stop."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from touchstone.scorers.summary.hard_fails.endings.words import (
    AUXILIARY,
    BRANCHING,
    FINITE,
    HANGING,
    PARTLESS,
    STOPS_SHORT,
    SUBJECT,
    TERMINAL,
    UNFINISHED,
    without_closing,
)

#: Characters of a last line that are checked for its end: some searches below take quadratic time.
TAIL_CHARS = 400
#: Lines before the last one that are read to see what kind of text it is.
LINES_BEFORE_MAX = 60
_ITEM = re.compile(
    r"\s*(?:[-*+•◦▪‣·–—]|\[[ xX]?\]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]|\d{1,2}(?:\.\d{1,2}){1,3}\.?"
    r"|[→➤➔✓✔✗✘»]|[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?)\s+(?=\S)"
)
#: "AB – chase the surveyor": a name, a dash, a remark.
_DASHED = re.compile(r"\s*\S+(?: \S+){0,3}\s[–—-]\s\S")
HEADING = re.compile(r"\s{0,3}#{1,6}\s+\S|\s*(\*\*|__)(?=\S)[^*_\n]{1,100}(?<=\S)\1\s*:?\s*$")
_UNDERLINE = re.compile(r"\s*(?:={3,}|-{3,}|\|?[\s:|-]*-{3}[\s:|-]*)\s*$")
_LABEL = re.compile(r"\s*(?:\*\*|__)?([A-Z][\w/&'’()+ -]{0,40}?)\s?(?:\*\*|__)?:(?:\*\*|__)?\s+(\S.*)$")
#: The same behind a finished sentence, with a word or a number: "He is home. Deaths: 0".
_LABELLED_END = re.compile(r"(?<=[.!?] )([A-Z][\w-]*):\s(\d[\d.,]*|none|no|yes)$", re.IGNORECASE)
#: Labels before prose.
_PROSE_LABEL = frozenset(("summary", "conclusion", "conclusions", "overview", "background", "abstract", "note", "answer", "introduction", "response"))
_VALEDICTION = re.compile(r"\b(?:regards|sincerely|faithfully|truly|wishes|respectfully|yours|thanks|cheers)\b[\w ]{0,20},?$", re.IGNORECASE)
_NAME_WORD = re.compile(r"(?:[^\W\d_a-z][\w.'’&-]*,?|of|and|de|der|van|von|the|for|v|vs|\[\d{4}\]|\(\d{4}\)|\d{1,4})$")
_NO_NAME_FIRST = re.compile(
    r"(?:The|An?|He|She|It|They|We|I|This|These|Those|His|Her|Their|There|In|On|At|After|Before|However|But|And|Or|So|If|When|While|For|With|By|As)$"
)
_LONELY_TITLE = re.compile(r"(?:Mr|Mrs|Ms|Dr|Prof)$")


class Lines(NamedTuple):
    """The last line with content, those with content before it (nearest last), and whether an underline follows or a blank line precedes it."""

    last: str
    before: Sequence[str]
    underlined: bool
    apart: bool


def last_lines(text: str) -> Lines:
    """The end of a text in lines; ends of code fences and rules are no content."""
    every = text.splitlines()
    at = len(every) - 1
    while at >= 0 and not every[at].strip(" \t`~-_*=|"):
        at -= 1
    if at < 0:
        return Lines("", (), underlined=False, apart=False)
    before = [line for line in every[max(0, at - LINES_BEFORE_MAX) : at] if line.strip(" \t`~")]
    underlined = at + 1 < len(every) and _UNDERLINE.match(every[at + 1][:TAIL_CHARS]) is not None
    return Lines(every[at], before, underlined, apart=at > 0 and not every[at - 1].strip())


def is_whole_row(lines: Lines) -> bool | None:
    """True if the last line is a table's row with every column, False if columns are missing; None if it is no row."""
    last = lines.last.strip()
    above = [line.strip() for line in lines.before[-3:]]
    if last.startswith("|"):
        return _is_whole_piped_row(last, above, underlined=lines.underlined)
    if (row := _is_whole_separated_row(last, above, apart=lines.apart)) is not None:
        return row
    return _is_row_of_cells(last, above)


def _is_whole_piped_row(last: str, above: Sequence[str], *, underlined: bool) -> bool | None:
    """A Markdown row, "| a | b |", with as many columns as the rows above."""
    if last.endswith("|"):
        columns = max((line.count("|") for line in above if line.startswith("|")), default=0)
        # An underlined row is a head without rows.
        return last.count("|") >= columns and not underlined and len(last) > 1
    return False if any(line.endswith("|") for line in above) else None


def _is_whole_separated_row(last: str, above: Sequence[str], *, apart: bool) -> bool | None:
    """A row with tabs, or with pipes between its cells alone."""
    for separator in ("\t", "|"):
        counts = [line.count(separator) for line in above]
        if not counts or not counts[-1] or (separator == "|" and above[-1].startswith("|")):
            continue
        if last.count(separator) >= counts[-1]:
            return STOPS_SHORT.search(last) is None
        if len(counts) > 1 and counts[-2] == counts[-1] and (not apart or last.count(separator)):
            return False
    return None


def _is_row_of_cells(last: str, above: Sequence[str]) -> bool | None:
    """A row of short cells with commas or wide gaps between them, like the two rows above; such a row is never found to be cut."""
    rows = [*above[-2:], last]
    if len(rows) < 3 or not ("," in last or ";" in last or "  " in last) or any(line[-1:] in TERMINAL for line in rows):
        return None
    for cells in ([re.split(r"[,;]", line) for line in rows], [re.split(r"\s{2,}", line) for line in rows]):
        same = len({len(row) for row in cells}) == 1 and len(cells[0]) > 1
        if same and all(0 < len(cell.split()) <= 4 for row in cells for cell in row):
            return STOPS_SHORT.search(last) is None
    return None


def is_whole_item(lines: Lines, bare: str) -> bool | None:
    """True if the last line is, or goes on with, an item of a list and shows no cut; None if it is no item."""
    first = lines.last
    if not (marker := _ITEM.match(first)):
        # An item that goes on over lines: indented ones, or such as begin in small letters.
        above = lines.before[:-6:-1]
        if lines.apart or not above or not (first[:1].isspace() or first[:1].islower()):
            return None
        first = next((line for line in above if _ITEM.match(line) or not (line[:1].isspace() or line[:1].islower())), "")
        if not (marker := _ITEM.match(first)):
            return None
    words = first[marker.end() :]
    others = [line.rstrip() for line in lines.before if _ITEM.match(line)]
    ends = {line[-1] for line in others}
    if bare[-1:] in ",;" and bare[-1:] and ends == {bare[-1]}:
        return True
    if STOPS_SHORT.search(bare):
        return False
    if ends and ends <= TERMINAL and (len(others) > 1 or SUBJECT.match(words)) and len(words.split()) > 3:
        return False  # a list of sentences, and the last of them has no end
    if len(others) > 1 and PARTLESS.search(bare) and not BRANCHING.search(words) and not any(HANGING.search(line) for line in others):
        return False  # "Help from" below items that end with no such word
    if len(words.split()) > 5 and HANGING.search(bare) and not BRANCHING.search(words):
        return False
    return not (SUBJECT.match(words) and AUXILIARY.search(bare) and not BRANCHING.search(words))


def is_labelled_value(lines: Lines, bare: str) -> bool:
    """True if the last line is "Label: value": a value, not a sentence."""
    label = _LABEL.match(lines.last[:TAIL_CHARS]) or _LABELLED_END.search(lines.last[-TAIL_CHARS:])
    if label is None or len(label[1].split()) > 5:
        return False
    value = without_closing(label[2])
    among = sum(_LABEL.match(line[:TAIL_CHARS]) is not None and line.rstrip()[-1] not in TERMINAL for line in lines.before[-4:])
    if SUBJECT.match(value) or STOPS_SHORT.search(bare) or (UNFINISHED.search(bare) and len(value.split()) > 3):
        return False
    if among:
        return True
    return label[1].lower() not in _PROSE_LABEL and len(value.split()) <= 12 and FINITE.search(value) is None


def is_signature(lines: Lines) -> bool:
    """True if the text ends with lines of names and titles, apart from the prose before: a signature, or a heading without a mark."""
    if not _is_name(lines.last):
        return False
    if not lines.before:
        return False
    above = list(lines.before[-4:])
    while len(above) > 1 and _is_name(above[-1]):
        above.pop()
    before = above[-1].rstrip()
    if _VALEDICTION.search(before[-60:]):
        return True
    return (lines.apart or len(above) < min(4, len(lines.before))) and (without_closing(before)[-1:] or " ") in TERMINAL


def is_address(lines: Lines) -> bool:
    """True if the last line goes on with an address that the lines before it began: after a colon, a comma or a name, in capitals and numbers."""
    words = lines.last.split()
    if lines.apart or not lines.before or not 0 < len(words) <= 8:
        return False
    above = lines.before[-1].rstrip()
    return (above[-1] in ",:" or _is_name(above)) and all(word[0].isupper() or word[0].isdigit() or len(word) <= 3 for word in words)


def _is_name(line: str) -> bool:
    """True if a line is one to six words as names, titles and headings are written."""
    words = line.strip(" \t*_").split()
    if not 0 < len(words) <= 8 or _NO_NAME_FIRST.match(words[0]) or _LONELY_TITLE.fullmatch(words[-1]):
        return False
    named = words[-1][0].isupper() or (words[-1][0] in "[(0123456789" and not {"v", "v.", "vs"}.isdisjoint(words))
    return words[0][0].isupper() and named and all(_NAME_WORD.match(word) for word in words)


def is_dashed(lines: Lines) -> bool:
    """True if the last two lines are both "name – remark"."""
    above = lines.before[-1] if lines.before else ""
    both = _DASHED.match(lines.last[:TAIL_CHARS]) is not None and _DASHED.match(above[:TAIL_CHARS]) is not None
    return both and above.rstrip()[-1] not in TERMINAL and STOPS_SHORT.search(lines.last.rstrip()) is None


def is_headline(lines: Lines) -> bool:
    """True if the last line is written as headlines are: in capitals, or each longer word with one."""
    words = lines.last.strip(" \t*_").split()
    bare = lines.last.strip()
    if bare.lower().endswith((" the", " a", " an", " and", " or", " of", " to", " in", " with", " for", " by")) or bare[-1:] in ",;:-–—(":
        return False
    if bare.isupper():
        return len(words) > 1 and sum(map(str.isalpha, bare)) > 5
    long = [word for word in words if len(word) > 3 and word[0].isalpha()]
    return len(words) > 3 and len(long) > 2 and words[0][0].isupper() and all(word[0].isupper() for word in long)


def is_apart(lines: Lines) -> bool:
    """True if the last line is a few words in a paragraph of their own, after a finished one: "xx Mum", "No service"."""
    words = lines.last.split()
    above = lines.before[-1].rstrip() if lines.before else ""
    return (
        lines.apart
        and len(words) <= 3
        and (above[-1:] in TERMINAL or HEADING.match(above) is not None)
        and _NO_NAME_FIRST.match(words[0]) is None
        and SUBJECT.match(lines.last) is None
        and FINITE.search(lines.last) is None
    )


def is_verse(lines: Lines) -> bool:
    """True if a text is in lines so short that only verse and lists are."""
    return len(lines.before) > 2 and all(len(line.split()) <= 4 for line in (*lines.before, lines.last)) and STOPS_SHORT.search(lines.last.rstrip()) is None


def is_of_lines(lines: Lines) -> bool:
    """True if a text is written in lines that are no sentences: a verse, a list without marks; not prose in hard-wrapped lines."""
    if len(lines.before) < 2:
        return False
    every = [*(line.strip() for line in lines.before), lines.last.strip()]
    without_stop = sum(without_closing(line)[-1:] not in TERMINAL for line in every[:-1])
    if without_stop * 3 < (len(every) - 1) * 2 or max(map(len, every)) > 80:
        return False
    capital = sum(not line[0].islower() for line in every)
    return capital * 5 >= len(every) * 4 or all(len(line.split()) <= 4 for line in every)
