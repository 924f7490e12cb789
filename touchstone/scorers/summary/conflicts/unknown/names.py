"""Names that neither the gold nor its source has: no word of them occurs there.

A list of what is no name, not of names: abbreviations, the calendar, titles, peoples and languages, words of headings, and a word that begins a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rapidfuzz import fuzz, process

from touchstone.scorers.summary.conflicts.unknown.known import Known, plain, squeezed
from touchstone.scorers.summary.conflicts.wording.drugs import drug
from touchstone.scorers.summary.conflicts.wording.marks import CALENDAR, OFFICES
from touchstone.scorers.summary.conflicts.wording.names import ALIASES, COMMON, JOINS, ORGANISATION, TITLES, is_demonym
from touchstone.scorers.summary.lexical import STOPWORDS, stem
from touchstone.scorers.summary.word_lists import word_lists

_LISTS = word_lists(__file__, "words")
_ENGLISH, _OTHER = _LISTS["english"], _LISTS["other"]
_TITLES = TITLES | _LISTS["titles"]
_NO_NAMES = COMMON | _LISTS["common"] | _TITLES | OFFICES | CALENDAR | ORGANISATION | STOPWORDS
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*\.?|\d[\d.,:/]*|[^\w\s]|\n")
#: After these a word has a capital anyway.
_OPENERS = frozenset(".!?:;\"“”„«»'‘’([–—•*|#>\n-/")
#: Endings of words that are no names.
_ENDINGS = ("tion", "sion", "ment", "ness", "ology", "ical", "ship", "isation", "ization", "itis", "aemia", "emia")
#: A word so like a known name is that name, spelt otherwise.
SPELT_ALIKE = 85.0
#: From this share of capitals on a line is a heading, or its language writes nouns with capitals.
CAPITALS_MAX = 0.5
#: Fewer small words than this, and the text is not English.
SMALL_WORDS_MIN = 0.1
_EPONYM = frozenset({"disease", "syndrome", "sign", "test", "score", "palsy", "criteria", "phenomenon", "lymphoma", "law", "theorem", "equation"})


class _Token(NamedTuple):
    text: str
    start: int
    end: int


def unknown_names(sentence: str, known: Known) -> list[tuple[int, int]]:
    """Where a sentence has names and drugs that are unknown: [start, end)."""
    tokens = [_Token(match.group(), *match.span()) for match in _TOKEN.finditer(sentence)]
    found = [(token.start, token.end) for token in tokens if token.text.islower() and _is_other_drug(plain(token.text), known)]
    if not _is_prose(sentence, tokens):
        return found
    return sorted(found + [place for run in _runs(tokens) if (place := _judged(tokens, run, known)) is not None])


def is_english(sentences: Sequence[str]) -> bool:
    """True if a text has as many small words as English has, and is not plainly of another language; those write capitals by other rules."""
    words = [word.casefold() for sentence in sentences for word in re.findall(r"[^\W\d_]+", sentence)]
    return sum(word in STOPWORDS for word in words) >= SMALL_WORDS_MIN * len(words) and not is_foreign(sentences)


def is_foreign(texts: Sequence[str]) -> bool:
    """True if the small words of other languages outnumber those that English alone has; "in", "an" and "was" are of several."""
    words = [word.casefold() for text in texts for word in re.findall(r"[^\W\d_]+", text)]
    other = sum(word in _OTHER for word in words)
    return other > max(1, sum(word in _ENGLISH for word in words))


def _is_other_drug(word: str, known: Known) -> bool:
    substance = drug(word) if word not in known.words else None
    return substance is not None and substance not in known.drugs and stem(word) not in known.words


def _is_prose(sentence: str, tokens: Sequence[_Token]) -> bool:
    """False for a heading: it is marked as one, or most of its longer words have capitals, and no full stop ends it."""
    if sentence.lstrip().startswith("#"):
        return False
    words = [token.text for token in tokens[1:] if token.text[0].isalpha() and plain(token.text) not in STOPWORDS]
    capitals = sum(word[0].isupper() for word in words)
    return capitals < 3 or capitals <= CAPITALS_MAX * len(words) or (sentence.rstrip().endswith((".", "!", "?")) and any(map(str.islower, words)))


def _runs(tokens: Sequence[_Token]) -> Iterator[range]:
    """Runs of words with capitals; small words, initials and hyphens join two of them."""
    place = 0
    while place < len(tokens):
        if not tokens[place].text[0].isupper():
            place += 1
            continue
        last = place
        while last + 1 < len(tokens):
            step = 2 if tokens[last + 1].text.casefold() in JOINS or tokens[last + 1].text in {"-", "&"} else 1
            if last + step >= len(tokens) or not tokens[last + step].text[0].isupper() or tokens[last].text.casefold().endswith(("'s", "’s")):
                break
            last += step
        yield range(place, last + 1)
        place = last + 1


def _judged(tokens: Sequence[_Token], run: range, known: Known) -> tuple[int, int] | None:
    """Where the run is if it is a name that is unknown, else None."""
    opens = run.start == 0 or tokens[run.start - 1].text[-1] in _OPENERS
    following = tokens[run.stop].text if run.stop < len(tokens) else ""
    if (opens and following == ":") or (following == "-" and run.stop + 1 < len(tokens) and tokens[run.stop + 1].text.islower()):
        return None  # a label; "German-style"
    before = tokens[run.start - 1].text if run.start else ""
    titled = any(plain(tokens[place].text.rstrip(".")) in _TITLES for place in run) or plain(before.rstrip(".")) in OFFICES | _TITLES
    naming = [place for place in run if _names(tokens[place].text)]
    if naming and naming[0] == run.start and opens and not titled and not _is_owner(tokens, run):
        naming = naming[1:]
    if not naming or any(_is_known(plain(tokens[place].text.rstrip(".")), known) for place in naming):
        return None
    if following in _EPONYM and len(naming) == 1:
        return None
    words = [tokens[place].text for place in run if tokens[place].text[0].isupper()]
    initials = "".join(word[0] for word in words).casefold()
    if any(acronym in initials for acronym in known.acronyms if len(acronym) >= 2) or _whole(words) in known.squeezed:
        return None
    return tokens[naming[0]].start, tokens[naming[-1]].start + len(tokens[naming[-1]].text.rstrip("."))


def _whole(words: Sequence[str]) -> str:
    """The words of a name in a row, without "The": "The Health-Track app" beside "HealthTrack"."""
    return squeezed(" ".join(word for word in words if word.casefold() not in STOPWORDS))


def _is_owner(tokens: Sequence[_Token], run: range) -> bool:
    """True for one word of a name at a sentence's beginning: "Kowalik's record"."""
    return len(run) == 1 and tokens[run.start].text.endswith(("'s", "’s")) and plain(tokens[run.start].text) not in _NO_NAMES


