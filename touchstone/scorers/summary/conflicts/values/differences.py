"""Values of a sentence that differ from those of the facts and sentences it is about: 100 mg for 10 mg, 1987 for 1978.

Values are compared by what they mean, not as written. A value that a unit states is right. A value that no unit states is
wrong only if a near unit states another value of that kind about the same thing, and the sentence does not; anything else is merely unsupported.
"""

from collections.abc import Container, Sequence
from itertools import permutations
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.difference import Difference, Rule
from touchstone.scorers.summary.conflicts.values import arithmetic, between
from touchstone.scorers.summary.conflicts.values.alignment import SCORES_NEAR, UNITLESS, nearness, sureness_of
from touchstone.scorers.summary.conflicts.values.surroundings import Placed, TextValues, dosed, laboratory, look
from touchstone.scorers.summary.conflicts.values.value import Value, comparable, leaves_room, same, same_figures

#: Only the nearest units can contradict a value; every given unit can confirm it.
NEAREST = 8
#: Values of a sentence that may have changed places.
EXCHANGED_MAX = 10
#: Values of units that one value is held against.
CANDIDATES = 16
#: Units that are read at most.
UNITS_MAX = 64
#: A stem that more than this share of the units have weighs only so much.
COMMON, COMMON_WEIGHT = 0.6, 0.5
#: Bonus for each further unit, up to two, that states the other value.
REPEATED = 0.25
#: Sureness, by kind, that two values are about the same thing, from which on a difference is a conflict.
SURE = {"number": 2.0, "ordinal": 2.5, "age": 1.0, "frequency": 1.0}
SURE |= dict.fromkeys(("date", "clock", "duration"), 1.5) | dict.fromkeys(("quantity", "money", "percentage"), 1.25)
#: Bonus if the words before and behind both values are the same: the sentence is a copy there.
FRAMED = 1.5
#: Bonus if the value it is joined to is the same: "9 to 4" and "9 to 5".
MATED = 1.5
#: From this sureness on, a value counts as derived only if words beside it say so.
CERTAIN = 3.5
#: Bonus for a unit with the same figures of something measured otherwise ("17 years", "17 seasons"): it was probably meant.
ALIKE = 1.5
#: A value that some unit states about another thing must be so sure to be about the unit that it differs from.
SWAPPED = 2.0
#: A value that a unit leaves room for ("in March" for "on 3 March") needs so much more sureness.
SURER = 0.5
#: A fraction in words needs so much more sureness: "a third" is a common phrase.
VAGUER = 0.5
#: Bonus if the units have only one value of its kind …
ALONE = 0.5
#: … for units up to this rank.
CLOSE = 5
_RULES: dict[str, Rule] = {"ordinal": "number", "age": "number", "frequency": "quantity", "clock": "date"}
#: For each unit, each of its values and each value of the sentence: whether they are the same.
_Same = Sequence[Sequence[Sequence[bool]]]


class _Pair(NamedTuple):
    """A value of the sentence and one of a unit, and how surely both are about the same thing."""

    sureness: float
    here: int
    unit: int
    there: int
    framed: bool = False


def find(sentence: str, units: Sequence[str], near: int = NEAREST) -> list[Difference]:
    """The values of a sentence that differ from those of the units (facts, sentences of the gold; nearest in meaning first) about the same thing.

    Only the first `near` units can contradict a value; a value that any unit states is right.
    """
    near = min(near, NEAREST)
    stated = look(sentence)
    if not stated.values:
        return []
    read = [look(unit) for unit in units[:UNITS_MAX]]
    weights = _weights(read[:near])
    alike = [[[same(here.value, its.value) for here in stated.values] for its in unit.values] for unit in read]
    wrong: list[_Pair] = []
    for here, placed in enumerate(stated.values):
        wrong.extend(_against(here, placed, stated, read, near, alike, weights))
    if len(stated.values) > 1:
        wrong.extend(_exchanged(stated, read, near, alike))
        wrong.extend(_turned(stated, read, near, alike))
    found = _one_each(wrong, stated, read)
    return [*found, *(one for one in between.find(stated, read, near) if one.here not in {other.here for other in found})]


