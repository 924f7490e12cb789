"""What two records say of a patient: entries that are about the same compared, and entries that only one side has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.terminology import NDC, RXNORM, SNOMED
from touchstone.scorers.clinical.consistency import amounts
from touchstone.scorers.clinical.consistency.codes import relation
from touchstone.scorers.clinical.consistency.comparison import Comparing
from touchstone.scorers.clinical.consistency.known_terms import is_product_of, name_terms
from touchstone.scorers.clinical.consistency.matching import (
    Matched,
    is_about_same,
    is_less_detailed,
    match,
    match_encounters,
    may_be_same,
    same_time,
    same_value,
    share_identifier,
)
from touchstone.scorers.clinical.consistency.observation_groups import loinc_of
from touchstone.scorers.clinical.consistency.record import KINDS, Group, Item, Kind, Record, Stamp
from touchstone.scorers.clinical.consistency.stamps import is_same_time

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
    "procedure": "procedure", "encounter": "encounter", "lab": "laboratory result", "vital": "vital sign", "other": "observation",
}  # fmt: skip
_DRUG_SYSTEMS: Final = frozenset({RXNORM.key, NDC.key})
#: What is told of an allergy: how severe a reaction was, and how critical the next may be.
_SCALES: Final = (frozenset({"severe", "moderate", "mild"}), frozenset({"high", "low"}))
#: Kinds of which a person has one, however often it is written.
_STATES: Final[frozenset[Kind]] = frozenset({"condition", "allergy", "medication"})
_GROUPS: Final[dict[Kind, tuple[Group, ...]]] = {
    "condition": ("condition",),
    "medication": ("medication",),
    "allergy": ("allergy",),
    "immunization": ("immunization",),
    "procedure": ("procedure",),
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
        _compare_refusals(comparing, kind)
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
            _compare_codes(comparing, mine, other)
            _compare(comparing, mine, other)
        for group in _GROUPS[kind]:
            _compare_presence(comparing, kind, group, matched)


def _compare_codes(comparing: Comparing, ours: Item, theirs: Item) -> None:
    """Two entries that are about the same though their codes are others: an error, or two levels of detail."""
    is_product = is_product_of(ours, theirs)
    if is_product and is_less_detailed(ours, theirs):
        return
    comparing.fired()
    # SNOMED CT and RxNorm have codes for every level of detail; another code of ICD-10 is another diagnosis.
    is_level = ours.kind in {"medication", "allergy"} or SNOMED.key in {code.system for code in ours.codes} & {code.system for code in theirs.codes}
    is_mild = is_product or (ours.kind != "observation" and is_level and is_less_detailed(ours, theirs))
    severity: Severity = "minor" if is_mild else "major"
    comparing.differs(severity, f"{ours.kind}.code", f"The code of this {_WORDS[ours.kind]}", _at(ours), _at(theirs), values=_codes(ours, theirs))


def _codes(*items: Item) -> tuple[object, object]:
    one, other = (", ".join(dict.fromkeys(code.code for code in item.codes)) for item in items)
    return one, other


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
    for scale in _SCALES:
        mine, yours = (scale & set(item.severity) for item in (ours, theirs))
        if mine and yours and mine.isdisjoint(yours):
            values = ", ".join(sorted(mine)), ", ".join(sorted(yours))
            comparing.differs("minor", f"{ours.kind}.severity", f"The severity of this {word}", _at(ours), _at(theirs), values=values)
            break
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
    elif ours.verdict is not None and theirs.verdict is not None:
        if ours.verdict.value != theirs.verdict.value:
            values = ours.verdict.value, theirs.verdict.value
            comparing.differs(
                "major", f"{ours.kind}.value", f"The value of this {word}", _at(ours, ours.verdict.path), _at(theirs, theirs.verdict.path), values=values
            )
    elif ours.pair is not None and theirs.pair is not None and ours.pair.kind == theirs.pair.kind:
        ends = ((ours.pair.first, theirs.pair.first), (ours.pair.second, theirs.pair.second))
        if any(amounts.compare(one, other, loinc) == "other" for one, other in ends):
            comparing.differs("major", f"{ours.kind}.value", f"The {ours.pair.kind} of this {word}", _at(ours, ends[0][0].path), _at(theirs, ends[0][1].path))
    elif ours.answers and theirs.answers and relation(ours.answers, theirs.answers) == "other":
        comparing.differs("major", f"{ours.kind}.value", f"The coded value of this {word}", _at(ours), _at(theirs), values=_answers(ours, theirs))


def _answers(*items: Item) -> tuple[object, object]:
    one, other = (", ".join(dict.fromkeys(code.code for code in item.answers)) for item in items)
    return one, other


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
            comparing.differs(
                severity,
                f"{ours.kind}.time",
                f"The {role} time of this {word}",
                _at(ours, mine[0].path),
                _at(theirs, yours[0].path),
                values=(mine[0].text, yours[0].text),
            )


def _meet(ours: Sequence[Stamp], theirs: Sequence[Stamp]) -> bool:
    return any(is_same_time(mine.moment, yours.moment) for mine in ours for yours in theirs)


def _compare_denials(comparing: Comparing, kind: Kind) -> None:
    """One side says that there is none of a kind, and the other has some."""
    if kind not in {"allergy", "condition", "medication"}:
        return
    for one, other in ((comparing.ours, comparing.theirs), (comparing.theirs, comparing.ours)):
        if one.items.get(kind):
            continue
        claimed = [item for item in other.items.get(kind, ()) if item.is_claimed]
        for denial in one.denied.get(kind, ()):
            # Who has no known drug allergy may be allergic to peanuts.
            denied = [item for item in claimed if kind != "allergy" or denial.category in {"all", _category(item)}]
            if denied:
                comparing.fired()
                why = f"{denial.place} says that there is none" + (
                    "" if denial.category == "all" or kind != "allergy" else f" of its category ({denial.category})"
                )
                comparing.lacks("major", f"{kind}.denied", f"This {_WORDS[kind]}", _at(denied[0]), one, why=why)
                break


def _category(item: Item) -> str:
    """The category of an allergy: as it is told, else that of a drug's code; empty where nobody knows."""
    return item.category or ("medication" if any(code.system in _DRUG_SYSTEMS for code in item.codes) else "")


