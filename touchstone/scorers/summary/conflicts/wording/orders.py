"""The order of two events: a sentence has A before B where a unit has B before A.

Each link is read into its earlier and its later event, whatever word it uses: "A before B", "B after A", "once A, B", "A, then B", "A preceded B", and
"not B until A".
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from touchstone.scorers.summary.conflicts.difference import Difference
from touchstone.scorers.summary.conflicts.wording.clauses import ParsedText, Word, read
from touchstone.scorers.summary.conflicts.wording.linked import LINKS_MAX, Link, crossed, linked, sides, straight
from touchstone.scorers.summary.lexical import stem
from touchstone.scorers.summary.word_lists import listed

#: Words that link two events, longest first; what stands before them comes first, or last.
_EARLIER_LATER = (
    "prior to", "ahead of", "before", "preceded", "precedes", "and only then", "and then", "whereupon", "was followed by", "were followed by",
    "is followed by", "followed by",
)  # fmt: skip
_LATER_EARLIER = ("only after", "as soon as", "only once", "after", "following", "followed", "once", "was preceded by", "were preceded by", "had already")
_LINK = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, (*_EARLIER_LATER, *_LATER_EARLIER, 'until')), key=len, reverse=True))})\b", re.IGNORECASE)
#: "A first, and B later": the parts are of one sentence.
_FIRST_LATER = re.compile(r"\bfirst\b(.{0,120}?)\b(?:and|,|;)\s+(.{0,120}?)\b(?:later|afterwards|subsequently)\b", re.IGNORECASE)
_NOT, _NO = listed("not never cannot"), listed("no nobody none nothing without doubt doubtful unclear whether if")
#: What is before the end of something is not before the whole of it.
_ENDINGS = frozenset(map(stem, listed("end ended ending finish finished complete completed over")))
#: Behind "before" these are those who hear a case, and behind "once" a time.
_NOT_EVENTS = re.compile(
    r"\s+(?:(?:the|a|an)\s+)?(?:court|judge|tribunal|jury|committee|magistrates?|again|more|that|this|then|all|every|daily|a)\b", re.IGNORECASE
)


def find(sentence: ParsedText, units: Sequence[ParsedText]) -> Iterator[Difference]:
    """Two events that a unit has in the other order, if no unit has them as the sentence does."""
    mine = links(sentence.text)
    if not mine:
        return
    theirs = [links(unit.text) for unit in units]
    for here in mine:
        if any(straight(here, there) for its in theirs for there in its):
            continue
        for number, its in enumerate(theirs):
            other = next((there for there in its if crossed(here, there) and _ends(here) == _ends(there)), None)
            if other is not None:
                yield Difference("relation", here.at, other.at, number)
                break


@lru_cache(maxsize=4_096)
def links(text: str) -> tuple[Link, ...]:
    """The events of a text that are linked, the earlier one first."""
    parsed = read(text)
    return tuple(link for match in list(_LINK.finditer(text[:1_200]))[:LINKS_MAX] for link in _link(parsed, match)) + tuple(_first_later(parsed))


def _link(text: ParsedText, match: re.Match[str]) -> Iterator[Link]:
    word = match.group().casefold()
    if word in {"before", "once"} and _NOT_EVENTS.match(text.text[match.end() :]):
        return
    one, other = sides(text, *match.span())
    if any(word.fold in _NO for word in one):
        return
    denied = _denied(one)
    if word == "until":
        if not denied:
            return  # "A until B" says when A ended
        one, other = other, one
    elif word in _LATER_EARLIER:
        if denied:
            return
        one, other = other, one
    elif denied:
        if word != "before":
            return
        one, other = other, one  # "not A before B": B, then A
    yield from linked(one, other, match.span())


def _ends(link: Link) -> bool:
    """True if one of the events is the end of something."""
    return bool((link.first | link.second) & _ENDINGS)


def _denied(words: Sequence[Word]) -> bool:
    """True if the part before the link is negated."""
    return any(word.fold in _NOT or word.fold.endswith("n't") for word in words)


def _first_later(text: ParsedText) -> Iterator[Link]:
    """What a sentence says with "A first, and B later"."""
    match = _FIRST_LATER.search(text.text[:1_200])
    if match is None:
        return
    start, end = match.span(2)
    one = [word for word in text.words if word.start < start and word.fold not in {"first", "and"}]
    other = [word for word in text.words if start <= word.start < end]
    if not _denied(one) and not _denied(other):
        yield from linked(one, other, (match.start(), match.start() + len("first")))