def _weights(read: Sequence[TextValues]) -> dict[str, float]:
    """Weight of each stem: one that most of the units have hardly distinguishes them."""
    counts: dict[str, int] = {}
    for unit in read:
        for word in unit.stems:
            counts[word] = counts.get(word, 0) + 1
    return {word: COMMON_WEIGHT for word, count in counts.items() if count > max(2.0, COMMON * len(read))}


def _against(here: int, placed: Placed, stated: TextValues, read: Sequence[TextValues], near: int, alike: _Same, weights: dict[str, float]) -> list[_Pair]:
    """The pairs of one value of the sentence with values of units that it contradicts, if it does."""
    if placed.value.weak:
        return []
    pairs = _candidates(here, placed, stated, read[:near], alike, weights)
    borne, loosely = _borne(here, placed, read, alike, weights)
    kept = _sure(pairs, placed.value, loosely, read) if borne is None else _in_spite_of_bearers(here, placed, pairs, borne, stated, read, alike)
    if not kept:
        return []
    known = [one.value for place, one in enumerate(stated.values) if any(row[place] for unit in alike for row in unit)]
    return _underived(kept, placed, stated, read[:near], known)


def _candidates(here: int, placed: Placed, stated: TextValues, near: Sequence[TextValues], alike: _Same, weights: dict[str, float]) -> list[_Pair]:
    """Pairs with comparable values of the near units that differ, and that the sentence does not state elsewhere."""
    value, pairs = placed.value, []
    for index, unit in enumerate(near):
        for there, its in enumerate(unit.values):
            framed = placed.framed_as(its)
            if its.value.weak or alike[index][there][here] or not comparable(value, its.value) or _unlike(value, its.value):
                continue
            if framed or not _stated(value, its.value, alike[index][there], stated):
                sureness = sureness_of(placed, its, weights) + nearness(index) + FRAMED * framed
                if _mated(here, there, stated, unit, alike[index]):
                    sureness += MATED - UNITLESS * (value.kind != its.value.kind)
                pairs.append(_Pair(sureness, here, index, there, framed))
    return pairs


def _sure(pairs: Sequence[_Pair], value: Value, loosely: float | None, read: Sequence[TextValues]) -> list[_Pair]:
    """The pairs that are surely about the same thing. `loosely`: how surely a unit leaves room for the value."""
    least = SURE[value.kind] + VAGUER * (value.kind == "percentage" and value.words)
    least = least if loosely is None else max(least, loosely + SURER)
    alone = ALONE if value.kind not in {"number", "ordinal"} and _one_only(pairs, read) else 0.0
    return [pair for pair in _repeated(pairs, read) if pair.sureness + (alone if pair.unit < CLOSE else 0.0) >= least]


def _in_spite_of_bearers(
    here: int, placed: Placed, pairs: Sequence[_Pair], borne: float, stated: TextValues, read: Sequence[TextValues], alike: _Same
) -> list[_Pair]:
    """The pairs that count though some unit states the value: the sentence is a copy of another unit there, or gives the value to another owner."""
    copied = not any(alike[index][there][here] and placed.framed_as(its) for index, unit in enumerate(read) for there, its in enumerate(unit.values))
    bearers = _bearers_of_all(stated, read, alike) if copied else set()
    swapped = not placed.value.is_distinctive and borne < 1.0
    return [
        pair
        for pair in pairs
        if (pair.framed and copied and (not bearers or pair.unit in bearers))
        or (swapped and pair.sureness >= SWAPPED + max(borne, 0.0) and _attached(placed, read[pair.unit].values[pair.there]))
    ]


def _bearers_of_all(stated: TextValues, read: Sequence[TextValues], alike: _Same) -> set[int]:
    """The units that state every value of a sentence that has two or more.

    Beside such a one, a unit that only reads alike ("410 in February" beside "480 in March") is about another thing.
    """
    strong = [here for here, placed in enumerate(stated.values) if not placed.value.weak]
    if len(strong) < 2:
        return set()
    return {index for index in range(len(read)) if all(any(row[here] for row in alike[index]) for here in strong)}


