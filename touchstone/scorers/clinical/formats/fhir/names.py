"""Which names of a document a message may show: those of the standard, and misspellings of them. Any other key may be patient text."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

#: How similar a name must be to one of the standard's to be taken for a misspelling: `familly`.
_LIKENESS: Final = 0.8
#: Shorter names are compared letter by letter: one wrong, missing, additional or swapped letter after the first (`nane`).
_SHORT_CHARS: Final = 6
_SHORT_CHARS_MIN: Final = 4
_CHARS_MAX: Final = 64


def meant(name: str, known: Iterable[str]) -> str | None:
    """The name of the standard that a name misspells; None if it is like none of `known`."""
    bare = name.removeprefix("_")
    if not bare or len(bare) > _CHARS_MAX:
        return None
    matcher = SequenceMatcher(b=bare)
    best, likeness = None, 0.0
    for one in known:
        matcher.set_seq1(one)
        if matcher.real_quick_ratio() < min(_LIKENESS, 0.7):  # of short names a letter may differ
            continue
        found = matcher.ratio()
        if found > likeness and (found >= _LIKENESS or _one_letter_off(bare, one)):
            best, likeness = one, found
    return best


def _one_letter_off(name: str, known: str) -> bool:
    if name[0] != known[0] or not _SHORT_CHARS_MIN <= len(known) <= _SHORT_CHARS or abs(len(name) - len(known)) > 1:
        return False
    start = next((place for place, (left, right) in enumerate(zip(name, known, strict=False)) if left != right), min(len(name), len(known)))
    left, right = name[start:], known[start:]
    swapped = left[:2] == right[1::-1] and left[2:] == right[2:]
    return left[1:] == right[1:] or left[1:] == right or left == right[1:] or swapped
