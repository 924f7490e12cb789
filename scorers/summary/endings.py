"""Whether a text ends where its last sentence, list, table, heading or tag does (Loss V3 §4, truncation).

Prose ends with a full stop of any script; closing quotes, brackets, emphasis and references may follow. What is built of lines does not: an item of a
list, a heading, a row of a table, tagged text, a signature, `Label: value`, and lines that are no sentences (a verse, a list without marks) are whole
whatever word they end with, as long as nothing shows a cut: an article or "and" at the end, a row that lacks columns, a tag that is not closed.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

#: Characters of a last line that are checked for its end: some searches below take quadratic time.
TAIL_CHARS = 400
#: So many lines before the last one say what kind of text it is.
LINES_BEFORE_MAX = 60

_TERMINAL = frozenset(".!?。！？｡．؟۔।॥።፧։៕။…")
_CLOSING = frozenset("\"'”’“‘»›«‹」』）)]}>*_`|~")
_OPENED_BY = {")": "(", "]": "[", "}": "{", "）": "("}
_REFERENCE = re.compile(r"(?:\[[\d,;\s–-]{1,40}\]|\(\d{1,3}\)|[\u00b9\u00b2\u00b3\u2070-\u2079]+)$")
#: A citation in brackets, a footnote's mark, or the number of a paper: what stands at the end of a finished sentence or of a reference.
_CITATION = re.compile(
    r"(?:\([^()]{0,80}\b(?:1[5-9]|20)\d\d[a-z]?(?:,? p+\. ?\d[\d–-]*)?\)"
    r"|\[\^?[\w,;\s–-]{1,40}\]|(?:doi|pmid|isbn|pmc|issn|arxiv)[:\s]\s*\S+|[\u00b9\u00b2\u00b3\u2070-\u2079]+)$",
    re.IGNORECASE,
)
_EMOTICON = re.compile(r"(?:^|\s)(?:[:;=8xX][-o^']?[)(\]DPp3/|]|<3|\^_?\^)$")
_TELEPHONE = re.compile(r"(?:^|[\s:])\+?\(?\d[\d ()./-]{6,}\d$")
_POSTCODE = re.compile(r"\b(?:[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]{2} \d{5}(?:-\d{4})?|\d{5} [A-Z][a-z]+|[A-Z]\d[A-Z] \d[A-Z]\d)$")
_NOTE = re.compile(r"\s*(?:\[\^?\w{1,10}\]:?|\(\d{1,3}\)|[\u00b9\u00b2\u00b3\u2070-\u2079]+|\*{1,3}|†|‡)\s*[A-Z]")
_ITEM = re.compile(r"\s*(?:[-*+•◦▪‣·–—]|\[[ xX]?\]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)])\s+(?=\S)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+\S|\s*(\*\*|__)(?=\S)[^*_\n]{1,100}(?<=\S)\1\s*:?\s*$")
_UNDERLINE = re.compile(r"\s*(?:={3,}|-{3,}|\|?[\s:|-]*-{3}[\s:|-]*)\s*$")
_URL = re.compile(r"(?:https?://|www\.)\S", re.IGNORECASE)
_MAIL_HOST = re.compile(r"[^\s@]+\.\w+")
#: Nothing ends with these; with a full stop they are abbreviations before a name or number.
_UNFINISHED = re.compile(
    r"(?:[,;:(\[{/&=<–—-]|(?:^|\s)(?:a|an|the|and|or|but|nor|of|to|in|on|at|by|for|with|from|into|as|that|which|who|whose|because|although|while|if|than|is|are"
    r"|was|were|be|been|has|have|had|will|would|can|could|should|may|might|must|its|their|his|her|our|my|your|not|between|including|such))$"
)
#: What not even an item ends with. In case: "Vitamin A", "Group An".
_STOPS_SHORT = re.compile(
    r"(?:[,;:(\[{/&=<–—]|(?:\w{3}|\s)-|(?:^|\s)(?:the|an|and|or|but|nor|my|your|their|our|its|whose|because|although|whereas|than|every"
    r"|(?<!vitamin )(?<!hepatitis )(?<!group )(?<!type )(?<!grade )(?<!class )(?<!part )(?<!option )(?<!section )a))$"
)
_SUBJECT = re.compile(r"(?:The|A|An|He|She|It|They|We|I|This|These|His|Her|Their|There|Patient|Pt\.?)\s")
_AUXILIARY = re.compile(
    r"(?:^|\s)(?:is|are|was|were|be|been|being|has|have|had|will|would|can|could|should|may|might|must|did|does|do|that|which|who|if|while|when)$"
)
_HANGING = re.compile(r"\s(?:of|to|with|for|from|by|at|into|between|as)$")
_FINITE = re.compile(r"\b(?:is|are|was|were|has|have|had|will|would|can|could|should|may|might|must|did|does)\b")
_BRANCHING = re.compile(r"\b(?:what|which|that|who|whom|how|where|when|why|as|than|if|so)\b(?=.*\s)", re.IGNORECASE)
_BEFORE_NAME = re.compile(r"(?:^|[\s(])(?:dr|mr|mrs|ms|prof|rep|sen|gov|gen|col|lt|sgt|vs|e\.g|i\.e|approx|fig|cf|viz)\.$", re.IGNORECASE)
#: Scripts that write no full stop: Thai and Lao.
_WITHOUT_STOP = re.compile(r"[\u0e00-\u0eff]$")

_TAG_CLOSED = re.compile(r"(?:</([A-Za-z][\w:.-]*)\s*>|<[A-Za-z][\w:.-]*(?:\s[^<>]*)?/>|\[/[A-Za-z]\w*\]|-->)$")
_TAG_VOID = re.compile(r"<(?:br|hr|p|img|wbr)\b[^<>]*>$", re.IGNORECASE)
_TAG_OPEN_END = re.compile(r"<(?:/[A-Za-z]?|[A-Za-z!])[^<>]*$")
_INLINE = frozenset(("b", "i", "em", "strong", "u", "s", "span", "a", "code", "sub", "sup", "mark", "small", "font", "abbr", "q"))
_LABEL = re.compile(r"\s*(?:\*\*|__)?([A-Z][\w/&'’()+ -]{0,40}?)\s?(?:\*\*|__)?:(?:\*\*|__)?\s+(\S.*)$")
#: Labels before prose.
_PROSE_LABEL = frozenset(("summary", "conclusion", "conclusions", "overview", "background", "abstract", "note", "answer", "introduction", "response"))
_STRUCTURE = re.compile(r"[{\[]\s*[\"{\[]")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_INLINE_CODE = re.compile(r"(?<!`)`[^`\n]+`$")
_VALEDICTION = re.compile(r"\b(?:regards|sincerely|faithfully|truly|wishes|respectfully|yours|thanks|cheers)\b[\w ]{0,20},?$", re.IGNORECASE)
_NAME_WORD = re.compile(r"(?:[^\W\d_a-z][\w.'’&-]*,?|of|and|de|der|van|von|the|for)$")
_NO_NAME_FIRST = re.compile(
    r"(?:The|An?|He|She|It|They|We|I|This|These|Those|His|Her|Their|There|In|On|At|After|Before|However|But|And|Or|So|If|When|While|For|With|By|As)$"
)
_LONELY_TITLE = re.compile(r"(?:Mr|Mrs|Ms|Dr|Prof)$")


class _Lines(NamedTuple):
    """The last line with content, those with content before it (nearest last), and what follows or precedes it without content."""

    last: str
    before: Sequence[str]
    underlined: bool
    apart: bool


def ends_whole(text: str) -> bool:
    """Whether a text is whole at its end. Takes time in proportion to the text."""
    if (block := _ends_in_block(text)) is not None:
        return block
    lines = _lines(text)
    stripped = _without_voids(lines.last.rstrip()[-TAIL_CHARS:])
    if _ends_in_tag(text, stripped):
        return False
    if (closed := _TAG_CLOSED.search(stripped)) and ((closed[1] or "").lower() not in _INLINE or _is_element_apart(stripped, closed[1])):
        return True
    bare = _without_closing(stripped)
    if bare.endswith(("...", "…", "‥", ". . .")) or _BEFORE_NAME.search(bare):
        return False
    if (row := _is_whole_row(lines)) is not None:
        return row
    if bare and bare[-1] in _TERMINAL:
        return True
    if (item := _is_whole_item(lines, bare)) is not None:
        return item
    if lines.underlined or _HEADING.match(lines.last):
        return _STOPS_SHORT.search(bare) is None
    if _is_labelled_value(lines, bare):
        return True
    if _EMOTICON.search(stripped):
        return True
    if _UNFINISHED.search(bare):
        return False
    return (
        _ends_with_address(stripped)
        or any(pattern.search(stripped) for pattern in (_CITATION, _TELEPHONE, _POSTCODE))
        or _NOTE.match(lines.last) is not None
        or _INLINE_CODE.search(stripped) is not None
        or _WITHOUT_STOP.search(bare) is not None
        or _is_symbol(bare)
        or _remark_after_stop(text)
        or _is_signature(lines)
        or _is_address(lines)
        or _is_of_lines(lines)
    )


def _lines(text: str) -> _Lines:
    """The end of a text in lines; ends of code fences and rules are no content."""
    every = text.splitlines()
    at = len(every) - 1
    while at >= 0 and not every[at].strip(" \t`~-_*=|"):
        at -= 1
    if at < 0:
        return _Lines("", (), underlined=False, apart=False)
    before = [line for line in every[max(0, at - LINES_BEFORE_MAX) : at] if line.strip(" \t`~")]
    underlined = at + 1 < len(every) and _UNDERLINE.match(every[at + 1][:TAIL_CHARS]) is not None
    return _Lines(every[at], before, underlined, apart=at > 0 and not every[at - 1].strip())


def _ends_in_block(text: str) -> bool | None:
    """Whether a block of code, or a text that is one structure of braces, is closed at the end; None where the text does not end in such."""
    bare = text.strip()
    if _STRUCTURE.match(bare):
        return bare[-1] in "}]"
    lines = bare.splitlines()
    fences = [at for at, line in enumerate(lines) if _FENCE.match(line)]
    if not fences:
        return None
    if fences[-1] == len(lines) - 1:  # a text that is nothing but a block is judged by its content
        return True if len(fences) % 2 == 0 and fences[-2] > 0 else None
    return False if len(fences) % 2 and fences[-1] > 0 and bare[-1] not in _TERMINAL else None


def _is_element_apart(stripped: str, name: str) -> bool:
    """Whether an inline element at the end is all that stands there, or all after a full stop: "It was late. <b>Refund: $61</b>"."""
    before = stripped[: max(stripped.rfind(f"<{name}>"), stripped.rfind(f"<{name} "), 0)].rstrip()
    return not before or before[-1] in _TERMINAL


def _without_voids(stripped: str) -> str:
    """A line without tags at its end that hold nothing: line breaks."""
    while void := _TAG_VOID.search(stripped):
        stripped = stripped[: void.start()].rstrip()
    return stripped


def _ends_in_tag(text: str, stripped: str) -> bool:
    """Whether a tagged text is cut inside a tag: "<summary>He is home.</summ"."""
    opened = _TAG_OPEN_END.search(stripped)
    return opened is not None and (opened[0].startswith("</") or re.search(r"<[A-Za-z][\w:.-]*>", text) is not None)


def _is_whole_row(lines: _Lines) -> bool | None:
    """Whether the last line is a row with every column; None where it is no row of a table."""
    last = lines.last.strip()
    above = [line.strip() for line in lines.before[-3:]]
    if last.startswith("|"):
        columns = max((line.count("|") for line in above if line.startswith("|")), default=0)
        if last.endswith("|") and (last.count("|") < columns or lines.underlined):
            return False  # a row that lacks columns, or a head without rows
        return last.endswith("|") and len(last) > 1 if (last.endswith("|") or any(line.endswith("|") for line in above)) else None
    for separator in ("\t", "|"):
        counts = [line.count(separator) for line in above]
        if not counts or not counts[-1] or (separator == "|" and above[-1].startswith("|")):
            continue
        if last.count(separator) >= counts[-1]:
            return _STOPS_SHORT.search(last) is None
        if len(counts) > 1 and counts[-2] == counts[-1] and (not lines.apart or last.count(separator)):
            return False  # a table whose last row lacks columns
    if len(above) > 1 and ("," in last or ";" in last or "  " in last):
        rows = [*above[-2:], last]
        if any(line[-1:] in _TERMINAL for line in rows):
            return None
        for cells in ([re.split(r"[,;]", line) for line in rows], [re.split(r"\s{2,}", line) for line in rows]):
            same = len({len(row) for row in cells}) == 1 and len(cells[0]) > 1
            if same and all(0 < len(cell.split()) <= 4 for row in cells for cell in row):
                return _STOPS_SHORT.search(last) is None
    return None


def _is_whole_item(lines: _Lines, bare: str) -> bool | None:
    """Whether the last line is, or goes on with, an item of a list and shows no cut; None where it is no item."""
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
    if _STOPS_SHORT.search(bare):
        return False
    if ends and ends <= _TERMINAL and (len(others) > 1 or _SUBJECT.match(words)) and len(words.split()) > 3:
        return False  # a list of sentences, and the last of them has no end
    if len(words.split()) > 5 and _HANGING.search(bare) and not _BRANCHING.search(words):
        return False
    return not (_SUBJECT.match(words) and _AUXILIARY.search(bare) and not _BRANCHING.search(words))


def _is_labelled_value(lines: _Lines, bare: str) -> bool:
    """Whether the last line is "Label: value": a value, not a sentence."""
    label = _LABEL.match(lines.last[:TAIL_CHARS])
    if label is None or len(label[1].split()) > 5:
        return False
    value = _without_closing(label[2])
    among = sum(_LABEL.match(line[:TAIL_CHARS]) is not None and line.rstrip()[-1] not in _TERMINAL for line in lines.before[-4:])
    if _SUBJECT.match(value) or _STOPS_SHORT.search(bare) or (_UNFINISHED.search(bare) and len(value.split()) > 3):
        return False
    if among:
        return True
    return label[1].lower() not in _PROSE_LABEL and len(value.split()) <= 12 and _FINITE.search(value) is None


def _is_signature(lines: _Lines) -> bool:
    """Whether the text ends with lines of names and titles, apart from the prose before: a signature, or a heading without a mark."""
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
    return (lines.apart or len(above) < min(4, len(lines.before))) and (_without_closing(before)[-1:] or " ") in _TERMINAL


def _is_address(lines: _Lines) -> bool:
    """Whether the last line goes on with an address that the lines before it began: after a colon, a comma or a name, in capitals and numbers."""
    words = lines.last.split()
    if lines.apart or not lines.before or not 0 < len(words) <= 8:
        return False
    above = lines.before[-1].rstrip()
    return (above[-1] in ",:" or _is_name(above)) and all(word[0].isupper() or word[0].isdigit() or len(word) <= 3 for word in words)


def _is_name(line: str) -> bool:
    """Whether a line is one to six words as names, titles and headings are written."""
    words = line.strip(" \t*_").split()
    if not 0 < len(words) <= 6 or _NO_NAME_FIRST.match(words[0]) or _LONELY_TITLE.fullmatch(words[-1]):
        return False
    return words[0][0].isupper() and all(_NAME_WORD.match(word) for word in words) and words[-1][0].isupper()


def _is_of_lines(lines: _Lines) -> bool:
    """Whether a text is written in lines that are no sentences: a verse, a list without marks; not prose in hard-wrapped lines."""
    if len(lines.before) < 2:
        return False
    every = [*(line.strip() for line in lines.before), lines.last.strip()]
    without_stop = sum(_without_closing(line)[-1:] not in _TERMINAL for line in every[:-1])
    if without_stop * 3 < (len(every) - 1) * 2 or max(map(len, every)) > 80:
        return False
    capital = sum(not line[0].islower() for line in every)
    return capital * 5 >= len(every) * 4 or all(len(line.split()) <= 4 for line in every)


def _without_closing(line: str) -> str:
    """A line without the closing marks, inline tags and references at its end."""
    bare = line.rstrip()
    while bare:
        if reference := _REFERENCE.search(bare):
            bare = bare[: reference.start()].rstrip()
        elif (tag := _TAG_CLOSED.search(bare)) and bare[-1] == ">":
            bare = bare[: tag.start()].rstrip()
        elif bare[-1] in _CLOSING:
            bare = bare[:-1].rstrip()
        else:
            break
    return bare


def _ends_with_address(stripped: str) -> bool:
    """Whether the last word is an address on the web or of a mailbox."""
    last = stripped.rsplit(maxsplit=1)[-1:]
    if not last:
        return False
    mailbox, _, host = last[0].rpartition("@")
    return _URL.search(last[0]) is not None or (bool(mailbox) and _MAIL_HOST.fullmatch(host) is not None)


def _is_symbol(bare: str) -> bool:
    """Whether a text ends with a pictograph, which many writers put for a full stop."""
    last = bare.rstrip("\ufe0e\ufe0f\u200d")[-1:]
    return bool(last) and ord(last) >= 0x2300 and unicodedata.category(last) in {"So", "Sk"}


def _remark_after_stop(text: str) -> bool:
    """Whether a text ends with brackets around a remark of their own: "It ended. (Source: WHO)"."""
    bare = text.rstrip()
    opening = _OPENED_BY.get(bare[-1:])
    if opening is None:
        return False
    before = bare[: bare.rfind(opening)] if opening in bare else bare
    before = before.rstrip()
    return before != bare and (not before or before[-1] in _TERMINAL)
