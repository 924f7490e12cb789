"""Opposites in two clauses, and whether they say the same from either end ("A is larger than B", "B is smaller than A")."""

from collections.abc import Collection
from functools import lru_cache
from typing import Literal, NamedTuple

from touchstone.scorers.summary.conflicts.wording.clauses import Clause
from touchstone.scorers.summary.conflicts.wording.opposites import COMPARATIVES, FAMILIES, RELATIONAL, TEMPORAL
from touchstone.scorers.summary.lexical import stem
from touchstone.scorers.summary.word_lists import listed

_COURTS = listed("court courts court's house chamber education school class limb limbs extremity extremities back house's")
_TERMS = {
    "lower": _COURTS,
    "upper": _COURTS,
    "higher": _COURTS,
    "high": listed("court school street seas sea"),
    "inferior": frozenset({"court", "vena"}),
    "first": listed("aid lady minister amendment"),
    "superior": frozenset({"court", "vena"}),
    "public": listed("school prosecutor house"),
    "open": listed("source"),
    "minority": frozenset({"leader"}),
    "majority": frozenset({"leader"}),
}
#: "For" is the opposite of "against" only behind these.
_VOTES = frozenset(map(stem, listed("vote rule argue decide campaign speak")))

#: "Went up" is rose.
_DIRECTIONS = {"up": "rose", "down": "fell"}
_MOVES = listed("go goes went gone going was were is are be been moved shot edged")
_AFTER_DIRECTION = frozenset({"", "by", "from", "at", "in", "on", "to", "against", "compared", "sharply", "slightly", "again"})
_BE = listed("is are was were be been")
_SWITCHES = frozenset(map(stem, listed("switch turn power")))


class Opposite(NamedTuple):
    """Words number `here` and `there` of two clauses that are opposites of each other."""

    here: int
    there: int


@lru_cache(maxsize=1)
def _table() -> dict[str, dict[int, int]]:
    """Word as written, folded → number of the family → side, 0 or 1."""
    table: dict[str, dict[int, int]] = {}
    for number, family in enumerate(FAMILIES):
        for side, words in enumerate(family.split("|")):
            for word in words.split():
                table.setdefault(word, {})[number] = side
    return table


def sides(clause: Clause, index: int) -> dict[int, int]:
    """The families of a word, and which side of each it is on."""
    word = clause.words[index]
    if word.fold == "for" and not (_VOTES & set(clause.last_content(index, 1))):
        return {}
    if word.fold in _DIRECTIONS:
        before, after = (clause.words[place].fold if 0 <= place < len(clause.words) else "" for place in (index - 1, index + 1))
        return _table()[_DIRECTIONS[word.fold]] if before in _MOVES and (after in _AFTER_DIRECTION or after[:1].isdigit()) else {}
    if word.fold in {"on", "off"} and not (
        any(one.stem in _SWITCHES for one in clause.words[max(0, index - 4) : index]) or (index and clause.words[index - 1].fold in _BE)
    ):
        return {}
    return _table().get(word.fold, {})


def rule_of(one: str, other: str) -> Literal["negation", "antonym"]:
    """Unsafe is the negation of safe; dangerous is its opposite."""
    shorter, longer = sorted((one, other), key=len)
    return "negation" if longer.endswith(shorter) and longer[: -len(shorter)] in {"un", "in", "im", "il", "ir", "dis", "non", "a", "ab"} else "antonym"


def alike(clause: Clause, index: int, other: Clause) -> bool:
    """True if another clause has the word too, or one of the same side."""
    word, mine = clause.words[index], sides(clause, index)
    return word.stem in other.all_stems or any(
        theirs.get(family) == side for place in range(len(other.words)) if (theirs := sides(other, place)) for family, side in mine.items()
    )


def opposites(here: Clause, there: Clause, taken_here: Collection[int] = (), taken_there: Collection[int] = ()) -> list[Opposite]:
    """Words of a clause whose opposite the other clause has, and not the word itself; each word once. `taken`: words that negate already."""
    found: list[Opposite] = []
    theirs = {place: its_sides for place in range(len(there.words)) if place not in taken_there and (its_sides := sides(there, place))}
    for index in range(len(here.words)):
        mine = {} if index in taken_here or not theirs or _term(here, index) else sides(here, index)
        if not mine or alike(here, index, there):
            continue
        for place, its_sides in theirs.items():
            if any(its_sides.get(family) == 1 - side for family, side in mine.items()) and not alike(there, place, here):
                found.append(Opposite(index, place))
                del theirs[place]
                break
    return found


def _term(clause: Clause, index: int) -> bool:
    """True if the word is part of a term: a lower court is not lower than another thing."""
    return index + 1 < len(clause.words) and clause.words[index + 1].fold in _TERMS.get(clause.words[index].fold, ())


def turned(here: Clause, there: Clause, pair: Opposite) -> bool:
    """True if the two may say the same from either end, as "A is larger than B" and "B is smaller than A" do; False for words without two ends."""
    first, second = here.words[pair.here].fold, there.words[pair.there].fold
    if first not in RELATIONAL or second not in RELATIONAL:
        return False
    of_here, of_there = _complement(here, pair.here), _complement(there, pair.there)
    if not of_here and not of_there:
        return first in TEMPORAL
    rest_here, rest_there = _without(here, pair.here) - of_here, _without(there, pair.there) - of_there
    # Each end must be found at the same end of the other.
    return not (of_here & of_there) or not (rest_here & rest_there) or len(of_here & rest_there) + len(rest_here & of_there) > 0


def exchanged(here: Clause, there: Clause, *, turned_round: bool = True) -> Opposite | None:
    """The word between two ends that changed places, as in "A before B" and "B before A"; with `turned_round` false: that did not."""
    for first, word in enumerate(here.words):
        if word.fold not in TEMPORAL | COMPARATIVES or not (mine := sides(here, first)):
            continue
        for second, other in enumerate(there.words):
            if other.fold not in TEMPORAL | COMPARATIVES or not any(sides(there, second).get(family) == side for family, side in mine.items()):
                continue
            behind_here, behind_there = _complement(here, first), _complement(there, second)
            rest_here, rest_there = _without(here, first) - behind_here, _without(there, second) - behind_there
            straight = bool(behind_here & behind_there), bool(rest_here & rest_there)
            crossed = bool(behind_here & rest_there), bool(rest_here & behind_there)
            if turned_round and all(crossed) and not straight[0]:
                return Opposite(first, second)
            if not turned_round and all(straight) and not any(crossed):
                return Opposite(first, second)
    return None


def _complement(clause: Clause, index: int) -> frozenset[str]:
    """Content words behind the word: up to a mark for before, after, north of; behind "than" for comparatives; everything behind a verb."""
    after = clause.words[index + 1 :]
    if clause.words[index].fold in COMPARATIVES:
        than = next((place for place, word in enumerate(after) if word.fold == "than"), None)
        if than is None:
            return frozenset()
        after = after[than + 1 :]
    found = set()
    for word in after:
        if not word.stem:
            break
        if word.content:
            found.add(word.stem)
    return frozenset(found)


def _without(clause: Clause, index: int) -> frozenset[str]:
    return frozenset(word.stem for place, word in enumerate(clause.words) if word.content and place != index)
