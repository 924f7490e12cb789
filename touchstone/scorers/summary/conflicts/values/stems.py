"""Stems by which words of two texts are taken for one."""

from functools import lru_cache

from touchstone.scorers.summary import lexical

#: Stems are cut to so many letters: withdraw and withdrawal, discharge and discharged are then the same.
PREFIX = 6


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of one word, cut to its first letters."""
    found = min(lexical.words(word), default=word)  # "½" is two words: the same one in every process
    return found[:PREFIX]
