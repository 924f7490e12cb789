"""Clauses of a sentence as words with their places, for the rules about wording. Pure, linear, and bounded."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import zip_longest
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.wording.synonyms import SAME
from touchstone.scorers.summary.lexical import STOPWORDS, stem
from touchstone.scorers.summary.word_lists import listed, word_lists

_LISTS = word_lists(__file__, "words")

#: What is read of a sentence or unit; a longer one is compared by its beginning.
CHARS_MAX, CLAUSES_MAX = 1_200, 10


_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|(?:[^\W\d_]\.){2,}|[^\W\d_]+(?:['’][^\W\d_]+)*|[;:()—–,%]|\bvs\b")
_ALWAYS_SPLITS = frozenset({";", ":", "(", ")", "—", "–", "but", "while", "whereas", "although", "though", "which", "who", "whilst", "because", "since", "so"})
#: These split if there is a verb on both sides; else they join items of a list.
_MAY_SPLIT = frozenset({",", "and", "or", "nor"})
_NIL = listed("none nil absent")
_FRONTED = frozenset({"before", "after", "following"})
AUXILIARIES = _LISTS["auxiliaries"]
_LIGHT = frozenset(map(stem, _LISTS["light"]))
_REPORTING = listed("""said says say announced found held ruled concluded stated noted confirmed reported showed shows added explained means meant""")
_DOES_NOT = listed("no nobody none never nothing neither nor without failed refused declined")
_IRREGULAR = _LISTS["irregular"]


class Word(NamedTuple):
    """One word or mark. `stem`: "" for marks; `content`: whether it says something by itself."""

    start: int
    end: int
    text: str
    fold: str
    stem: str
    content: bool


@dataclass(frozen=True, slots=False)
class Clause:
    """A run of words of one text. `ends`: the mark or conjunction behind it."""

    words: tuple[Word, ...]
    ends: str = ""

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of the content words."""
        return frozenset(word.stem for word in self.words if word.content)

    @cached_property
    def all_stems(self) -> frozenset[str]:
        """Stems of all words."""
        return frozenset(word.stem for word in self.words if word.stem)

    @cached_property
    def folds(self) -> frozenset[str]:
        """All words, folded."""
        return frozenset(word.fold for word in self.words)

    def span(self, first: int, last: int | None = None) -> tuple[int, int]:
        """Where the words `first` to `last` are in the text: [start, end)."""
        return self.words[first].start, self.words[first if last is None else last].end

    def next_content(self, index: int, count: int = 1) -> list[str]:
        """Stems of the next `count` content words after a place."""
        return [word.stem for word in self.words[index + 1 :] if word.content][:count]

    def last_content(self, index: int, count: int = 1) -> list[str]:
        """Stems of the last `count` content words before a place, the nearest first."""
        return [word.stem for word in reversed(self.words[:index]) if word.content][:count]


NO_CLAUSE = Clause(())


@dataclass(frozen=True, slots=True)
class ParsedText:
    """A sentence in clauses."""

    text: str
    words: tuple[Word, ...]
    clauses: tuple[Clause, ...]
    whole: Clause


@lru_cache(maxsize=4_096)
def read(text: str) -> ParsedText:
    """Split a sentence into words and clauses; `whole` has its words without the marks."""
    words = tuple(_words(text[:CHARS_MAX]))
    pieces = [Clause(part, ends) for piece, ends in _pieces(words) for part in _without_reporter(piece) if any(word.stem for word in part)][:CLAUSES_MAX]
    return ParsedText(text, words, tuple(pieces), Clause(tuple(word for word in words if word.stem)))


def _words(text: str) -> Iterator[Word]:
    for match in _TOKEN.finditer(text):
        written = match.group()
        fold = written.casefold().replace("’", "'")
        if not written[0].isalnum():
            yield Word(*match.span(), written, fold, "", content=False)
            continue
        root = stem(fold) if fold != "%" else "percent"
        root = SAME.get(root, root)
        if root == "not" and fold.startswith("note"):
            root = "note"  # its stem is that of "not"
        yield Word(*match.span(), written, fold, root, content=fold not in STOPWORDS and root not in _LIGHT and root != "not")


def _pieces(words: Sequence[Word]) -> Iterator[tuple[tuple[Word, ...], str]]:
    """Cut at marks and conjunctions; at a comma or "and" only between two runs that have a verb each, and not behind "after …"."""
    piece: list[Word] = []
    run: list[Word] = []
    joint: Word | None = None
    for word, following in zip_longest((*words, None), words[1:]):
        uncut = word is not None and word.fold == "or" and following is not None and following.fold == "not"  # "whether or not"
        uncut = uncut or (word is not None and word.fold == ":" and following is not None and following.fold in _NIL)  # "allergies: none"
        if word is not None and (uncut or (word.fold not in _ALWAYS_SPLITS and word.fold not in _MAY_SPLIT)):
            run.append(word)
            continue
        fronted = bool(piece) and piece[0].fold in _FRONTED and joint is not None and joint.fold == ","
        if piece and (joint is None or joint.fold in _ALWAYS_SPLITS or (_has_verb(piece) and _has_verb(run) and not fronted)):
            yield tuple(piece), joint.fold if joint is not None else ""
            piece = run
        else:
            piece = [*piece, *([joint] if joint is not None and piece else []), *run]
        run = [word] if word is not None and word.fold == "nor" else []  # it negates what follows
        joint = word
    if piece:
        yield tuple(piece), ""


def _without_reporter(piece: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """Separate the statement from its reporter: "she said that …", unless she denied or failed to say it."""
    for place, word in enumerate(piece[1:], 1):
        if word.fold == "that" and piece[place - 1].fold in _REPORTING and not any(one.stem == "not" or one.fold in _DOES_NOT for one in piece[:place]):
            yield piece[:place]
            yield piece[place + 1 :]
            return
    yield piece


def _has_verb(words: Sequence[Word]) -> bool:
    return any(
        word.fold in AUXILIARIES or word.fold in _IRREGULAR or (word.fold.endswith("ed") and len(word.fold) > 4 and word.fold[-3] != "e") for word in words
    )


class Overlap(NamedTuple):
    """The stems that two sets share, and those that each has alone."""

    shared: frozenset[str]
    here: frozenset[str]
    there: frozenset[str]

    def same_thing(self, strict: float) -> bool:
        """True if both speak about the same thing: most of the shorter is shared, and where each says something alone, at least `strict` of it."""
        shared, here, there = len(self.shared), len(self.here), len(self.there)
        if not shared:
            return False
        least, most = shared + min(here, there), shared + max(here, there)
        if shared == 1:
            return most <= 2 and least == 1
        needed = strict if here and there else 0.6
        return shared >= needed * least and shared * 3 >= most


def overlap(here: frozenset[str], there: frozenset[str]) -> Overlap:
    """Compare two sets of stems."""
    shared = here & there
    return Overlap(shared, here - shared, there - shared)
