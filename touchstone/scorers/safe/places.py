"""Where an expected string occurs in a text as it is written. Matching compares folded texts; people read the written one."""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from touchstone.scorers.safe.matching import fold

#: Places of one expectation that are marked in one text; more would hide the text.
PLACES_MAX = 20


class Place(NamedTuple):
    """Characters `start` up to `end` of a text."""

    start: int
    end: int


class FoldedText:
    """A text and its folded form, with the written characters behind each folded one."""

    def __init__(self, text: str) -> None:
        self.folded = fold(text)
        self._origins = _origins(text)
        joined = "".join(character for character, _ in self._origins)
        #: False if the text cannot be folded piece by piece; no string is then located in it.
        self.is_mapped = joined == self.folded

    def places_of(self, folded: str) -> Iterator[Place]:
        """The first places of a folded string, in order, without overlaps."""
        if not folded or not self.is_mapped:
            return
        at, found = self.folded.find(folded), 0
        while at >= 0 and found < PLACES_MAX:
            end = at + len(folded)
            yield Place(self._origins[at][1].start, self._origins[end - 1][1].end)
            found += 1
            at = self.folded.find(folded, end)


def _origins(text: str) -> Sequence[tuple[str, Place]]:
    """Each folded character with the written characters that it comes from; runs of white space are one space, and there is none at the ends."""
    found: list[tuple[str, Place]] = []
    space: Place | None = None
    for start, end in _pieces(text):
        for character in _folded_piece(text[start:end]):
            if character.isspace():
                space = space or Place(start, end)
                continue
            if space is not None and found:
                found.append((" ", space))
            space = None
            found.append((character, Place(start, end)))
    return found


def _pieces(text: str) -> Iterator[Place]:
    """The text in pieces that fold independently: a character with the marks that combine with it."""
    start = 0
    for at in range(1, len(text)):
        if text[at].isascii() or not _combines(text[start:at], text[at]):
            yield Place(start, at)
            start = at
    if text:
        yield Place(start, len(text))


def _combines(piece: str, character: str) -> bool:
    """True if a character folds together with the piece before it."""
    if unicodedata.combining(character):
        return True
    return _folded_piece(piece + character) != _folded_piece(piece) + _folded_piece(character)


def _folded_piece(piece: str) -> str:
    """`fold` of a piece, with white space as it is."""
    if piece.isascii():
        return piece.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", piece).casefold())