def _underived(pairs: list[_Pair], placed: Placed, stated: TextValues, read: Sequence[TextValues], known: Container[Value]) -> list[_Pair]:
    """The pairs, unless the value can be worked out; in a copied sentence it was not. `known`: the sentence's values that units state."""
    if not arithmetic.follows(placed, stated, read, known):
        return pairs
    surely = [pair for pair in pairs if pair.framed or pair.sureness >= CERTAIN]
    derived = arithmetic.follows(placed, stated, read, known, cued=True) if surely else True
    return [pair for pair in surely if pair.framed or not derived]


def _mated(here: int, there: int, stated: TextValues, unit: TextValues, alike: Sequence[Sequence[bool]]) -> bool:
    """True if the value that is joined to this one is the same as the unit's in the same place."""
    mate = stated.values[here].value.mate
    other = there + mate
    return bool(mate) and 0 <= other < len(unit.values) and alike[other][here + mate] and comparable(unit.values[other].value, unit.values[there].value)


def _attached(mine: Placed, its: Placed) -> bool:
    """True if two values are surely of the same thing: counts of the same noun, or bare numbers among the same words."""
    here, there = mine.value, its.value
    bare = not here.heads and not there.heads and not (here.mate and not there.mate) and len(mine.near & its.near) >= SCORES_NEAR
    return "number" not in {here.kind, there.kind} or bool(here.heads & there.heads) or bare


def _one_only(pairs: Sequence[_Pair], read: Sequence[TextValues]) -> bool:
    """True if the values of the units that a value may differ from are all the same one."""
    values = [read[pair.unit].values[pair.there].value for pair in pairs]
    return bool(values) and all(same(values[0], other) for other in values[1:])


def _repeated(pairs: Sequence[_Pair], read: Sequence[TextValues]) -> list[_Pair]:
    """The pairs, surer where further units state the same value."""
    pairs = sorted(pairs, key=lambda pair: -pair.sureness)[:CANDIDATES]
    values = [read[pair.unit].values[pair.there].value for pair in pairs]
    again = [sum(same(value, other) for other in values) - 1 for value in values]
    return [pair._replace(sureness=pair.sureness + REPEATED * min(2, count)) for pair, count in zip(pairs, again, strict=True)]


def _exchanged(stated: TextValues, read: Sequence[TextValues], near: int, alike: _Same) -> list[_Pair]:
    """Values that changed places: "A won 9, B won 4" where a unit says "A won 4, B won 9"."""
    pairs = []
    for one, two in permutations(range(min(EXCHANGED_MAX, len(stated.values))), 2):
        mine, other = stated.values[one], stated.values[two]
        own, its = mine.near - other.near, other.near - mine.near
        if not own or not its or mine.value.weak or not comparable(mine.value, other.value) or same(mine.value, other.value):
            continue
        bearers = [(index, there) for index, unit in enumerate(read) for there in range(len(unit.values)) if alike[index][there][one]]
        around = [read[index].values[there].near for index, there in bearers]
        if not around or any(own & words for words in around) or not any(its & words for words in around):
            continue
        for index, unit in enumerate(read[:near]):
            for there, owner in enumerate(unit.values):
                if alike[index][there][two] and own & owner.near and not its & owner.near:
                    pairs.append(_Pair(SWAPPED + len(own & owner.near), one, index, there))
    return pairs


def _turned(stated: TextValues, read: Sequence[TextValues], near: int, alike: _Same) -> list[_Pair]:
    """Both values of "from 26.9 to 31.4" if a unit goes from 31.4 to 26.9, and none the same way as the sentence."""
    pairs: list[_Pair] = []
    for one, two in _ways(stated):
        if same(stated.values[one].value, stated.values[two].value):
            continue
        for index, unit in enumerate(read):
            for first, last in _ways(unit):
                if alike[index][first][one] and alike[index][last][two]:
                    return []
                if index < near and alike[index][first][two] and alike[index][last][one]:
                    pairs += [_Pair(SWAPPED, one, index, first), _Pair(SWAPPED, two, index, last)]
    return pairs


