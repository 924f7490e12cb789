"""Pairs the entries of two records that are about the same thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from touchstone.scorers.clinical.checks.timestamps import Moment
from touchstone.scorers.clinical.consistency import amounts
from touchstone.scorers.clinical.consistency.code_systems import Relation, relation
from touchstone.scorers.clinical.consistency.observation_groups import loinc_of, parameters_of
from touchstone.scorers.clinical.consistency.record import Item
from touchstone.scorers.clinical.consistency.stamps import in_utc, is_same_time
from touchstone.scorers.clinical.consistency.wording import is_alike_text, is_same_text

#: Pairs that are compared one by one; if there are more, only those with a code in common.
PAIRS_MAX: Final = 40_000
#: Entries with one code and day, or one identifier, among which a partner is searched.
_NAMESAKES_MAX: Final = 40
#: Weights of evidence for a pair: the same code, name, known term or distinctive word, identifier, time, value.
_CODE, _TEXT, _ALIKE, _IDENTIFIER, _TIME, _VALUE = 64, 32, 16, 4, 8, 2


@dataclass(slots=True)
class Matched:
    """Pairs of entries about the same thing, such pairs whose codes differ (`recoded`), and the unmatched entries of either side."""

    pairs: list[tuple[Item, Item]] = field(default_factory=list)
    recoded: list[tuple[Item, Item]] = field(default_factory=list)
    ours: list[Item] = field(default_factory=list)
    theirs: list[Item] = field(default_factory=list)


def match(ours: Sequence[Item], theirs: Sequence[Item], *, is_lenient: bool = False) -> Matched:
    """Pair entries of one kind, best evidence first. `is_lenient`: a distinctive word in common is enough if codes do not compare."""
    found = Matched()
    taken_ours: set[int] = set()
    taken_theirs: set[int] = set()
    weighed = sorted(_candidates(ours, theirs, is_lenient=is_lenient), key=lambda one: (-one[0], abs(one[1] - one[2]), one[1]))
    for _, mine, other in weighed:
        if mine not in taken_ours and other not in taken_theirs:
            taken_ours.add(mine)
            taken_theirs.add(other)
            found.pairs.append((ours[mine], theirs[other]))
    left_ours = [item for number, item in enumerate(ours) if number not in taken_ours]
    left_theirs = [item for number, item in enumerate(theirs) if number not in taken_theirs]
    found.recoded = _recoded(left_ours, left_theirs)
    recoded = {id(item) for pair in found.recoded for item in pair}
    found.ours = [item for item in left_ours if id(item) not in recoded]
    found.theirs = [item for item in left_theirs if id(item) not in recoded]
    return found


def match_encounters(ours: Sequence[Item], theirs: Sequence[Item]) -> list[tuple[Item, Item]]:
    """Pair encounters by identifier, else by start. The only one of either side also form a pair, unless both have identifiers."""
    by_number: dict[str, list[int]] = defaultdict(list)
    for number, other in enumerate(theirs):
        for one in other.identifiers:
            by_number[one.value].append(number)
    pairs: list[tuple[Item, Item]] = []
    taken: set[int] = set()
    rest: list[Item] = []
    is_few = len(ours) * len(theirs) <= PAIRS_MAX
    for mine in ours:
        named = (number for one in mine.identifiers if len(one.value) > 1 for number in by_number.get(one.value, ())[:_NAMESAKES_MAX])
        found = next((number for number in named if number not in taken), None)
        if found is None and is_few:
            found = next((number for number, other in enumerate(theirs) if number not in taken and _same_start(mine, other)), None)
        if found is None:
            rest.append(mine)
        else:
            taken.add(found)
            pairs.append((mine, theirs[found]))
    if len(ours) == 1 and len(theirs) == 1 and rest and not (ours[0].identifiers and theirs[0].identifiers):
        pairs.append((ours[0], theirs[0]))
    return pairs


def is_about_same(one: Item, other: Item) -> bool:
    """True if two entries name the same thing: by a code, or by name if their codes do not compare."""
    related = relation(one.codes, other.codes)
    return related == "same" or (related == "unknown" and _is_named_alike(one, other)) or (related == "other" and _is_measured_alike(one, other))


def _is_named_alike(one: Item, other: Item) -> bool:
    """True if the names agree, and no known terms contradict that."""
    return is_same_text(one.texts, other.texts) and not _have_other_terms(one, other)


def _have_other_terms(one: Item, other: Item) -> bool:
    """True if both entries name known terms, and none in common."""
    return bool(one.terms and other.terms) and one.terms.isdisjoint(other.terms)


def _is_measured_alike(one: Item, other: Item) -> bool:
    """True if two results under different LOINC codes of one parameter are the same: equal value, and no different time."""
    if one.kind != "observation" or not one.amounts or not other.amounts or parameters_of(one.codes).isdisjoint(parameters_of(other.codes)):
        return False
    return same_value(one, other) and (same_time(one, other) or not (one.times and other.times))


def may_be_same(one: Item, other: Item) -> bool:
    """True if nothing distinguishes the two entries: no comparable codes, and no known terms that differ."""
    return relation(one.codes, other.codes) == "unknown" and not _have_other_terms(one, other)


def share_identifier(one: Item, other: Item) -> bool:
    """True if two entries have an identifier in common."""
    return any(mine.value == yours.value and len(mine.value) > 1 for mine in one.identifiers for yours in other.identifiers)


def same_time(one: Item, other: Item) -> bool:
    """True if two entries have a time in common, other than their ends."""
    return any(is_same_time(mine.moment, yours.moment) for mine in one.times for yours in other.times if "end" not in (mine.role, yours.role))


def same_value(one: Item, other: Item) -> bool:
    """True if two entries have a value in common."""
    loinc = loinc_of(one.codes) or loinc_of(other.codes)
    return (
        any(amounts.compare(mine, yours, loinc) == "same" for mine in one.amounts for yours in other.amounts)
        or relation(one.answers, other.answers) == "same"
        or (one.verdict is not None and other.verdict is not None and one.verdict.value == other.verdict.value)
    )


def _same_start(one: Item, other: Item) -> bool:
    return any(is_same_time(mine.moment, yours.moment) for mine in one.times for yours in other.times if mine.role == yours.role == "start")


def _candidates(ours: Sequence[Item], theirs: Sequence[Item], *, is_lenient: bool) -> list[tuple[int, int, int]]:
    """(weight, index in `ours`, index in `theirs`) of every pair that may be about the same thing."""
    if len(ours) * len(theirs) <= PAIRS_MAX:
        numbers = [(mine, other) for mine in range(len(ours)) for other in range(len(theirs))]
    else:
        numbers = _with_common_code(ours, theirs)
    found = []
    for mine, other in numbers:
        weight = _weight(ours[mine], theirs[other], relation(ours[mine].codes, theirs[other].codes), is_lenient=is_lenient)
        if weight:
            found.append((weight, mine, other))
    return found


def _with_common_code(ours: Sequence[Item], theirs: Sequence[Item]) -> list[tuple[int, int]]:
    """Pairs with a code in common and the same first time, or else the same day."""
    exact: dict[tuple[str, Moment | None], list[int]] = defaultdict(list)
    by_day: dict[tuple[str, tuple[int, int | None, int | None] | None], list[int]] = defaultdict(list)
    for number, item in enumerate(theirs):
        for code in item.codes:
            exact[code.code, _instant(item)].append(number)
            by_day[code.code, _day(item)].append(number)
    pairs: dict[tuple[int, int], None] = {}
    for mine, item in enumerate(ours):
        for code in item.codes:
            found = exact.get((code.code, _instant(item))) or by_day.get((code.code, _day(item)), [])
            pairs.update(dict.fromkeys((mine, other) for other in found[:_NAMESAKES_MAX]))
    return list(pairs)


def _instant(item: Item) -> Moment | None:
    """The first time of an entry, in UTC if its zone is known."""
    return next((in_utc(stamp.moment) for stamp in item.times), None)


def is_less_detailed(one: Item, other: Item) -> bool:
    """True if one name has all words of the other and more: an ingredient and its product, or a disease and one form of it."""
    return is_same_text(one.texts, other.texts) and set(one.texts).isdisjoint(other.texts)


def _day(item: Item) -> tuple[int, int | None, int | None] | None:
    """The day of an entry's first time, by which long series are looked up."""
    moment = next((stamp.moment for stamp in item.times), None)
    return None if moment is None else (moment.year, moment.month, moment.day)


