"""What two records say of a patient: entries that are about the same compared, and entries that only one side has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.consistency import amounts
from touchstone.scorers.clinical.consistency.codes import relation
from touchstone.scorers.clinical.consistency.comparing import Comparing
from touchstone.scorers.clinical.consistency.groups import loinc_of
from touchstone.scorers.clinical.consistency.matching import (
    Matched,
    is_about_same,
    match,
    match_encounters,
    may_be_same,
    same_time,
    same_value,
    share_identifier,
)
from touchstone.scorers.clinical.consistency.naming import name_terms
from touchstone.scorers.clinical.consistency.record import KINDS, Group, Item, Kind, Record, Stamp
from touchstone.scorers.clinical.consistency.times import is_same_time

#: Roles of a time → the roles under which the other format may hold the same time.
_ROLES: Final[dict[str, frozenset[str]]] = {
    "onset": frozenset({"onset", "recorded", "reaction"}),
    "recorded": frozenset({"recorded", "onset"}),
    "start": frozenset({"start"}),
    "authored": frozenset({"authored"}),
    "dispensed": frozenset({"dispensed"}),
    "effective": frozenset({"effective"}),
    "end": frozenset({"end"}),
}
#: Pairs that are looked at to tell what only one side has.
LOOKED_AT_MAX: Final = 250_000
#: Medications of one side among which those that name the same are looked for.
_ALIKE_MAX: Final = 200
#: Kinds whose end is told alike; an order's end is reckoned differently by each format.
_ENDING: Final[frozenset[Kind]] = frozenset({"condition", "encounter"})
_WORDS: Final[dict[str, str]] = {
    "condition": "condition", "medication": "medication", "allergy": "allergy", "immunization": "immunization", "observation": "observation",
    "encounter": "encounter", "lab": "laboratory result", "vital": "vital sign", "other": "observation",
}  # fmt: skip
#: Kinds of which a person has one, however often it is written.
_STATES: Final[frozenset[Kind]] = frozenset({"condition", "allergy", "medication"})
_GROUPS: Final[dict[Kind, tuple[Group, ...]]] = {
    "condition": ("condition",),
    "medication": ("medication",),
    "allergy": ("allergy",),
    "immunization": ("immunization",),
    "observation": ("lab", "vital"),
    "encounter": (),
}


def compare_entries(comparing: Comparing) -> None:
    """Compare all entries of both sides, kind by kind."""
    for kind in KINDS:
        ours, theirs = comparing.ours.items.get(kind, []), comparing.theirs.items.get(kind, [])
        if kind == "encounter":
            for pair in match_encounters(ours, theirs):
                _compare(comparing, *pair)
            continue
        _compare_denials(comparing, kind)
        if kind in comparing.ours.cut | comparing.theirs.cut:
            comparing.skip(kind, "too many entries of this kind to compare them")
            continue
        is_lenient = "persona" in (comparing.ours.source, comparing.theirs.source)
        if is_lenient:
            name_terms(ours)
            name_terms(theirs)
        matched = match(ours, theirs, is_lenient=is_lenient)
        for mine, other in matched.pairs:
            _compare(comparing, mine, _told_in_parts(other, theirs) if kind == "medication" else other)
        for mine, other in matched.recoded:
            comparing.fired()
            comparing.differs("major", f"{kind}.code", f"The code of this {_WORDS[kind]}", _at(mine), _at(other))
            _compare(comparing, mine, other)
        for group in _GROUPS[kind]:
            _compare_presence(comparing, kind, group, matched)


def _told_in_parts(item: Item, others: Sequence[Item]) -> Item:
    """An entry with the doses and times of those that name the same: a medication is ordered, encoded and dispensed, each with its own."""
    alike = [other for other in others if other is not item and is_about_same(item, other)] if len(others) <= _ALIKE_MAX else []
    if not alike:
        return item
    amounts_of_all = (*item.amounts, *(one for other in alike for one in other.amounts))
    return replace(item, amounts=amounts_of_all, times=(*item.times, *(one for other in alike for one in other.times)))


def _at(item: Item, path: str | None = None) -> str:
    return f"{item.place}/{path or item.path}"


def _compare(comparing: Comparing, ours: Item, theirs: Item) -> None:
    """Compare two entries that are about the same."""
    comparing.fired()
    word = _WORDS[ours.kind]
    _compare_values(comparing, ours, theirs, word)
    _compare_times(comparing, ours, theirs, word)
    if ours.severity and theirs.severity and set(ours.severity).isdisjoint(theirs.severity):
        values = ", ".join(ours.severity), ", ".join(theirs.severity)
        comparing.differs("minor", f"{ours.kind}.severity", f"The severity of this {word}", _at(ours), _at(theirs), values=values)
    if ours.status and theirs.status and ours.status != theirs.status:
        comparing.differs("minor", f"{ours.kind}.class", f"The class of this {word}", _at(ours), _at(theirs), values=(ours.status, theirs.status))


def _compare_values(comparing: Comparing, ours: Item, theirs: Item, word: str) -> None:
    loinc = loinc_of(ours.codes) or loinc_of(theirs.codes)
    is_dose = ours.kind != "observation"
    mine, yours = ours.amounts, theirs.amounts
    if is_dose:
        # One tablet and 500 mg are both right, and 1 beside 500 mg says nothing.
        mine, yours = tuple(one for one in mine if one.unit), tuple(one for one in yours if one.unit)
    if mine and yours:
        compared = [(one, other, amounts.compare(one, other, loinc)) for one in mine for other in yours]
        if any(comparison == "unknown" for *_, comparison in compared) and not any(comparison == "same" for *_, comparison in compared):
            comparing.skip(f"{ours.kind}.value", "units that do not convert into each other")
        elif not any(comparison == "same" for *_, comparison in compared):
            one, other, _ = compared[0]
            what = f"The {'dose' if is_dose else 'value'} of this {word}"
            values = f"{one.number} {one.unit}", f"{other.number} {other.unit}"
            comparing.differs("major", f"{ours.kind}.{'dose' if is_dose else 'value'}", what, _at(ours, one.path), _at(theirs, other.path), values=values)
    elif ours.answers and theirs.answers and relation(ours.answers, theirs.answers) == "other":
        comparing.differs("major", f"{ours.kind}.value", f"The coded value of this {word}", _at(ours), _at(theirs))


def _compare_times(comparing: Comparing, ours: Item, theirs: Item, word: str) -> None:
    """Times of one role must be the same; where one format has no such role, another may hold it."""
    for role in dict.fromkeys(stamp.role for stamp in ours.times):
        if role == "end" and ours.kind not in _ENDING:
            continue
        mine = [stamp for stamp in ours.times if stamp.role == role]
        yours = [stamp for stamp in theirs.times if stamp.role == role]
        if not yours or role not in _ROLES:
            continue
        accepted = [stamp for stamp in theirs.times if stamp.role in _ROLES[role]]
        back = [stamp for stamp in ours.times if stamp.role in _ROLES[role]]
        if not _meet(mine, accepted) and not _meet(back, yours):
            # Two visits of which nothing says that they are one may be two.
            is_guess = ours.kind == "encounter" and not share_identifier(ours, theirs) and not _meet(ours.times, theirs.times)
            severity: Severity = "minor" if role in {"authored", "recorded"} or is_guess else "major"
            comparing.differs(severity, f"{ours.kind}.time", f"The {role} time of this {word}", _at(ours, mine[0].path), _at(theirs, yours[0].path))


def _meet(ours: Sequence[Stamp], theirs: Sequence[Stamp]) -> bool:
    return any(is_same_time(mine.moment, yours.moment) for mine in ours for yours in theirs)


def _compare_denials(comparing: Comparing, kind: Kind) -> None:
    """One side says that there is none of a kind, and the other has some."""
    if kind not in {"allergy", "condition", "medication"}:
        return
    for one, other in ((comparing.ours, comparing.theirs), (comparing.theirs, comparing.ours)):
        claimed = [item for item in other.items.get(kind, ()) if item.is_claimed]
        if kind in one.denied and not one.items.get(kind) and claimed:
            comparing.fired()
            word = _WORDS[kind]
            comparing.lacks("major", f"{kind}.denied", f"This {word}", _at(claimed[0]), one, why=f"{one.denied[kind]} says that there is none")


def _compare_presence(comparing: Comparing, kind: Kind, group: Group, matched: Matched) -> None:
    """Entries of a group that only one side has, where the other could hold them and speaks of the same."""
    for side, left, other_left in (
        ((comparing.ours, comparing.theirs), matched.ours, matched.theirs),
        ((comparing.theirs, comparing.ours), matched.theirs, matched.ours),
    ):
        source, target = side
        scope = target.scopes.get(group)
        every = [item for item in source.items.get(kind, ()) if item.group == group and item.is_claimed]
        alone = [item for item in left if item.group == group and item.is_claimed]
        if scope is None or not every or (kind in target.denied and not target.items.get(kind)):
            continue
        comparing.fired()
        if not alone:
            continue
        if scope == "able":
            _lacks_all(comparing, source, target, kind, group, every)
        elif scope == "whole" or 2 * (len(every) - len(alone)) >= len(every):
            _lacks_some(comparing, target, kind, alone, other_left)


def _lacks_all(comparing: Comparing, source: Record, target: Record, kind: Kind, group: Group, every: Sequence[Item]) -> None:
    """One finding where a side has no entry of a group that the other has."""
    if target.unnamed.get(kind):
        comparing.skip(kind, "entries that are named elsewhere")
        return
    severity: Severity = "major" if source.source == "persona" and target.source == "fhir" else "minor"
    what = f"This {_WORDS[group]}" if len(every) == 1 else f"None of {len(every)} entries ({_WORDS[group]}), of which this is the first,"
    comparing.lacks(severity, f"{kind}.missing", what, _at(every[0]), target, why="such a document can hold it, and holds none")


def _lacks_some(comparing: Comparing, target: Record, kind: Kind, alone: Sequence[Item], other_left: Sequence[Item]) -> None:
    """One finding for each entry that the other side does not have among its own."""
    unnamed = target.unnamed.get(kind, 0)
    if len(alone) * len(target.items.get(kind, ())) > LOOKED_AT_MAX:
        comparing.skip(kind, "too many entries that only one side has")
        return
    for item in alone:
        if unnamed or any(other.is_claimed and may_be_same(item, other) for other in other_left):
            comparing.skip(kind, "entries whose codes and names do not compare, such as those of two code systems")
            continue
        alike = [other for other in target.items.get(kind, ()) if is_about_same(item, other)]
        if kind in _STATES and alike:
            continue
        if any((same_time(item, other) or not (item.times and other.times)) and (same_value(item, other) or not item.amounts) for other in alike):
            continue
        severity: Severity = "minor" if alike or target.source == "persona" else "major"
        comparing.lacks(severity, f"{kind}.missing", f"This {_WORDS[item.group]}", _at(item), target)
