"""Short names of entities: the surname of a person ("Mr Aalto"), the first words of an institution ("Brookvale" for "Brookvale General Hospital")."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from touchstone.scorers.summary.lexical import STOPWORDS
from touchstone.scorers.summary.word_lists import word_lists

_LISTS: Final = word_lists(__file__, "short_names")
#: What an institution is, and what is before that in many names: neither is a name by itself.
_KINDS, _COMMON, _PARTICLES = _LISTS["kinds"], _LISTS["common"], _LISTS["particles"]
#: Surnames that begin sentences as other words do ("Young people"); they count only inside a sentence.
_WORDS_TOO = _LISTS["words_too"]
_HE, _SHE, _TITLES = _LISTS["he"], _LISTS["she"], _LISTS["titles"]
#: Before a short name these speak of a place.
_PLACES = _LISTS["places"]

_NAME_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
#: The word right before a place of a text, and the one right behind it; a mark between them parts them.
_BEFORE = re.compile(r"([^\W_]+(?:[-'’][^\W_]+)*)(\.?) $")
_BEHIND = re.compile(r"(?:['’]s\b)? ([^\W_]+)")
_STARTS = re.compile(r"(?:^|[.!?:;\n•*\"“”(–—-])\s*$")
SHORT_CHARS_MIN, WORDS_MAX, TEXT_CHARS_MAX = 3, 5, 200_000


class _Place(NamedTuple):
    """Characters `start` up to `end` of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Short:
    """A short name. `first`: the first name of a person; empty for an institution."""

    name: str
    first: str

    @property
    def is_person(self) -> bool:
        """True for a surname."""
        return bool(self.first)


def short_name(entity: str) -> Short | None:
    """The short name of an entity; None if it has none: one word, a number, an "of", or nothing but common words."""
    words = [word for word in entity.split() if word.rstrip(".").casefold() not in _TITLES]
    if not 1 < len(words) <= WORDS_MAX or not all(_NAME_WORD.fullmatch(word) for word in words):
        return None
    if any(word.islower() and word not in _PARTICLES for word in words) or any(word.isupper() for word in words):
        return None
    generic = [place for place, word in enumerate(words) if word.casefold() in _KINDS | _COMMON]
    if generic:
        lead = words[: generic[0]]
        return _usable(Short(" ".join(lead), "")) if lead and words[-1].casefold() in _KINDS else None
    start = next((place for place, word in enumerate(words) if word.islower()), len(words) - 1)
    return _usable(Short(" ".join(words[start:]), words[0])) if start else None


def _usable(short: Short) -> Short | None:
    return short if len(short.name) >= SHORT_CHARS_MIN else None


def short_names(entities: Sequence[str], texts: Sequence[str]) -> dict[str, Short]:
    """The short name of each entity that has one of its own: no other entity has it, and in the gold's texts it names nobody and nothing else."""
    found = {entity: short for entity in entities if (short := short_name(entity)) is not None}
    names = [short.name.casefold() for short in found.values()]
    taken = {entity.casefold() for entity in entities}
    bounded = [text[:TEXT_CHARS_MAX] for text in texts]
    return {
        entity: short
        for entity, short in found.items()
        if names.count(short.name.casefold()) == 1
        and short.name.casefold() not in taken
        and not any(_is_another(place, text, entity, short) for text in bounded for place in _places(short.name, text))
    }


def places_of(entity: str, short: Short, text: str, gold: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where a text calls an entity by its short name: [start, end)."""
    if not short.is_person and any(_before(place, one)[0] in _PLACES for one in gold for place in _places(short.name, one[:TEXT_CHARS_MAX])):
        return
    titles = {_gender(_before(place, one)[0]) for one in gold for place in _places(short.name, one[:TEXT_CHARS_MAX])} - {""}
    full = {_gender(word.rstrip(".").casefold()) for one in gold for word in _titles_of(entity, one[:TEXT_CHARS_MAX])} - {""}
    for place in _places(short.name, text[:TEXT_CHARS_MAX]):
        before, _ = _before(place, text)
        gender = _gender(before)
        if _is_another(place, text, entity, short) or (gender and titles | full and gender not in titles | full):
            continue
        if not short.is_person and before in _PLACES:
            continue
        if short.name.casefold() in _WORDS_TOO and before not in _TITLES and _STARTS.search(text[max(0, place.start - 4) : place.start]):
            continue
        yield (place.start, place.end)


def _places(name: str, text: str) -> Iterator[_Place]:
    """Where a text has a name as a whole word, accents aside. Found letter by letter: a pattern with a look behind is slow over hundreds of names."""
    sought, plain = _plain(name), _plain(text)
    start = plain.find(sought)
    while start >= 0:
        end = start + len(sought)
        if not (_is_inside(plain[max(0, start - 1) : start]) or _is_inside(plain[end : end + 1])):
            yield _Place(start, end)
        start = plain.find(sought, end)


def _is_inside(letter: str) -> bool:
    """True for a letter, digit or hyphen, which would make the name a part of a word."""
    return letter.isalnum() or letter == "-"


@lru_cache(maxsize=64)
def _plain(text: str) -> str:
    """The text without accents, letter for letter."""
    return text if text.isascii() else "".join(unicodedata.normalize("NFD", letter)[0] for letter in text)


def _before(place: _Place, text: str) -> tuple[str, str]:
    """The word right before, folded and as it is written."""
    found = _BEFORE.search(text[max(0, place.start - 40) : place.start])
    return (found[1].casefold(), found[1]) if found is not None else ("", "")


def _is_another(place: _Place, text: str, entity: str, short: Short) -> bool:
    """True if the words around make it a part of another name: "Maria Aalto", "B. Amsel", "Aalto University"."""
    own = {word.rstrip(".").casefold() for word in entity.split()}
    behind = _BEHIND.match(text, place.end)
    if behind is not None and behind[1][0].isupper() and behind[1].casefold() not in STOPWORDS | own and text[place.end] == " ":
        return True
    fold, before = _before(place, text)
    if not before or not before[0].isupper() or fold in own | _TITLES | STOPWORDS:
        return False
    return not (len(before) == 1 and short.first[:1] == before)


def _titles_of(entity: str, text: str) -> Iterator[str]:
    """The titles before the entity's whole name."""
    name = " ".join(word for word in entity.split() if word.rstrip(".").casefold() not in _TITLES)
    return (found[1] for place in _places(name, text) if (found := _BEFORE.search(text[max(0, place.start - 40) : place.start])) is not None)


def _gender(title: str) -> str:
    return "he" if title in _HE else "she" if title in _SHE else ""
