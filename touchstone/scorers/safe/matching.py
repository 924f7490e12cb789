"""When an expected string counts as found: a substring of the folded text (SAFE v0 §1; how to fold is settled in docs/safe.md)."""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

#: Separates the items of a list. Folding turns every newline into a space, so no expected string can contain one, and
#: no match can begin in one item and end in the next.
ITEM_SEPARATOR = "\n"

#: Expectations recur (a test set is run again and again), so their prepared forms are cached, within these bounds.
PREPARED_LISTS_MAX = 4_096
PREPARED_CHARS_MAX = 4_000


def fold(text: str) -> str:
    """The form in which texts are compared: NFKC, runs of white space as one space, none at the ends, casefolded.

    NFKC is applied once more at the end because casefolding can take composed letters apart ("ΐ").
    """
    if text.isascii():
        if text.isprintable() and "  " not in text:
            return text.strip(" ").lower()
        return " ".join(text.split()).lower()
    folded = " ".join(unicodedata.normalize("NFKC", text).split()).casefold()
    return unicodedata.normalize("NFKC", folded)


def fold_items(items: Iterable[str]) -> str:
    """The folded items in one text, separated so that no match crosses items."""
    return ITEM_SEPARATOR.join([fold(item) for item in items])


def reference(folded: str) -> str:
    """A stable name for an expected string that may not be quoted: equal for spellings that fold to the same text.

    It keeps text out of logs and events; it is not encryption, since anyone who guesses the string can check the guess.
    """
    return "withheld:" + blake2b(folded.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


class Expected(NamedTuple):
    """One distinct expectation: its place in the case's list, the text shown, and the text compared."""

    place: int
    shown: str
    folded: str


def prepare(expectations: tuple[str, ...], quote: bool) -> tuple[Expected, ...]:
    """The distinct expectations of a list in their order: those that fold to the same text count once, and the first spelling is kept.

    `quote`: show the string as it was written, otherwise its reference.
    """
    if not expectations:
        return ()
    if sum(map(len, expectations)) > PREPARED_CHARS_MAX:
        return _prepare(expectations, quote)
    return _prepare_cached(expectations, quote)


def _prepare(expectations: tuple[str, ...], quote: bool) -> tuple[Expected, ...]:
    """See `prepare`."""
    distinct: dict[str, Expected] = {}
    for index, written in enumerate(expectations):
        folded = fold(written)
        if folded not in distinct:
            distinct[folded] = Expected(index, written if quote else reference(folded), folded)
    return tuple(distinct.values())


_prepare_cached = lru_cache(maxsize=PREPARED_LISTS_MAX)(_prepare)


def partition(expected: tuple[Expected, ...], target: str) -> tuple[list[Expected], list[Expected]]:
    """Split expectations into those found in the folded target and those missing, each in the order of the case."""
    found: list[Expected] = []
    missing: list[Expected] = []
    for item in expected:
        (found if item.folded in target else missing).append(item)
    return found, missing