def _weight(one: Item, other: Item, related: Relation, *, is_lenient: bool) -> int:
    """The evidence that two entries are about the same thing; 0 if neither codes nor names say so."""
    if related == "same":
        weight = _CODE
    elif (related == "unknown" and _is_named_alike(one, other)) or (related == "other" and _is_measured_alike(one, other)):
        weight = _TEXT
    elif is_lenient and _is_alike(one, other, related):
        weight = _ALIKE
    else:
        return 0
    weight += _IDENTIFIER if share_identifier(one, other) else 0
    weight += _TIME if same_time(one, other) else 0
    return weight + (_VALUE if same_value(one, other) else 0)


def _is_alike(one: Item, other: Item, related: Relation) -> bool:
    """True if two entries share a known term, or a distinctive word if nothing better is known."""
    if one.terms and other.terms:
        return not one.terms.isdisjoint(other.terms)
    return related == "unknown" and is_alike_text(one.texts, other.texts)


def _recoded(ours: list[Item], theirs: list[Item]) -> list[tuple[Item, Item]]:
    """Pairs of unmatched entries about the same thing with different codes: by name, identifier, time and value, or because no others are left."""
    if len(ours) * len(theirs) > PAIRS_MAX:
        return []
    claims = [(mine, other) for mine in ours for other in theirs if relation(mine.codes, other.codes) == "other" and _is_recoded(mine, other)]
    if not claims and len(ours) == len(theirs) == 1 and ours[0].is_claimed and theirs[0].is_claimed:
        return [(ours[0], theirs[0])] if ours[0].group == theirs[0].group and relation(ours[0].codes, theirs[0].codes) == "other" else []
    taken: set[int] = set()
    pairs = []
    for mine, other in claims:
        if id(mine) not in taken and id(other) not in taken:
            taken |= {id(mine), id(other)}
            pairs.append((mine, other))
    return pairs


def _is_recoded(one: Item, other: Item) -> bool:
    if one.kind == "observation":
        return same_value(one, other) and (same_time(one, other) or is_same_text(one.texts, other.texts))
    return is_same_text(one.texts, other.texts) or share_identifier(one, other)