def _ways(reading: TextValues) -> list[tuple[int, int]]:
    """Pairs (start, end) of changes: "from 26 to 31", or "31, up from 26"."""
    values = reading.values
    found = []
    for index, placed in enumerate(values):
        if placed.left[-1:] == ("from",):
            on = index + 1 < len(values) and "to" in values[index + 1].left
            other = index + 1 if on else index - 1
            if other >= 0 and comparable(placed.value, values[other].value):
                found.append((index, other))
    return found


def _unlike(mine: Value, its: Value) -> bool:
    """True if one is an ordinal, a label or the word "one", and both are not of the same: such words say too little by themselves."""
    one = any(value.words and value.figures[:1] == (1.0,) and value.kind != "duration" for value in (mine, its))
    if mine.kind == its.kind == "number" and bool(mine.mate) != bool(its.mate) and any(value.is_score for value in (mine, its)):
        return True
    counts = mine.kind == its.kind == "number" and not mine.heads & its.heads
    if counts and any(value.heads and value.is_whole and not other.is_whole for value, other in ((mine, its), (its, mine))):
        return True
    slight = "ordinal" in {mine.kind, its.kind} or mine.label or its.label or one
    return slight and not mine.heads & its.heads


def _stated(mine: Value, its: Value, alike: Sequence[bool], stated: TextValues) -> bool:
    """True if the sentence states the value too; "in the evening" beside "twice a day" does not make it once a day, nor an INR of 3 a dose 3 mg."""
    measured = mine.kind == its.kind != "number"
    return any(
        equal and not (its.kind == "frequency" and here.value.weak) and not (measured and here.value.kind == "number")
        for equal, here in zip(alike, stated.values, strict=True)
    )


def _borne(here: int, placed: Placed, read: Sequence[TextValues], alike: _Same, weights: dict[str, float]) -> tuple[float | None, float | None]:
    """How surely the value is about the same thing as one in a unit that is the same, and as one that only leaves room for it; None if no unit has such."""
    best: list[float | None] = [None, None]
    for index, unit in enumerate(read):
        for there, its in enumerate(unit.values):
            equal = alike[index][there][here]
            if equal or _counts_alike(placed.value, its.value):
                loose = not equal or leaves_room(its.value, placed.value)
                sureness = sureness_of(placed, its, weights, slips=False) + nearness(index) + ALIKE * (not equal)
                best[loose] = max(best[loose] or 0.0, sureness)
    return best[0], best[1]


def _counts_alike(mine: Value, its: Value) -> bool:
    """True if the figures are equal where one is a mere count and the other one is measured."""
    return ("number" in {mine.kind, its.kind}) and same_figures(mine, its) and not comparable(mine, its)


def _one_each(wrong: list[_Pair], stated: TextValues, read: Sequence[TextValues]) -> list[Difference]:
    """One difference for each wrong value, the surest; no value of a unit answers for two."""
    found: dict[int, Difference] = {}
    taken: set[tuple[int, int]] = set()
    for pair in sorted(wrong, key=lambda pair: (-pair.sureness, pair.here, pair.unit, pair.there)):
        if pair.here in found or (pair.unit, pair.there) in taken:
            continue
        taken.add((pair.unit, pair.there))
        found[pair.here] = _difference(pair, stated, read[pair.unit])
    return [found[here] for here in sorted(found)]


def _difference(pair: _Pair, stated: TextValues, unit: TextValues) -> Difference:
    here, there = stated.values[pair.here].value, unit.values[pair.there].value
    derived = there if here.kind == "number" else here
    rule: Rule = _RULES.get(derived.kind) or derived.kind  # type: ignore[assignment]
    clinical = _clinical(here, there, stated, unit)
    if rule in {"number", "percentage"}:
        clinical = laboratory(stated.values[pair.here]) or laboratory(unit.values[pair.there])
    if rule == "number" and (dosed(here) or dosed(there)):
        rule, clinical = "quantity", True
    return Difference(rule, (here.start, here.end), (there.start, there.end), pair.unit, clinical)


def _clinical(here: Value, there: Value, stated: TextValues, unit: TextValues) -> bool:
    """True if the quantity is one of medicine: by its unit, or by its unit and the words around it."""
    degree = max(here.clinical, there.clinical)
    if degree != 1:
        return degree == 2
    if here.kind == "frequency":
        return stated.medicinal or unit.medicinal
    return stated.clinical or unit.clinical
