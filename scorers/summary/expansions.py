"""Acronyms and what they stand for, where a text gives both: "World Health Organization (WHO)", or a name whose initials they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

#: Two to six capitals and digits, with or without dots: WHO, U.S., H1N1.
_ACRONYM = re.compile(r"[A-Z](?:\.?[A-Z0-9]){1,5}\.?")
_BRACKETED = re.compile(r"\(\s*([^()]{2,120}?)\s*\)")
_WORD = re.compile(r"[^\W\d_][\w'’]*")
#: Words that give an acronym no letter.
_SMALL = frozenset(["of", "the", "and", "for", "in", "on", "to", "a", "an", "at", "by", "de", "du", "la", "le", "des", "del", "van", "von", "und", "et"])
_BREAK = re.compile(r"[.;:!?()\n]")
#: What is read before or in a bracket, and of a text.
LONG_CHARS, TEXT_CHARS_MAX = 160, 2_000_000
#: From so many letters on a name in small letters may be found by its initials alone: shorter ones fit by chance.
LOWER_LETTERS_MIN = 4


def acronym(word: str) -> str | None:
    """The letters of a word that is an acronym, without dots; None for others."""
    if _ACRONYM.fullmatch(word) is None:
        return None
    bare = word.replace(".", "")
    return bare if sum(map(str.isalpha, bare)) >= 2 or any(map(str.isdigit, bare)) else None


def expansions(entities: Sequence[str], texts: Iterable[str]) -> dict[str, list[str]]:
    """Other forms of each entity that has some: of an acronym its names, of a name its acronym. Linear in the texts.

    A name's acronym is its initials in the order of its words, small ones left out; a bracket may give one that has a letter for those too.
    """
    short = {entity: letters for entity in entities if (letters := acronym(entity.strip())) is not None}
    spelled = {entity: {"".join(initials) for initials in _initials(entity)} for entity in entities if entity not in short}
    found: dict[str, list[str]] = {entity: [] for entity in entities}
    for entity, forms in spelled.items():
        if any(word[0].isupper() for word in _WORD.findall(entity)) or max(map(len, forms), default=0) >= LOWER_LETTERS_MIN:
            found[entity] += sorted(form for form in forms if 2 <= len(form) <= 6)
    for text in texts:
        part = text[:TEXT_CHARS_MAX]
        for letters, name in _bracketed(part):
            for entity in entities:
                if short.get(entity) == letters:
                    found[entity].append(name)
                elif entity.casefold() == name.casefold():
                    found[entity].append(letters)
        for entity, letters in short.items():
            found[entity] += _spelled_out(letters, part)
    return {entity: list(dict.fromkeys(forms))[:8] for entity, forms in found.items() if forms}


def _initials(name: str) -> Iterator[list[str]]:
    """The capitals that a name of several words may be shortened to: with small words and without."""
    words = _WORD.findall(name)[:12]
    telling = [word for word in words if word.casefold() not in _SMALL]
    if len(telling) > 1:
        yield [word[0].upper() for word in telling]
    if 1 < len(words) != len(telling):
        yield [word[0].upper() for word in words]


def _bracketed(text: str) -> Iterator[tuple[str, str]]:
    """(acronym, name) of "name (acronym)" and "acronym (name)"."""
    for match in _BRACKETED.finditer(text):
        inside, before = match.group(1), text[max(0, match.start() - LONG_CHARS) : match.start()]
        letters = acronym(inside)
        if letters is not None:
            name = _ending_of(before, letters)
            if name is not None:
                yield letters, name
            continue
        last = re.search(r"\S+\s*$", before)
        outside = acronym(last.group().strip()) if last is not None else None
        if outside is not None and outside in {"".join(initials) for initials in _initials(inside)}:
            yield outside, inside


def _ending_of(text: str, letters: str) -> str | None:
    """The shortest end of a text whose initials are the letters."""
    words = list(_WORD.finditer(text))
    for first in range(len(words) - 2, max(-1, len(words) - 2 * len(letters) - 3), -1):
        name = text[words[first].start() :].strip()
        if words[first].group().casefold() not in _SMALL and letters in {"".join(initials) for initials in _initials(name)} and not _BREAK.search(name):
            return name
    return None


def _spelled_out(letters: str, text: str) -> list[str]:
    """Runs of words with these initials: with capitals, or long enough that they do not fit by chance."""
    words = [match for match in _WORD.finditer(text) if match.group().casefold() not in _SMALL]
    row = "".join(match.group()[0].upper()[:1] for match in words)
    found: list[str] = []
    at = row.find(letters)
    while at >= 0 and len(found) < 8:
        run = words[at : at + len(letters)]
        name = text[run[0].start() : run[-1].end()]
        capital = all(match.group()[0].isupper() for match in run) and not any(match.group().isupper() and len(match.group()) > 1 for match in run)
        if len(name) <= LONG_CHARS and not _BREAK.search(name) and (capital or (len(letters) >= LOWER_LETTERS_MIN and name.islower())):
            found.append(name)
        at = row.find(letters, at + 1)
    return found
