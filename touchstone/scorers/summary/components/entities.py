"""Entity preservation (Loss V3 §3.B): named alike, and in a context that means the same."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from rapidfuzz import fuzz, process

from touchstone.scorers.summary.components.acronyms import acronym, expansions
from touchstone.scorers.summary.components.short_names import places_of, short_names
from touchstone.scorers.summary.word_lists import listed

_IDEOGRAPH = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
#: A word, or one ideograph or kana (those scripts write no blanks). A possessive "s" is a word of its own, and so is each part of a word with hyphens.
#: Signs at the end of a letter are the word's: C++, C#.
_WORD = re.compile(rf"[{_IDEOGRAPH}]|[^\W{_IDEOGRAPH}]+(?:(?!['’]s\b)[.,'’&+/]+[^\W{_IDEOGRAPH}]+)*(?:(?<=[A-Za-z])[+#]{{1,2}}(?!\w))?")
#: The best mentions of one entity in one text whose contexts are compared.
MENTIONS_MAX = 6
#: Words of an entity beyond which it is a sentence, not a name; it is still compared, by its own count only.
LONG_WORDS = 30
#: A longer entity is sought word for word: holding every run of that many words would take too much memory.
FUZZY_WORDS_MAX = 60

#: Before a name these do not matter. Those of the second set are also words of other names (General Motors): they go only before two words or more.
_TITLES = listed("""dr doctor mr mrs ms mx miss mister prof professor judge justice president vice sir dame lady lord senator sen minister prime secretary
    mayor governor councillor councilor captain capt colonel col lieutenant lt sergeant sgt inspector detective nurse ambassador chancellor
    commissioner congressman congresswoman representative rep rev reverend attorney hon honorable honourable""")
_DOUBTFUL_TITLES = listed("general gen major chief king queen prince princess pope bishop archbishop father sister brother coach saint st deputy former")
_DEGREES = listed("md phd esq kc qc mp jd rn do msc bsc ma mba")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
#: The letter behind a number, and the letters before it: 12B, AB-1234.
_TAIL = re.compile(r"\d[\s-]?([^\W\d_])(?![^\W\d_])")
_HEAD = re.compile(r"(?<![^\W_])([A-Z]{1,4})[\s-]?(?=\d)")
_VOWEL = re.compile(r"[AEIOUY]")
_CAPITALS = re.compile(r"[A-Z]+(?=\d)")
#: Letters and number of a code whose parts a hyphen or a blank may divide: B-12, IL 6.
_CODE = re.compile(r"[A-Z]{1,5}\d{1,5}")
#: Letters that Unicode does not take for others with a mark.
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i"})
_MARKS = re.compile("[\u0300-\u036f]")


class Mention(NamedTuple):
    """Words `first` up to `last` of a text. `ratio`: likeness to the entity, in [0, 1]."""

    first: int
    last: int
    ratio: float


class Words:
    """A text as words that keep their places."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places = [match.span() for match in _WORD.finditer(text)]
        self.folded = [_folded_at(text, start, end) for start, end in self.places]
        self._runs: dict[int, list[str]] = {}

    def runs(self, count: int) -> list[str]:
        """Every run of `count` words, folded; `runs(n)[i]` starts at word i."""
        if count not in self._runs:
            folded = self.folded
            self._runs[count] = [" ".join(filter(None, folded[first : first + count])) for first in range(len(folded) - count + 1)]
        return self._runs[count]

    def mentions_at(self, places: Iterable[tuple[int, int]]) -> list[Mention]:
        """The mentions at places [start, end) of the text, the first ones of them."""
        found = []
        for start, end in islice(places, MENTIONS_MAX):
            inside = [place for place, (first, last) in enumerate(self.places) if first < end and last > start]
            if inside:
                found.append(Mention(inside[0], inside[-1] + 1, 1.0))
        return found

    def written(self, mention: Mention) -> str:
        """The mention as the text has it."""
        return self.text[self.places[mention.first][0] : self.places[mention.last - 1][1]]

    def context(self, mention: Mention, words: int) -> str:
        """The mention with `words` words on each side."""
        first = self.places[max(0, mention.first - words)][0]
        last = self.places[min(len(self.places), mention.last + words) - 1][1]
        return self.text[first:last]


