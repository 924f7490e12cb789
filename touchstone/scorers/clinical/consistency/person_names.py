"""Names of people as they compare across formats."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from touchstone.scorers.clinical.consistency.record import Name
from touchstone.scorers.clinical.consistency.wording import WORD, folded

#: FHIR, HL7 v2 (table 0200) and C-CDA uses of a person's own name.
_OFFICIAL: Final = frozenset({"", "official", "usual", "l", "d", "r"})
#: The use of a name that is one text.
TEXT: Final = "text"
#: The uses of names that are neither legal nor usual.
NICKNAME: Final = "nickname"
MAIDEN: Final = "maiden"
OTHER: Final = "other"
_USES: Final = {"nickname": NICKNAME, "n": NICKNAME, "maiden": MAIDEN, "m": MAIDEN, "br": MAIDEN}
#: Letters that are written out in plain ones: Müller as Muller and Mueller, Ångström as Angstrom and Aangstroem.
_WRITTEN_OUT: Final = re.compile(r"(?<=[aou])e|(?<=a)a")
#: English first names with their short forms, one group a line.
_FORMS: Final = """
    robert bob bobby rob robbie
    william bill billy will willie
    richard dick rick ricky rich
    james jim jimmy jamie
    john jack johnny
    joseph joe joey
    michael mike mick mickey
    thomas tom tommy
    charles charlie chuck
    edward ed eddie ted ned
    david dave davey
    daniel dan danny
    matthew matt
    andrew andy drew
    anthony tony
    steven stephen steve
    christopher chris
    nicholas nick
    benjamin ben benny
    samuel sam sammy
    alexander alex sandy
    alexandra alex sandra
    katherine catherine kathryn kate katie kathy cathy
    elizabeth liz beth betty eliza lisa
    margaret maggie meg peggy
    patricia pat patty tricia
    patrick pat
    jennifer jen jenny
    susan sue susie
    deborah debra deb debbie
    barbara barb
    rebecca becky
    victoria vicky
    theodore ted
    gerald jerry
    lawrence larry
    ronald ron
    donald don
    kenneth ken
    timothy tim
    gregory greg
    jeffrey jeff
    frederick fred
    francis frank
    peter pete
    philip phil
    raymond ray
    leonard len
"""
_SHORT_FORMS: Final = tuple(frozenset(line.split()) for line in _FORMS.split("\n") if line)
_TITLES: Final = frozenset({"mr", "mrs", "ms", "miss", "dr", "prof", "sir", "jr", "sr", "ii", "iii", "iv", "md", "phd"})


def words(text: object) -> tuple[str, ...]:
    """The folded words of a part of a name."""
    return tuple(WORD.findall(folded(text))) if isinstance(text, str) else ()


def name(family: object, given: Iterable[object], use: object, path: str) -> Name | None:
    """A name by its parts; None if all are empty."""
    surname = words(family)
    first = tuple(word for part in given for word in words(part))
    if not surname and not first:
        return None
    plain = use.strip().casefold() if isinstance(use, str) else ""
    return Name(surname, first, "official" if plain in _OFFICIAL else _USES.get(plain, OTHER), path)


def name_of_text(text: str, path: str) -> Name | None:
    """A name written as one text, so that family and given names are not distinguished."""
    found = tuple(word for word in words(text) if word not in _TITLES)
    return Name((), found, TEXT, path) if found else None


def is_same_name(one: Name, other: Name) -> bool:
    """True if two names agree: one has the other's family names, and its given names, their initials or short forms."""
    if TEXT in (one.use, other.use):
        return _within(one.family + one.given, other.family + other.given)
    return _within(one.family, other.family, is_family=True) and _within(one.given, other.given)


def may_be_same_name(one: Name, other: Name) -> bool:
    """True if two names may belong to one person: they agree, or one is a nickname or maiden name that shares a part with the other."""
    if is_same_name(one, other):
        return True
    if NICKNAME in (one.use, other.use):
        return _within(one.family, other.family, is_family=True)
    return MAIDEN in (one.use, other.use) and _within(one.given, other.given)


def script_of(one: Name) -> str:
    """The script of a name, such as LATIN: names in two scripts are not compared."""
    letter = next((letter for word in (*one.family, *one.given) for letter in word if letter.isalpha()), "a")
    return unicodedata.name(letter, "?").split(" ", 1)[0]


def _within(ours: tuple[str, ...], theirs: tuple[str, ...], *, is_family: bool = False) -> bool:
    """True if the longer has all words of the shorter, each once, in full, as initials or joined. No words at all fit everything."""
    shorter, longer = sorted((ours, theirs), key=len)
    joined = "".join(shorter)
    if joined and any(_is_same_word(joined, "".join(longer[:count])) for count in range(1, len(longer) + 1)):
        return True
    left = list(longer)
    initials = []
    for word in shorter:
        found = next((other for other in left if _is_same_word(word, other) or (not is_family and _is_short_form(word, other))), None)
        if found is None:
            initials.append(word)
        else:
            left.remove(found)
    for word in initials:
        found = next((other for other in left if 1 in (len(word), len(other)) and word[0] == other[0]), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _is_short_form(one: str, other: str) -> bool:
    """True if two first names are forms of one."""
    return any(one in forms and other in forms for forms in _SHORT_FORMS)


def _is_same_word(one: str, other: str) -> bool:
    """True if two folded words are the same, perhaps with letters such as ü written out."""
    return one == other or (len(one) != len(other) and _WRITTEN_OUT.sub("", one) == _WRITTEN_OUT.sub("", other))
