"""Cuts that show only beside the gold: a number, an abbreviation or a word that goes on there, and a list's number without an item."""

import re
from collections.abc import Sequence

from touchstone.scorers.summary.hard_fails.endings.lines import TAIL_CHARS
from touchstone.scorers.summary.word_lists import listed

#: A number or a part of an abbreviation before the last full stop, and the word before it.
_STOPPED = re.compile(r"(?:(?P<before>\S+)\s+)?[$€£]?(?P<part>\d+(?:[.,:]\d+)*|(?:[A-Za-z]{1,3}\.)*[A-Za-z]{1,3})\.$")
_ROUNDED = frozenset(("about", "around", "roughly", "nearly", "almost", "some", "approximately", "over", "under", "than", "least", "most"))
_LAST_BRACKET = re.compile(r"\([^()]{3,120}\)$")
_SPELLED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WORDS = re.compile(r"[^\W\d_]{4,}")
_LAST_SENTENCE = re.compile(r"[.!?][\"”’)]*\s+")
#: The last word of an item, and the items of a list.
_LAST_WORD = re.compile(r"[^\W\d_]{4,}$|(?<![\w-])[a-z]{2}$|(?<![\w-])[b-df-hj-np-tv-z]{3}$")
#: Short words that are whole.
_SHORT = listed(
    "am an as at be by do ex go he hi id if in is it me my no of ok on or pc pm so to tv up us vs we cm dl kg km mg ml mm ft hr hrs mph bpm nhs pcs rpm"
)
#: What a number is counted in. Without it "Repairs cost 7." is no amount.
_COUNTED_IN = re.compile(r"\s?(?:million|billion|trillion|thousand|hundred|per ?cent\b|%)")
#: No sign in it matches a line break: a search over a run of empty lines would take quadratic time.
_ITEM = re.compile(r"^[^\S\n]*(?:[-*+•◦▪‣·]|\(?\d{1,3}[.)])[^\S\n]+(\S.*)$", re.MULTILINE)
#: Endings that one form of a word has and another lacks.
_INFLECTED = re.compile(r"(?:e?[sd]|ing|ly|al|ally|e?rs?|ors?|ments?|a?t?ions?|ness|able|ible|ity|ies|ied|y|ists?|ive|ous|ful|less|age|ance|ence|'s)")
#: A mark of an item, a heading or a row that stands alone in the last line.
_BARE_MARK = re.compile(r"[-*+•◦▪‣·|]|#{1,6}")
_LINES_MAX = 60
_LAST_TWO = re.compile(r"(?<![\w.,])([\w'’-]+)\s+([\w'’%-]{2,})$")
#: The number at the end of an item, and a unit as others write behind theirs.
_LAST_NUMBER = re.compile(r"(?<![\w.,/])\d+(?:[.,]\d+)?$")
#: A number word at the end of an item, and the word before it.
_LAST_COUNTED = re.compile(r"(?<![\w'’-])[\w'’-]+\s+(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)$", re.IGNORECASE)
_UNIT = re.compile(r"\s?([a-zA-Zµ%°]{1,4}(?:/[a-zA-Z]+)?)\b")
_MARK = re.compile(r"(?:^|[\s])\(?(?P<mark>\d{1,2}|[a-h])(?P<close>[.)])$")
#: So many words of the end are compared with the words around a number.
_NEAR_CHARS = 160


def is_cut_beside(text: str, told: Sequence[str]) -> bool:
    """True if the end of a text, whole by itself, goes on in what the gold tells: "The height is 3." beside "3.5 m", "- furosem" beside "furosemide"."""
    end = text.rstrip()[-TAIL_CHARS:]
    return _is_cut_number(end, told) or _is_cut_word(text, end, told) or _lacks_its_unit(text, told) or _goes_on_behind_bracket(end, told)


def ends_beside(text: str, told: Sequence[str]) -> bool:
    """True if the last two words of a text end a sentence of the gold, so that it lacks nothing but the full stop; False inside brackets or quotations."""
    last = _LAST_TWO.search(text.rstrip()[-TAIL_CHARS:])
    if last is None or text.count("(") > text.count(")") or any(text.count(mark) % 2 for mark in '"`'):
        return False
    ending = re.compile(rf"\b{re.escape(last[1])}\s+{re.escape(last[2])}[\"”’)]*[.!?](?:\s|[\"”’)]|$)", re.IGNORECASE)
    return any(ending.search(whole) for whole in told)


def ends_with_mark(text: str) -> bool:
    """True if a text ends with the mark of an item or a heading that is not there: "1. Rest. 2. Drink. 3.", or a dash below items."""
    lines = [line.strip() for line in text.rstrip().splitlines()[-_LINES_MAX:] if line.strip()]
    if len(lines) > 1 and _BARE_MARK.fullmatch(lines[-1]) and any(line.startswith(f"{lines[-1]} ") for line in lines[:-1]):
        return True
    if len(lines) > 1 and lines[-1].isdigit() and re.match(rf"\(?{int(lines[-1]) - 1}[.)]\s", lines[-2]):
        return True
    marked = _MARK.search(text.rstrip()[-TAIL_CHARS:])
    if marked is None:
        return False
    mark = marked["mark"]
    before = str(int(mark) - 1) if mark.isdigit() else chr(ord(mark) - 1)
    head = text.rstrip()[: -len(marked[0])].rstrip()
    opens = not head or head[-1] in ".;:,)" or head.endswith((" and", " or")) or "\n" in text.rstrip()[len(head) : -len(marked[0]) + 1]
    return opens and re.search(rf"(?:^|[\n.;:,]|\band)\s*\(?{before}{re.escape(marked['close'])}\s+\S", head) is not None