def _names(word: str) -> bool:
    """True if a word with a capital may be part of a name."""
    word = word.rstrip(".")
    bare = plain(word)
    if len(bare) < 3 or word.isupper() or not word[0].isupper() or sum(map(str.isupper, word)) * 2 > len(word):
        return False
    singular = bare.removesuffix("s")
    if bare in _NO_NAMES or singular in _NO_NAMES or stem(bare) in _NO_NAMES:
        return False
    return not is_demonym(bare) and not is_demonym(singular) and not bare.endswith(_ENDINGS) and not singular.endswith(_ENDINGS)


def _is_known(word: str, known: Known) -> bool:
    """True if the word is in a known text, or is another form or spelling of one of its names."""
    if word in known.words or word.removesuffix("s") in known.words or stem(word) in known.words:
        return True
    if drug(word) in known.drugs:
        return True
    bare = word.removesuffix("s")
    for name in known.names:
        if name.startswith(bare) or (len(name) >= 4 and word.startswith(name)):
            return True  # "Lib Dems"; "Viennese" beside "Vienna" is no name at all
        if is_demonym(name) and name[:4] == word[:4]:
            return True  # "Norway" beside "Norwegian"
    if any(word in alias and not alias.isdisjoint(known.words) for alias in ALIASES):
        return True
    return len(word) >= 5 and process.extractOne(word, known.names, scorer=fuzz.ratio, score_cutoff=SPELT_ALIKE) is not None
