"""Acronyms and their expansions, where a text gives both: "World Health Organization (WHO)", or a name with these initials."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

#: Two to six letters and digits, a letter first, with or without dots: WHO, U.S., H1N1. That the letters are capitals is asked besides, of any alphabet.
_ACRONYM = re.compile(r"[^\W\d_](?:\.?[^\W_]){1,5}\.?")
#: The blanks inside are taken off afterwards: patterns for them would try every way of sharing a long run of blanks out.
_BRACKETED = re.compile(r"\(([^()]{2,124})\)")
_WORD = re.compile(r"[^\W\d_][\w'’]*")
#: Words that give an acronym no letter.
_SMALL = frozenset(["of", "the", "and", "for", "in", "on", "to", "a", "an", "at", "by", "de", "du", "la", "le", "des", "del", "van", "von", "und", "et"])
_BREAK = re.compile(r"[.;:!?()\n]")
#: What is read before or in a bracket, and of a text.
LONG_CHARS, TEXT_CHARS_MAX = 160, 2_000_000
#: Other forms of one entity that are sought.
FORMS_MAX = 8
#: Initials of at least so many letters may match a name in small letters; shorter ones fit by chance.
LOWER_LETTERS_MIN = 4


def acronym(word: str) -> str | None:
    """The letters of a word that is an acronym, without dots; None for others."""
    if not word.isupper() or _ACRONYM.fullmatch(word) is None:
        return None
    bare = word.replace(".", "")
    return bare if sum(map(str.isalpha, bare)) >= 2 or any(map(str.isdigit, bare)) else None


def expansions(entities: Sequence[str], texts: Iterable[str]) -> dict[str, list[str]]:
    """Other forms of each entity that has some: of an acronym its names, of a name its acronym, of both together each alone. Linear in the texts.

    A name's acronym is its initials in the order of its words, small ones left out; a bracket may give one that has a letter for those too.
    """
    short = {entity: letters for entity in entities if (letters := acronym(entity.strip())) is not None}
    spelled = {entity: {"".join(initials) for initials in _initials(entity)} for entity in entities if entity not in short}
    found: dict[str, list[str]] = {entity: [] for entity in entities}
    for entity, forms in spelled.items():
        if any(word[0].isupper() for word in _WORD.findall(entity)) or max(map(len, forms), default=0) >= LOWER_LETTERS_MIN:
            found[entity] += sorted(form for form in forms if 2 <= len(form) <= 6)
        if entity.rstrip().endswith(")"):
            found[entity] += [form for both in _bracketed(entity) if _is_all(entity, *both) for form in both]
    called: dict[str, list[str]] = {}
    for entity in entities:
        called.setdefault(short.get(entity) or entity.casefold(), []).append(entity)
    for text in texts:
        part = text[:TEXT_CHARS_MAX]
        for letters, name in _bracketed(part):
            for entity in called.get(letters, ()):
                found[entity].append(name)
            for entity in called.get(name.casefold(), ()):
                found[entity].append(letters)
        if short:
            run = _Run.of(part)
            spelled_out = {letters: run.spelling(letters) for letters in set(short.values())}
            for entity, letters in short.items():
                found[entity] += spelled_out[letters]
    return {entity: list(dict.fromkeys(forms))[:FORMS_MAX] for entity, forms in found.items() if forms}


def _initials(name: str) -> Iterator[list[str]]:
    """The capitals that a name of several words may be shortened to: with small words and without."""
    words = _WORD.findall(name)[:12]
    content = [word for word in words if word.casefold() not in _SMALL]
    if len(content) > 1:
        yield [word[0].upper() for word in content]
    if 1 < len(words) != len(content):
        yield [word[0].upper() for word in words]


def _bracketed(text: str) -> Iterator[tuple[str, str]]:
    """(acronym, name) of "name (acronym)" and "acronym (name)"."""
    for match in _BRACKETED.finditer(text):
        inside, before = match.group(1).strip(), text[max(0, match.start() - LONG_CHARS) : match.start()]
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


def _is_all(entity: str, letters: str, name: str) -> bool:
    """True if an entity is a name with its acronym, in either order, and nothing else."""
    return {word.group() for word in _WORD.finditer(entity)} <= {word.group() for form in (letters, name) for word in _WORD.finditer(form)}


class _Run(NamedTuple):
    """The telling words of a text, with their initials in a row."""

    text: str
    words: list[re.Match[str]]
    initials: str

    @classmethod
    def of(cls, text: str) -> _Run:
        words = [match for match in _WORD.finditer(text) if match.group().casefold() not in _SMALL]
        return cls(text, words, "".join(match.group()[0].upper()[:1] for match in words))

    def spelling(self, letters: str) -> list[str]:
        """Runs of words with these initials: with capitals, or long enough that they do not fit by chance."""
        found: list[str] = []
        at = self.initials.find(letters)
        while at >= 0 and len(found) < FORMS_MAX:
            run = self.words[at : at + len(letters)]
            name = self.text[run[0].start() : run[-1].end()]
            capital = all(match.group()[0].isupper() for match in run) and not any(match.group().isupper() and len(match.group()) > 1 for match in run)
            if len(name) <= LONG_CHARS and not _BREAK.search(name) and (capital or (len(letters) >= LOWER_LETTERS_MIN and name.islower())):
                found.append(name)
            at = self.initials.find(letters, at + 1)
        return found