def fold(word: str) -> str:
    """The form that is compared: NFKC, casefolded, without accents, dots and apostrophes, digits as 0 to 9."""
    word = _plain_digits(word)
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", word).casefold().translate(_LETTERS))
    return unicodedata.normalize("NFC", _MARKS.sub("", plain)).replace(".", "").replace("'", "").replace("’", "").replace(",", "")


def _plain_digits(text: str) -> str:
    """The digits of every script as 0 to 9."""
    return text if text.isascii() else "".join(str(unicodedata.decimal(letter)) if letter.isdecimal() else letter for letter in text)


def _folded_at(text: str, start: int, end: int) -> str:
    """A word of a text, folded; nothing for the "s" of a possessive."""
    return "" if text[start:end] in {"s", "S"} and start and text[start - 1] in "'’" else fold(text[start:end])


def mentions(entity: str, text: Words, threshold: float) -> list[Mention]:
    """Where a text has something like the entity: spans of about as many words whose ratio is above the threshold, the most similar first.

    Numbers, letters at codes and acronyms must be the same besides. Titles, accents, possessives, hyphens and dots of initials do not count.
    """
    sought = Words(_without_titles(entity))
    count = len(sought.places)
    if not count:
        return []
    if count > FUZZY_WORDS_MAX:
        return _verbatim(sought.runs(1), text)
    written = sought.written(Mention(0, count, 1.0))
    (wanted,) = sought.runs(count)
    found = [
        mention
        for size in _sizes(count)
        if size <= len(text.places)
        for mention in _alike(wanted, text, size, threshold)
        if _same_marks(written, text.written(mention))
    ]
    found.sort(key=lambda mention: (-mention.ratio, mention.first, mention.last))
    return found[:MENTIONS_MAX]


def _without_titles(entity: str) -> str:
    """A name without titles before it and degrees behind it; as it is where nothing else is left."""
    places = [match.span() for match in _WORD.finditer(entity)]
    plain = [fold(entity[start:end]) for start, end in places]
    first, last = 0, len(places)
    while last - first > 1 and (plain[first] in _TITLES or (plain[first] in _DOUBTFUL_TITLES and last - first > 2)):
        first += 1
    while last - first > 1 and plain[last - 1] in _DEGREES and entity[places[last - 1][0]].isupper():
        last -= 1
    return entity[places[first][0] : places[last - 1][1]] if places else entity


def _verbatim(wanted: Sequence[str], text: Words) -> list[Mention]:
    """Where a text has just these words; blanks at both ends keep a match from beginning inside a word."""
    words = f" {' '.join(text.runs(1))} "
    sought = f" {' '.join(wanted)} "
    found: list[Mention] = []
    at = words.find(sought)
    while at >= 0 and len(found) < MENTIONS_MAX:
        first = words.count(" ", 0, at)
        found.append(Mention(first, first + len(wanted), 1.0))
        at = words.find(sought, at + 1)
    return found


def _sizes(count: int) -> range:
    """How many words a span may have."""
    return range(count, count + 1) if count > LONG_WORDS else range(max(1, count - 1), count + 2)


def _alike(wanted: str, text: Words, size: int, threshold: float) -> Iterator[Mention]:
    """Spans of one size above the threshold, where blanks do not count if nothing else differs; rapidfuzz gives those that reach it."""
    runs, bare = text.runs(size), wanted.replace(" ", "")
    scores = {first: score for _, score, first in process.extract_iter(wanted, runs, scorer=fuzz.ratio, processor=None, score_cutoff=threshold * 100)}
    for first, run in enumerate(runs):
        if run and run[0] == bare[:1] and run.replace(" ", "") == bare:
            scores[first] = 100.0
    for first, score in scores.items():
        if (score > threshold * 100 or score == 100) and text.folded[first] and text.folded[first + size - 1]:
            yield Mention(first, first + size, score / 100)