def _goes_on_behind_bracket(end: str, told: Sequence[str]) -> bool:
    """True if a text ends with a bracket behind which the gold's sentence goes on."""
    bracket = _LAST_BRACKET.search(end)
    return bracket is not None and any(re.search(rf"{re.escape(bracket[0])},?\s+[^\W\d_]", whole) for whole in told)


def _is_cut_number(end: str, told: Sequence[str]) -> bool:
    """True if the number or abbreviation before the last full stop goes on in the gold behind a full stop, and is whole nowhere near the same words."""
    stopped = _STOPPED.search(end)
    if stopped is None or (stopped["before"] or "").lower() in _ROUNDED:
        return False
    part = re.escape(stopped["part"])
    if _lacks_its_count(end, part, told):
        return True
    longer = re.compile(rf"(?<![\w.,]){part}[.,:]\w")
    if not any(longer.search(text) for text in told):
        return False
    spelled = stopped["part"]
    whole = rf"(?<![\w.,]){part}(?![.,:]?\w)"
    if spelled.isdigit() and int(spelled) < len(_SPELLED):
        whole += rf"|\b{_SPELLED[int(spelled)]}\b"
    # Only the last sentence says what its number is of; words before it would liken a room number to any dose nearby.
    said = _stems(_LAST_SENTENCE.split(end[-_NEAR_CHARS:])[-1], stopped["before"] or "")
    return _likeness(longer, told, said) > max(0, _likeness(re.compile(whole, re.IGNORECASE), told, said))


def _lacks_its_count(end: str, part: str, told: Sequence[str]) -> bool:
    """True for "Repairs cost 7." beside "repairs cost 7 million": the gold counts the number in millions or per cent wherever it has it, after like words."""
    if not part.isdigit() or _COUNTED_IN.search(end[-_NEAR_CHARS:]):
        return False
    found = [(text, match) for text in told for match in re.finditer(rf"(?<![\w.,]){part}(?![.,:]?\w)", text)]
    said = {word[:4].lower() for word in _WORDS.findall(" ".join(end.split()[-4:]))}
    near = {word[:4].lower() for text, match in found for word in _WORDS.findall(text[max(0, match.start() - _NEAR_CHARS // 4) : match.start()])}
    return bool(said & near) and all(_COUNTED_IN.match(text, match.end()) for text, match in found)


def _likeness(pattern: re.Pattern[str], told: Sequence[str], said: set[str]) -> int:
    """How much the surroundings of a pattern are like the end of the text, at most; -1 if the pattern is nowhere."""
    return max((len(said & _around(text, found)) for text in told for found in pattern.finditer(text)), default=-1)


def _around(text: str, found: re.Match[str]) -> set[str]:
    """The stems around a number, and the word before it."""
    before = text[max(0, found.start() - _NEAR_CHARS // 2) : found.start()]
    return _stems(before + text[found.end() : found.end() + _NEAR_CHARS // 2], before.rstrip().rpartition(" ")[2])


def _stems(text: str, before: str) -> set[str]:
    """The beginnings of longer words, and the word before a number."""
    return {word[:4].lower() for word in _WORDS.findall(text)} | ({f"{before.lower()} "} if before else set())


def _is_cut_word(text: str, end: str, told: Sequence[str]) -> bool:
    """True if the last item of a list, shorter than the others, ends inside a word of the gold that it does not hold whole."""
    last = _LAST_WORD.search(end)
    items = _ITEM.findall(text)
    if (
        last is None
        or last[0] in _SHORT
        or len(items) < 2
        or not items[-1].endswith(last[0])
        or len(items[-1].split()) > min(len(item.split()) for item in items[:-1])
    ):
        return False
    longer = re.compile(rf"\b{re.escape(last[0])}(\w*)", re.IGNORECASE)
    rests = {found[1].lower() for whole in told for found in longer.finditer(whole)}
    return bool(rests) and all(len(rest) > 1 and _INFLECTED.fullmatch(rest) is None for rest in rests)


def _always_goes_on(words: str, told: Sequence[str]) -> bool:
    """True if the gold has these words, and another one behind them each time: "gas for four" beside "gas for four days"."""
    pattern = re.compile(rf"\b{re.escape(words)}(?P<on>\s+[^\W\d_])?", re.IGNORECASE)
    found = [place["on"] for whole in told for place in pattern.finditer(whole)]
    return bool(found) and all(found)


def _lacks_its_unit(text: str, told: Sequence[str]) -> bool:
    """True if the last item ends with a number that the gold always writes with a unit, as another item does: "bisoprolol 2.5" below "apixaban 5 mg"."""
    items = _ITEM.findall(text)
    if len(items) < 2 or not text.rstrip().endswith(items[-1].rstrip()):
        return False
    if (counted := _LAST_COUNTED.search(items[-1])) and _always_goes_on(counted[0], told):
        return True
    last = _LAST_NUMBER.search(items[-1])
    if last is None:
        return False
    units = {unit[1] for item in items[:-1] for number in re.finditer(r"\d", item) if (unit := _UNIT.match(item, number.end()))}
    found = [_UNIT.match(whole, place.end()) for whole in told for place in re.finditer(rf"(?<![\w.,]){re.escape(last[0])}(?![.,]?\d)", whole)]
    return bool(found) and all(unit is not None and unit[1] in units for unit in found)
