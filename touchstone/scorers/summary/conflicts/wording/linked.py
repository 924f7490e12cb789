"""Two events that a sentence links by a word ("A before B", "B because of A"), and whether those of another sentence are the same.

An event is the content words on one side of the word. Words that both sides have (a subject, a place) tell nothing and are left out.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.wording.clauses import ParsedText, Word

#: Share of the shorter event's words that the other event must have, and of the longer one's.
MATCHED_MIN, OF_LONGER_MIN = 0.5, 0.3
#: Words that both events together must have in common with those of the other sentence, to have changed places.
CROSSED_MIN = 3
#: Beginnings of words that are this long, or all but this much of the shorter word, are of one root: "publication", "published".
ROOT_MIN, ENDING_MAX = 4, 3
#: Words of an event that are read, and links of one sentence.
WORDS_MAX, LINKS_MAX = 16, 6
_ENDS = frozenset({";", ":", "(", ")", "—", "–"})
#: Behind a comma these begin another statement.
_TURNS = frozenset({"but", "while", "whereas", "although", "though", "which", "who"})

Event = frozenset[str]


class Link(NamedTuple):
    """Two events in an order that has a meaning: the earlier and the later one, or the cause and the effect.

    `at`: [start, end) of the linking words; `sense`: what they say, `words`: the words themselves.
    """

    first: Event
    second: Event
    at: tuple[int, int]
    sense: str = ""
    words: str = ""


def sides(text: ParsedText, start: int, end: int) -> tuple[list[Word], list[Word]]:
    """The words before and behind the words at [start, end) of a text, each up to the end of its statement.

    At the beginning of a statement ("After B, A") the part behind the comma is what is linked to the part before it.
    """
    words = text.words
    first = next((place for place, word in enumerate(words) if word.start >= start), len(words))
    last = next((place for place, word in enumerate(words) if word.start >= end), len(words))
    before = _back(words[:first])
    behind = list(_on(words[last:]))
    if not any(word.content for word in before):
        comma = next((place for place, word in enumerate(behind) if word.fold == ","), None)
        return (behind[comma + 1 :], behind[:comma]) if comma is not None else ([], [])
    comma = next((place for place, word in enumerate(behind) if word.fold == "," and any(one.content for one in behind[:place])), None)
    return before, behind[:comma]


def _back(words: Sequence[Word]) -> list[Word]:
    found: list[Word] = []
    for place in range(len(words) - 1, -1, -1):
        if words[place].fold in _ENDS or (words[place].fold in _TURNS and place and words[place - 1].fold == ","):
            break
        found.append(words[place])
    return found[::-1]


def _on(words: Sequence[Word]) -> Iterator[Word]:
    for place, word in enumerate(words):
        if word.fold in _ENDS or (word.fold in _TURNS and place and words[place - 1].fold == ","):
            return
        yield word


def event(words: Sequence[Word]) -> Event:
    """The stems of the content words of one side."""
    return frozenset(islice((word.stem for word in words if word.content), WORDS_MAX))


def linked(one: Sequence[Word], other: Sequence[Word], at: tuple[int, int], sense: str = "", words: str = "") -> Iterator[Link]:
    """The link between two sides, if each has words of its own."""
    first, second = event(one), event(other)
    if first - second and second - first:
        yield Link(first - second, second - first, at, sense, words)


def same_root(one: str, other: str) -> bool:
    """True if two stems are of one root by their beginnings."""
    if one == other:
        return True
    shortest = min(len(one), len(other))
    least = max(ROOT_MIN, shortest - ENDING_MAX) if shortest >= ROOT_MIN else shortest + 1
    return one[:least] == other[:least] and not (one[:1].isdigit() or other[:1].isdigit())


def shared(one: Event, other: Event) -> int:
    """How many words of the first event the other one has."""
    return sum(any(same_root(word, its) for its in other) for word in one)


def same_event(one: Event, other: Event) -> bool:
    """True if two events have half of the shorter one's words in common, and a third of the longer one's."""
    least, most = sorted((len(one), len(other)))
    return bool(least) and min(shared(one, other), shared(other, one)) >= max(MATCHED_MIN * least, OF_LONGER_MIN * most)


def crossed(here: Link, there: Link) -> bool:
    """True if the same two events have changed places."""
    apart = not shared(here.first, there.first) and not shared(here.second, there.second)
    enough = shared(here.first, there.second) + shared(here.second, there.first) >= CROSSED_MIN
    return apart and enough and same_event(here.first, there.second) and same_event(here.second, there.first)


def straight(here: Link, there: Link) -> bool:
    """True if the same two events are in the same places."""
    return same_event(here.first, there.first) and same_event(here.second, there.second)