def _same_marks(entity: str, span: str) -> bool:
    """True if numbers, the letters at them and acronyms are the same."""
    one, other = (_plain_digits(unicodedata.normalize("NFKC", text)) for text in (entity, span))
    if [number.replace(",", "") for number in _NUMBER.findall(one)] != [number.replace(",", "") for number in _NUMBER.findall(other)]:
        return False
    if _TAIL.findall(one.casefold()) != _TAIL.findall(other.casefold()):
        return False
    heads = _HEAD.findall(one), _HEAD.findall(other)
    return (not all(heads) or heads[0] == heads[1]) and _same_letters(one, other) and _same_acronyms(one, other)


def _same_letters(entity: str, span: str) -> bool:
    """True if single letters are the same, word by word: hepatitis B is not hepatitis C. With unequal word counts only the last word is compared."""
    mine, theirs = ([folded for match in _WORD.finditer(text) if (folded := _folded_at(text, *match.span()))] for text in (entity, span))
    if len(mine) != len(theirs):
        return len(mine[-1]) > 1 or "".join(theirs).endswith("".join(mine[-2:]))
    return all(one == other for one, other in zip(mine, theirs, strict=True) if 1 in {len(one), len(other)})


def _same_acronyms(entity: str, span: str) -> bool:
    """True if the entity's acronyms are in the span in capitals, and no small word of the entity is an acronym there."""
    mine, theirs = ([match.group() for match in _WORD.finditer(text)] for text in (entity, span))
    lettered = [word for word in mine if word[0].isalpha()]
    # "JOHN SMITH" is written loud; "US FDA" and "AB-1234" are not.
    loud = len(lettered) > 1 and all(word.isupper() and len(word) > 2 and _VOWEL.search(word) for word in lettered)
    if not loud and any(letters not in _in_capitals(theirs) for word in mine if (letters := acronym(word)) is not None):
        return False
    return not (len(mine) == len(theirs) == 1 and (mine[0].islower() or _is_name(mine[0])) and acronym(theirs[0]) is not None and len(theirs[0]) < 4)


def _in_capitals(words: Sequence[str]) -> set[str]:
    """Everything in capitals: words, letters before digits (AB1234), initials in a row (J. R.)."""
    found = {word.replace(".", "") for word in words if not word.islower()}
    found |= {match.group() for word in words if (match := _CAPITALS.match(word))}
    beside = [first + second for first, second in pairwise(words) if (first + second).isupper()]
    return found | {both for both in beside if len(both) == 2 or _CODE.fullmatch(both)}


def _is_name(word: str) -> bool:
    return word[0].isupper() and word[1:].islower()


class Sought(NamedTuple):
    """One entity in both texts: its mentions in the generated summary and in the gold narrative."""

    generated: list[Mention]
    gold: list[Mention]

    @property
    def needs_context(self) -> bool:
        """An entity that the narrative does not name has no context to compare with."""
        return bool(self.generated and self.gold)


def seek(entities: Sequence[str], generated: Words, gold: Words, threshold: float, others: Iterable[str] = (), *, shortened: bool = True) -> list[Sought]:
    """Every entity in both texts; in the narrative only where the summary has it.

    An acronym is also sought by its name, and a name by its acronym, where one of the two texts or of `others` (the rest of the gold) gives both; a name
    that is not there by its short form, unless `shortened` is False.
    """
    of_gold = (gold.text, *others)
    forms = expansions(entities, (generated.text, *of_gold))
    short = short_names(entities, of_gold) if shortened else {}
    found = []
    for entity in entities:
        spellings = [entity, *forms.get(entity, ())]
        there = _of_all(spellings, generated, threshold)
        if not there and entity in short:
            there = generated.mentions_at(places_of(entity, short[entity], generated.text, of_gold))
        found.append(Sought(there, _of_all(spellings, gold, threshold) if there else []))
    return found


def _of_all(spellings: Sequence[str], text: Words, threshold: float) -> list[Mention]:
    """The best mentions by any spelling, each place once."""
    found = sorted(
        (mention for form in spellings for mention in mentions(form, text, threshold)), key=lambda mention: (-mention.ratio, mention.first, mention.last)
    )
    return list({(mention.first, mention.last): mention for mention in reversed(found)}.values())[::-1][:MENTIONS_MAX]


def entities_loss(matched: int, count: int) -> float:
    """L_entities = 1 − matched / |E|."""
    return 1.0 - matched / count
