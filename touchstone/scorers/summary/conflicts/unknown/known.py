"""What the gold and its source say: their words, names, figures and codes, read once a gold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from touchstone.scorers.summary.conflicts.unknown.arithmetic import Workings
from touchstone.scorers.summary.conflicts.values.numerals import figures
from touchstone.scorers.summary.conflicts.values.surroundings import TextValues, look
from touchstone.scorers.summary.conflicts.values.tokens import plain as plain_figures
from touchstone.scorers.summary.conflicts.wording.drugs import drug
from touchstone.scorers.summary.lexical import stem

#: Golds whose reading is kept: their cases come one after the other.
GOLDS_KEPT = 64
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
#: Letters, digits and the signs inside codes; it begins and ends with a letter or a digit.
CODE = re.compile(r"(?<![\w.])[A-Za-z0-9]+(?:[-./:_#][A-Za-z0-9]+)*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
#: A word before a code of digits and one letter.
_LETTERED = re.compile(r"\b([^\W\d_]+)\W{1,2}(?:\d+[a-z]|[a-z]\d+)\b", re.IGNORECASE)
_OTHER = re.compile(r"[\W_]+")
#: More letters of another script than this, and names may have been transliterated.
OTHER_SCRIPT_MAX = 0.2


def plain(word: str) -> str:
    """A word folded, without accents and possessive."""
    fold = word.casefold().replace("’", "'").removesuffix("'s").rstrip("'")
    return fold if fold.isascii() else "".join(letter for letter in unicodedata.normalize("NFKD", fold) if not unicodedata.combining(letter))


def squeezed(text: str) -> str:
    """The letters and digits of a text alone, folded."""
    return _OTHER.sub("", plain(text))


@dataclass(frozen=True, eq=False)
class Known:
    """The texts of a gold and of its source. `texts`: sentences and statements."""

    texts: tuple[str, ...]

    @cached_property
    def whole(self) -> str:
        """All texts as one."""
        return "\n".join(self.texts)

    @cached_property
    def written(self) -> frozenset[str]:
        """Every word as it is written."""
        return frozenset(_WORD.findall(self.whole))

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word, plain, and its stem."""
        folded = {plain(part) for word in self.written for part in (word, *re.split("['’]", word))} - {""}
        return frozenset(folded | {stem(word) for word in folded})

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Words with a capital, plain."""
        return tuple(sorted({plain(word) for word in self.written if word[0].isupper() and len(word) > 1}))

    @cached_property
    def acronyms(self) -> frozenset[str]:
        """Words of capitals alone, folded."""
        return frozenset(word.casefold() for word in self.written if len(word) > 1 and word.isupper())

    @cached_property
    def drugs(self) -> frozenset[str]:
        """The substances that are named."""
        return frozenset(found for word in self.words if (found := drug(word)) is not None)

    @cached_property
    def squeezed(self) -> str:
        """All letters and digits in a row, a space between the texts."""
        return " ".join(map(squeezed, self.texts))

    @cached_property
    def codes(self) -> frozenset[str]:
        """Every word, pair of words and part of a word with a digit, its letters and digits alone; versions without their "v"."""
        chunks = self.whole.split()
        written = {*chunks, *map("".join, pairwise(chunks)), *CODE.findall(plain_figures(self.whole))}
        found = {squeezed(one) for one in written if any(map(str.isdigit, one))}
        return frozenset(found | {one.removeprefix("v") for one in found})

    @cached_property
    def runs(self) -> frozenset[str]:
        """Every run of digits."""
        return frozenset(re.findall(r"\d+", self.whole))

    @cached_property
    def lettered(self) -> frozenset[str]:
        """The words before codes such as 12B, folded."""
        return frozenset(word.casefold() for word in _LETTERED.findall(self.whole))

    @cached_property
    def figures(self) -> frozenset[float]:
        """Every number in figures, parts of codes too."""
        return frozenset(reading for number in _NUMBER.findall(plain_figures(self.whole)) for reading in figures(number))

    @cached_property
    def values(self) -> tuple[TextValues, ...]:
        """The values of each text."""
        return tuple(map(look, self.texts))

    @cached_property
    def workings(self) -> Workings:
        """What can be worked out from them."""
        return Workings(self.values)

    @cached_property
    def is_latin(self) -> bool:
        """True if nearly all letters are Latin ones."""
        if self.whole.isascii():
            return True
        letters = [letter for letter in self.whole if letter.isalpha()]
        other = sum(not letter.isascii() and not unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
        return other <= OTHER_SCRIPT_MAX * len(letters)


def known(texts: Sequence[str]) -> Known:
    """The reading of these texts, kept for the gold's next case."""
    return _known(tuple(dict.fromkeys(texts)))


@lru_cache(maxsize=GOLDS_KEPT)
def _known(texts: tuple[str, ...]) -> Known:
    return Known(texts)
