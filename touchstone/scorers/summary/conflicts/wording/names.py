"""Names of persons, places, organisations and drugs, recognised by capitals and short lists."""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz import fuzz

from touchstone.scorers.summary.conflicts.wording.clauses import Clause, ParsedText, Word
from touchstone.scorers.summary.conflicts.wording.drugs import drug
from touchstone.scorers.summary.conflicts.wording.marks import CALENDAR
from touchstone.scorers.summary.word_lists import word_lists

_LISTS = word_lists(__file__, "words")
TITLES = _LISTS["titles"]
COMMON = _LISTS["common"]
_BEARERS = _LISTS["bearers"]
ORGANISATION = _LISTS["organisation"]
JOINS = frozenset({"of", "de", "da", "di", "del", "della", "van", "von", "der", "den", "la", "le", "du", "al", "bin", "ibn", "&", "y", "e", "dos"})
_AGENCIES = _LISTS["agencies"]
ALIASES = (
    {"uk", "britain", "united kingdom", "england"},
    {"us", "usa", "america", "united states", "american"},
    {"holland", "netherlands"},
    {"eu", "european union"},
)


#: Words with capitals that are in names of other things than persons.
_NO_PERSON = TITLES | COMMON | CALENDAR | ORGANISATION


class Name(NamedTuple):
    """A name in a clause: words `first` to `last`. `keys`: its telling words, folded, in order; `kind`: person, organisation, drug or ""."""

    first: int
    last: int
    keys: tuple[str, ...]
    kind: str


def plain(word: Word) -> str:
    """A word without its accents, dots and possessive."""
    bare = unicodedata.normalize("NFKD", word.fold.removesuffix("'s").rstrip("'")).replace(".", "")
    return "".join(letter for letter in bare if not unicodedata.combining(letter))


def names(clause: Clause, opens: int, capitalised: frozenset[str]) -> list[Name]:
    """The names of a clause. `opens`: where its sentence begins, whose first word has a capital anyway; `known`: words with capitals elsewhere."""
    found: list[Name] = []
    words = clause.words
    index = 0
    while index < len(words):
        if (substance := drug(plain(words[index]))) is not None:
            found.append(Name(index, index, (substance,), "drug"))
        elif words[index].text[0].isupper():
            last = _run(words, index)
            name = _name(words, index, last, opens, capitalised)
            if name is not None:
                found.append(name)
            index = last
        index += 1
    return found


def _run(words: Sequence[Word], first: int) -> int:
    """The last word of a run of words with capitals; small words join two of them."""
    last = first
    while last + 1 < len(words):
        if words[last + 1].text[0].isupper():
            last += 1
        elif words[last + 1].fold in JOINS and last + 2 < len(words) and words[last + 2].text[0].isupper():
            last += 2
        else:
            break
    return last


def _name(words: Sequence[Word], first: int, last: int, opens: int, capitalised: frozenset[str]) -> Name | None:
    """A run of words with capitals as a name; None if it names nobody for certain."""
    run = words[first : last + 1]
    naming = [
        place
        for place, word in enumerate(run, first)
        if len(bare := plain(word)) > 1
        and bare.removesuffix("s") not in TITLES
        and bare not in TITLES
        and bare not in COMMON
        and bare not in CALENDAR
        and word.fold not in JOINS
        and word.stem
        and (not bare.isupper() or bare in _AGENCIES)
        and (not word.text.isupper() or bare in _AGENCIES)
    ]
    owner = next((place for place in naming[:-1] if words[place].fold.endswith(("'s", "s'"))), None)
    naming = [place for place in naming if owner is None or place > owner]  # Castleford's Dwayne Osei
    titled = any(plain(word) in TITLES for word in run)
    if not naming:
        return None
    if len(naming) == 1 and words[naming[0]].start == opens and not titled and words[naming[0]].fold not in capitalised and len(run) == 1:
        return None  # any word has a capital there
    after = words[last + 1] if last + 1 < len(words) else None
    if len(naming) == 1 and after is not None and after.content and after.text[0].islower() and not titled and is_demonym(words[naming[0]].fold):
        return None  # the Danish firm
    if _describes(words, first, last):
        return None  # the former Inter Milan star
    organised = any(plain(word) in ORGANISATION for word in run)
    kind = "person" if titled else "organisation" if organised else ""
    return Name(naming[0], last, tuple(dict.fromkeys(plain(words[place]) for place in naming)), kind)


def replaced_name(clause: Clause, first: int, last: int) -> Name | None:
    """The words `first` to `last` as a name by themselves, within a longer one ("Ada Berg" in "Ada Berg of Lund", "Ada Berg's Bill"); None if they are none.

    At least two telling words, so that no title, no part of an institution's name and no word at a sentence's beginning counts.
    """
    run = clause.words[first : last + 1]
    keys = tuple(dict.fromkeys(map(plain, run)))
    if len(keys) < 2 or any(not word.text[:1].isupper() or word.text.isupper() for word in run):
        return None
    return None if any(key in _NO_PERSON or not key.isalpha() for key in keys) else Name(first, last, keys, "")


def is_demonym(fold: str) -> bool:
    """True if a word names a people or a place by its ending: Danish, Parisian."""
    return fold.endswith(
        ("ish", "ese", "ian", "ean", "can", "ench", "reek", "erman", "iss", "utch", "ntine", "ani", "aqi", "aeli", "swede", "dane", "finn", "spaniard")
    )


def _describes(words: Sequence[Word], first: int, last: int) -> bool:
    """True if a run of words with capitals belongs to a description of somebody: "the former Inter Milan star", "a Chelsea supporter"."""
    if last + 1 >= len(words) or plain(words[last + 1]) not in _BEARERS:
        return False
    return any(word.fold in {"the", "a", "an", "former", "ex"} for word in words[max(0, first - 3) : first + 1])


def same(one: Name, other: Name) -> bool:
    """True if two names may name the same."""
    if set(one.keys) & set(other.keys):
        return True
    first, second = " ".join(sorted(one.keys)), " ".join(sorted(other.keys))
    if any(any(key in first for key in alias) and any(key in second for key in alias) for alias in ALIASES):
        return True
    if any(a[:4] == b[:4] or fuzz.ratio(a, b) >= 80 for a in one.keys for b in other.keys):
        return True  # Denmark and Danish, Krämer and Kraemer
    return _initials(one) in other.keys or _initials(other) in one.keys


def _initials(name: Name) -> str:
    return "".join(key[0] for key in name.keys)


def capitalised_words(everywhere: Sequence[ParsedText]) -> frozenset[str]:
    """Words that have a capital where they do not begin a sentence, folded."""
    return frozenset(word.fold for reading in everywhere for word in reading.words[1:] if word.text[0].isupper())