def _compare_refusals(comparing: Comparing, kind: Kind) -> None:
    """One side says of one thing that it is not so (negated, refuted, refused), and the other tells it."""
    for one, other in ((comparing.ours, comparing.theirs), (comparing.theirs, comparing.ours)):
        told = [item for item in other.items.get(kind, ()) if item.is_claimed]
        refused = one.refused.get(kind, ())
        if len(told) * len(refused) > LOOKED_AT_MAX:
            comparing.skip(kind, "too many entries that one side says are not so")
            continue
        for denial in refused:
            comparing.fired()
            found = next((item for item in told if _is_refused(item, denial)), None)
            # What is also told, as of another day or by another hand, is no plain contradiction.
            if found is not None and not any(_is_refused(item, denial) for item in one.items.get(kind, ())):
                why = f"{_at(denial)} says that it is not so"
                comparing.lacks("major", f"{kind}.denied", f"This {_WORDS[kind]}", _at(found), one, why=why)


def _is_refused(item: Item, denial: Item) -> bool:
    """Whether an entry is what a denial is of: a vaccine or procedure of the same day, anything else whenever."""
    return is_about_same(item, denial) and (item.kind in _STATES or not (item.times and denial.times) or same_time(item, denial))


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
        # What is denied by name was told as such.
        alone = [item for item in alone if not any(_is_refused(item, denial) for denial in target.refused.get(kind, ()))]
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
        if (kind in _STATES and alike) or (kind == "condition" and _is_mentioned(item, target)):
            continue
        if any((same_time(item, other) or not (item.times and other.times)) and (same_value(item, other) or not item.amounts) for other in alike):
            continue
        # What one producer calls a procedure is an act of another section elsewhere.
        severity: Severity = "minor" if alike or target.source == "persona" or kind == "procedure" else "major"
        comparing.lacks(severity, f"{kind}.missing", f"This {_WORDS[item.group]}", _at(item), target)


def _is_mentioned(item: Item, target: Record) -> bool:
    """Whether a record says it in a resource of another kind: a smoker is an observation, an operation a procedure."""
    texts = [frozenset(word for word in words if not word.isdecimal()) for words in item.texts]
    return any(words and words == mention for words in texts for mention in (*target.mentions, *_procedures(target)))


def _procedures(record: Record) -> list[frozenset[str]]:
    return [words for item in record.items.get("procedure", ())[:_ALIKE_MAX] for words in item.texts]
