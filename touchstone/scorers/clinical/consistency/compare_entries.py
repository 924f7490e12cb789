"""Compares the entries of two records: those about the same thing, and those that only one side has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.terminology import NDC, RXNORM, SNOMED
from touchstone.scorers.clinical.consistency import amounts
from touchstone.scorers.clinical.consistency.code_systems import relation
from touchstone.scorers.clinical.consistency.comparison import Comparison
from touchstone.scorers.clinical.consistency.frequencies import is_same_frequency
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
from touchstone.scorers.clinical.consistency.record import KINDS, Amount, Code, Group, Item, Kind, Record, Stamp
from touchstone.scorers.clinical.consistency.stamps import is_same_time

#: Role of a time → the roles that the same time may have in another format.
_ROLES: Final[dict[str, frozenset[str]]] = {
    "onset": frozenset({"onset", "recorded", "reaction"}),
    "recorded": frozenset({"recorded", "onset"}),
    "start": frozenset({"start"}),
    "authored": frozenset({"authored"}),
    "dispensed": frozenset({"dispensed"}),
    "effective": frozenset({"effective"}),
    "end": frozenset({"end"}),
}
#: Pairs that are compared to find what only one side has.
PAIRS_MAX: Final = 250_000
#: Medications of one side among which entries of the same drug are searched.
_ALIKE_MAX: Final = 200
#: Kinds whose end means the same in every format; that of an order does not.
_ENDING: Final[frozenset[Kind]] = frozenset({"condition", "encounter"})
_WORDS: Final[dict[str, str]] = {
    "condition": "condition", "medication": "medication", "allergy": "allergy", "immunization": "immunization", "observation": "observation",
    "procedure": "procedure", "encounter": "encounter", "lab": "laboratory result", "vital": "vital sign", "other": "observation",
}  # fmt: skip
_DRUG_SYSTEMS: Final = frozenset({RXNORM.key, NDC.key})
#: Scales of an allergy: how severe a reaction was, and how critical the next may be.
_SCALES: Final = (frozenset({"severe", "moderate", "mild"}), frozenset({"high", "low"}))
#: Kinds of which several equal entries mean one state of the patient.
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


def compare_entries(comparison: Comparison) -> None:
    """Compare all entries of both sides, kind by kind."""
    for kind in KINDS:
        ours, theirs = comparison.ours.items.get(kind, []), comparison.theirs.items.get(kind, [])
        if kind == "encounter":
            for pair in match_encounters(ours, theirs):
                _compare(comparison, *pair)
            continue
        _compare_denials(comparison, kind)
        _compare_refusals(comparison, kind)
        if kind in comparison.ours.cut | comparison.theirs.cut:
            comparison.skip(kind, "too many entries of this kind to compare them")
            continue
        is_lenient = "persona" in (comparison.ours.source, comparison.theirs.source)
        if is_lenient:
            name_terms(ours)
            name_terms(theirs)
        matched = match(ours, theirs, is_lenient=is_lenient)
        for mine, other in matched.pairs:
            if kind == "medication":
                _compare_frequencies(comparison, mine, other, ours, theirs)
            _compare(comparison, mine, _with_equal_entries(other, theirs) if kind == "medication" else other)
        for mine, other in matched.recoded:
            _compare_codes(comparison, mine, other)
            _compare(comparison, mine, other)
        for group in _GROUPS[kind]:
            _compare_presence(comparison, kind, group, matched)


def _compare_codes(comparison: Comparison, ours: Item, theirs: Item) -> None:
    """Report two entries about the same thing with different codes: minor for two levels of detail, else major."""
    is_product = is_product_of(ours, theirs)
    if is_product and is_less_detailed(ours, theirs):
        return
    comparison.fired()
    # SNOMED CT and RxNorm have codes for every level of detail; a different ICD-10 code is a different diagnosis.
    is_level = ours.kind in {"medication", "allergy"} or SNOMED.key in {code.system for code in ours.codes} & {code.system for code in theirs.codes}
    is_mild = is_product or (ours.kind != "observation" and is_level and is_less_detailed(ours, theirs))
    severity: Severity = "minor" if is_mild else "major"
    comparison.differs(severity, f"{ours.kind}.code", f"The code of this {_WORDS[ours.kind]}", _at(ours), _at(theirs), values=_listed(ours.codes, theirs.codes))


def _listed(ours: Sequence[Code], theirs: Sequence[Code]) -> tuple[str, str]:
    one, other = (", ".join(dict.fromkeys(code.code for code in codes)) for codes in (ours, theirs))
    return one, other


def _with_equal_entries(item: Item, others: Sequence[Item]) -> Item:
    """A medication with the doses and times of all entries of the same drug: it is ordered, encoded and dispensed, each with its own."""
    alike = [other for other in others if other is not item and is_about_same(item, other)] if len(others) <= _ALIKE_MAX else []
    if not alike:
        return item
    amounts_of_all = (*item.amounts, *(one for other in alike for one in other.amounts))
    return replace(item, amounts=amounts_of_all, times=(*item.times, *(one for other in alike for one in other.times)))


def _at(item: Item, path: str | None = None) -> str:
    return f"{item.place}/{path or item.path}"


def _compare(comparison: Comparison, ours: Item, theirs: Item) -> None:
    comparison.fired()
    word = _WORDS[ours.kind]
    _compare_values(comparison, ours, theirs, word)
    _compare_times(comparison, ours, theirs, word)
    for scale in _SCALES:
        mine, yours = (scale & set(item.severity) for item in (ours, theirs))
        if mine and yours and mine.isdisjoint(yours):
            values = ", ".join(sorted(mine)), ", ".join(sorted(yours))
            comparison.differs("minor", f"{ours.kind}.severity", f"The severity of this {word}", _at(ours), _at(theirs), values=values)
            break
    if ours.status and theirs.status and ours.status != theirs.status:
        comparison.differs("minor", f"{ours.kind}.class", f"The class of this {word}", _at(ours), _at(theirs), values=(ours.status, theirs.status))


def _compare_values(comparison: Comparison, ours: Item, theirs: Item, word: str) -> None:
    loinc = loinc_of(ours.codes) or loinc_of(theirs.codes)
    is_dose = ours.kind != "observation"
    mine, yours = ours.amounts, theirs.amounts
    if is_dose:
        # One tablet and 500 mg are both right, and 1 beside 500 mg cannot be compared.
        mine, yours = tuple(one for one in mine if one.unit), tuple(one for one in yours if one.unit)
    code = f"{ours.kind}.value"
    if mine and yours:
        _compare_amounts(comparison, ours, theirs, mine, yours, loinc)
    elif ours.verdict is not None and theirs.verdict is not None:
        if ours.verdict.value != theirs.verdict.value:
            places = _at(ours, ours.verdict.path), _at(theirs, theirs.verdict.path)
            comparison.differs("major", code, f"The value of this {word}", *places, values=(ours.verdict.value, theirs.verdict.value))
    elif ours.pair is not None and theirs.pair is not None and ours.pair.kind == theirs.pair.kind:
        ends = ((ours.pair.first, theirs.pair.first), (ours.pair.second, theirs.pair.second))
        if any(amounts.compare(one, other, loinc) == "other" for one, other in ends):
            comparison.differs("major", code, f"The {ours.pair.kind} of this {word}", _at(ours, ends[0][0].path), _at(theirs, ends[0][1].path))
    elif ours.answers and theirs.answers and relation(ours.answers, theirs.answers) == "other":
        comparison.differs("major", code, f"The coded value of this {word}", _at(ours), _at(theirs), values=_listed(ours.answers, theirs.answers))


def _compare_amounts(comparison: Comparison, ours: Item, theirs: Item, mine: Sequence[Amount], yours: Sequence[Amount], loinc: str | None) -> None:
    """Report two entries that have no amount in common."""
    compared = [(one, other, amounts.compare(one, other, loinc)) for one in mine for other in yours]
    results = {result for *_, result in compared}
    if "same" in results:
        return
    if "unknown" in results:
        comparison.skip(f"{ours.kind}.value", "units that do not convert into each other")
        return
    one, other, _ = compared[0]
    name = "value" if ours.kind == "observation" else "dose"
    values = f"{one.number} {one.unit}", f"{other.number} {other.unit}"
    what = f"The {name} of this {_WORDS[ours.kind]}"
    comparison.differs("major", f"{ours.kind}.{name}", what, _at(ours, one.path), _at(theirs, other.path), values=values)


def _compare_frequencies(comparison: Comparison, ours: Item, theirs: Item, every: Sequence[Item], others: Sequence[Item]) -> None:
    """Report a medication that is taken more often by one side. Several entries of a drug may be its parts of a day, and are not compared."""
    mine, yours = ours.frequency, theirs.frequency
    if mine is None or yours is None or is_same_frequency(mine, yours) or len(every) + len(others) > _ALIKE_MAX:
        return
    if any(is_about_same(ours, one) for one in every if one is not ours) or any(is_about_same(theirs, one) for one in others if one is not theirs):
        return
    places = _at(ours, mine.path), _at(theirs, yours.path)
    values = f"{mine.per_day:g} a day", f"{yours.per_day:g} a day"
    comparison.differs("major", "medication.frequency", "How often this medication is taken", *places, values=values)


def _compare_times(comparison: Comparison, ours: Item, theirs: Item, word: str) -> None:
    """Report times of one role that differ, unless the other format has the same time in another role."""
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
            # Two visits without a common identifier or time may be two different ones.
            is_guess = ours.kind == "encounter" and not share_identifier(ours, theirs) and not _meet(ours.times, theirs.times)
            severity: Severity = "minor" if role in {"authored", "recorded"} or is_guess else "major"
            places = _at(ours, mine[0].path), _at(theirs, yours[0].path)
            comparison.differs(severity, f"{ours.kind}.time", f"The {role} time of this {word}", *places, values=(mine[0].text, yours[0].text))


def _meet(ours: Sequence[Stamp], theirs: Sequence[Stamp]) -> bool:
    return any(is_same_time(mine.moment, yours.moment) for mine in ours for yours in theirs)


def _compare_denials(comparison: Comparison, kind: Kind) -> None:
    """Report a kind of which one side says that there is none, and the other has some."""
    if kind not in {"allergy", "condition", "medication"}:
        return
    for one, other in ((comparison.ours, comparison.theirs), (comparison.theirs, comparison.ours)):
        if one.items.get(kind):
            continue
        claimed = [item for item in other.items.get(kind, ()) if item.is_claimed]
        for denial in one.denied.get(kind, ()):
            # A patient without known drug allergies may be allergic to peanuts.
            denied = [item for item in claimed if kind != "allergy" or denial.category in {"all", _category(item)}]
            if denied:
                comparison.fired()
                of_category = "" if denial.category == "all" or kind != "allergy" else f" of its category ({denial.category})"
                why = f"{denial.place} says that there is none{of_category}"
                comparison.missing("major", f"{kind}.denied", f"This {_WORDS[kind]}", _at(denied[0]), one, why=why)
                break


def _category(item: Item) -> str:
    """The category of an allergy: as given, else `medication` for a drug code; empty if unknown."""
    return item.category or ("medication" if any(code.system in _DRUG_SYSTEMS for code in item.codes) else "")


def _compare_refusals(comparison: Comparison, kind: Kind) -> None:
    """Report an entry that one side negates, refutes or refuses, and the other has."""
    for one, other in ((comparison.ours, comparison.theirs), (comparison.theirs, comparison.ours)):
        claimed = [item for item in other.items.get(kind, ()) if item.is_claimed]
        refused = one.refused.get(kind, ())
        if len(claimed) * len(refused) > PAIRS_MAX:
            comparison.skip(kind, "too many entries that one side says are not so")
            continue
        for denial in refused:
            comparison.fired()
            found = next((item for item in claimed if _is_refused(item, denial)), None)
            # If the side that refuses it also has it, for example of another day, that is no plain contradiction.
            if found is not None and not any(_is_refused(item, denial) for item in one.items.get(kind, ())):
                why = f"{_at(denial)} says that it is not so"
                comparison.missing("major", f"{kind}.denied", f"This {_WORDS[kind]}", _at(found), one, why=why)


def _is_refused(item: Item, denial: Item) -> bool:
    """True if a denial is about this entry: a vaccine or procedure of the same day, or anything else at any time."""
    return is_about_same(item, denial) and (item.kind in _STATES or not (item.times and denial.times) or same_time(item, denial))


def _compare_presence(comparison: Comparison, kind: Kind, group: Group, matched: Matched) -> None:
    """Report entries of a group that only one side has, if the other side lists that group."""
    for side, left, other_left in (
        ((comparison.ours, comparison.theirs), matched.ours, matched.theirs),
        ((comparison.theirs, comparison.ours), matched.theirs, matched.ours),
    ):
        source, target = side
        scope = target.scopes.get(group)
        every = [item for item in source.items.get(kind, ()) if item.group == group and item.is_claimed]
        alone = [item for item in left if item.group == group and item.is_claimed]
        if scope is None or not every or (kind in target.denied and not target.items.get(kind)):
            continue
        # An entry that the other side denies by name was reported as that.
        alone = [item for item in alone if not any(_is_refused(item, denial) for denial in target.refused.get(kind, ()))]
        comparison.fired()
        if not alone:
            continue
        if scope == "able":
            _report_none(comparison, source, target, kind, group, every)
        elif scope == "whole" or 2 * (len(every) - len(alone)) >= len(every):
            _report_some(comparison, target, kind, alone, other_left)


def _report_none(comparison: Comparison, source: Record, target: Record, kind: Kind, group: Group, every: Sequence[Item]) -> None:
    """Report, in one finding, that a side has no entry at all of a group."""
    if target.unnamed.get(kind):
        comparison.skip(kind, "entries that are named elsewhere")
        return
    severity: Severity = "major" if source.source == "persona" and target.source == "fhir" else "minor"
    what = f"This {_WORDS[group]}" if len(every) == 1 else f"Each of {len(every)} entries ({_WORDS[group]}), of which this is the first,"
    comparison.missing(severity, f"{kind}.missing", what, _at(every[0]), target, why="such a document can hold it, and holds none")


def _report_some(comparison: Comparison, target: Record, kind: Kind, alone: Sequence[Item], other_left: Sequence[Item]) -> None:
    """Report each entry that the other side does not have."""
    unnamed = target.unnamed.get(kind, 0)
    if len(alone) * len(target.items.get(kind, ())) > PAIRS_MAX:
        comparison.skip(kind, "too many entries that only one side has")
        return
    for item in alone:
        if unnamed or any(other.is_claimed and may_be_same(item, other) for other in other_left):
            comparison.skip(kind, "entries whose codes and names do not compare, such as those of two code systems")
            continue
        alike = [other for other in target.items.get(kind, ()) if is_about_same(item, other)]
        if (kind in _STATES and alike) or (kind == "condition" and _is_mentioned(item, target)):
            continue
        if any((same_time(item, other) or not (item.times and other.times)) and (same_value(item, other) or not item.amounts) for other in alike):
            continue
        # One producer's procedure is another's act in another section.
        severity: Severity = "minor" if alike or target.source == "persona" or kind == "procedure" else "major"
        comparison.missing(severity, f"{kind}.missing", f"This {_WORDS[item.group]}", _at(item), target)


def _is_mentioned(item: Item, target: Record) -> bool:
    """True if a record has the entry as another kind of resource: smoking as an observation, an operation as a procedure."""
    texts = [frozenset(word for word in words if not word.isdecimal()) for words in item.texts]
    return any(words and words == mention for words in texts for mention in (*target.mentions, *_procedures(target)))


def _procedures(record: Record) -> list[frozenset[str]]:
    return [words for item in record.items.get("procedure", ())[:_ALIKE_MAX] for words in item.texts]
