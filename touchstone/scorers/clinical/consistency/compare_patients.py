"""Compares the patients of two records: birth date, sex, names, identifiers, marital status, death, postal codes and phones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.checks.timestamps import Moment
from touchstone.scorers.clinical.consistency.comparison import Comparison
from touchstone.scorers.clinical.consistency.identifiers import is_one_authority, may_be_one_authority
from touchstone.scorers.clinical.consistency.person_names import is_same_name, may_be_same_name, script_of
from touchstone.scorers.clinical.consistency.record import VALUES_MAX, Identifier, Name, Patient, Record
from touchstone.scorers.clinical.consistency.stamps import is_same_day
from touchstone.scorers.clinical.curated.facts import DAYS_PER_YEAR

#: An age may be a birthday early or late.
_AGE_TOLERANCE_YEARS: Final = 1.1
#: Types of table 0203 of which a person has one: social security, driver's licence, passport, and the medical record's in one record.
_ONE_OF_A_KIND: Final = frozenset({"MR", "MRN", "SS", "DL", "PPN", "PI"})
#: Shorter numbers can be alike by chance.
_SLIP_LENGTH_MIN: Final = 5
#: Different descriptions of one patient, in the documents of one format, that are compared.
_DISTINCT_MAX: Final = 10
#: Digits of a phone number without its area; postal codes are shorter, or have letters.
_LOCAL_DIGITS: Final = 7


def same_patient(records: Sequence[Record]) -> list[Patient]:
    """The patient of each document of one format; empty if there is none, or a document has several. Equal descriptions count once."""
    every: list[Patient] = []
    seen: list[object] = []
    for record in records:
        if record.patients and not all(is_one_person(record.patients[0], other) for other in record.patients[1:]):
            return []
        for patient in record.patients:
            description = _description(patient)
            if len(every) < _DISTINCT_MAX and description not in seen:
                seen.append(description)
                every.append(patient)
    return every


def _description(patient: Patient) -> tuple[object, ...]:
    """All values of a patient, without their paths."""
    return (
        patient.birth and patient.birth.moment,
        patient.age_years,
        tuple(one and one.value for one in (patient.sex, patient.marital, patient.dead)),
        {(name.family, name.given, name.use) for name in patient.names},
        {(one.authority, one.kind, one.value) for one in patient.identifiers},
        {one.value for one in (*patient.postal_codes, *patient.phones)},
    )


def is_one_person(one: Patient, other: Patient) -> bool:
    """True if two patients may be one person: they share an identifier, or neither birth dates nor names differ."""
    if shares_identifier(one, other):
        return True
    return not _birth_differs(one, other) and (
        not one.names or not other.names or any(is_same_name(mine, yours) for mine in one.names for yours in other.names)
    )


def shares_identifier(one: Patient, other: Patient) -> bool:
    """True if two patients have an identifier in common."""
    return any(_is_same(mine, yours) for mine in one.identifiers for yours in other.identifiers)


def compare_patients(comparison: Comparison, ours: Sequence[Patient], theirs: Sequence[Patient]) -> bool:
    """Compare the patients of two formats' documents; False if they are different persons.

    Patients that differ in name and birth and share no identifier are different persons, which one finding reports. Of several differences of one kind
    only the first is reported.
    """
    for mine in ours:
        for yours in theirs:
            if _birth_differs(mine, yours) and _names_apart(mine.names, yours.names) is not None and not shares_identifier(mine, yours):
                comparison.fired()
                what = "The patient is another: name and birth date"
                comparison.differs("critical", "patient.other", what, _at(mine, mine.path), _at(yours, yours.path))
                return False
    once = _Once(comparison)
    for mine in ours:
        for yours in theirs:
            _compare_birth(once, mine, yours, _birth_differs(mine, yours))
            _compare_sex(once, mine, yours)
            _compare_others(once, mine, yours)
    _compare_names(once, ours, theirs)
    _compare_identifiers(once, _all_of(ours), _all_of(theirs))
    return True


@dataclass(slots=True)
class _Once:
    """A comparison that reports and counts each kind of difference once, however many documents repeat it."""

    comparison: Comparison
    reported: set[str] = field(default_factory=set)
    compared: set[str] = field(default_factory=set)

    def fired(self, code: str) -> None:
        """Count one comparison of a kind."""
        if code not in self.compared:
            self.compared.add(code)
            self.comparison.fired()

    def differs(self, severity: Severity, code: str, what: str, ours: str, theirs: str, *, values: tuple[object, object] | None = None) -> None:
        """Report a difference, unless one of its kind was reported."""
        if code not in self.reported:
            self.reported.add(code)
            self.comparison.differs(severity, f"patient.{code}", what, ours, theirs, values=values)


def _all_of(patients: Sequence[Patient]) -> Patient:
    """One patient with the identifiers of all, each once. Paths are full."""
    merged = Patient("")
    for patient in patients:
        known = {(one.authority, one.kind, one.value) for one in merged.identifiers}
        more = [one for one in patient.identifiers if (one.authority, one.kind, one.value) not in known]
        merged.identifiers += [replace(one, path=_at(patient, one.path)) for one in more]
    del merged.identifiers[VALUES_MAX:]
    return merged


def _compare_names(once: _Once, ours: Sequence[Patient], theirs: Sequence[Patient]) -> None:
    """Compare the names of each document with those of each of the other format."""
    for mine, yours in ((mine, yours) for mine in ours for yours in theirs):
        if not mine.names or not yours.names:
            continue
        once.fired("name")
        apart = _names_apart(mine.names, yours.names)
        if apart is not None:
            once.differs("major", "name", "The patient's name", _at(mine, apart[0].path), _at(yours, apart[1].path))


def _at(patient: Patient, path: str) -> str:
    return f"{patient.place}/{path}" if patient.place and path != patient.place else path


def _birth_differs(ours: Patient, theirs: Patient) -> bool:
    return ours.birth is not None and theirs.birth is not None and not is_same_day(ours.birth.moment, theirs.birth.moment)


def _compare_birth(once: _Once, ours: Patient, theirs: Patient, is_other: bool) -> None:
    if ours.birth is not None and theirs.birth is not None:
        once.fired("birth-date")
        if is_other:
            values = _day_text(ours.birth.moment), _day_text(theirs.birth.moment)
            once.differs("major", "birth-date", "The birth date", _at(ours, ours.birth.path), _at(theirs, theirs.birth.path), values=values)
        return
    for one, other in ((ours, theirs), (theirs, ours)):
        if one.birth is not None and other.age_years is not None and (at := once.comparison.at) is not None and one.birth.moment.month is not None:
            once.fired("age")
            born, _ = one.birth.moment.bounds()
            age = (at - born).days / DAYS_PER_YEAR
            if not -_AGE_TOLERANCE_YEARS < age - other.age_years < 1 + _AGE_TOLERANCE_YEARS:
                values = f"{age:.1f} years", f"{other.age_years:g} years"
                once.differs("major", "age", "The age by the birth date", _at(one, one.birth.path), f"{other.place}/age", values=values)


def _day_text(moment: Moment) -> str:
    return "-".join(f"{part:02}" for part in (moment.year, moment.month, moment.day) if part is not None)


def _names_apart(ours: Sequence[Name], theirs: Sequence[Name]) -> tuple[Name, Name] | None:
    """A legal or usual name of each side that the other side does not have; None if there are none, or only in different scripts."""
    scripts = {script_of(name) for name in ours} & {script_of(name) for name in theirs}
    mine, yours = ([name for name in names if script_of(name) in scripts] for names in (ours, theirs))
    if not mine or not yours:
        return None
    left_ours = [name for name in mine if name.use == "official" and not any(is_same_name(name, other) for other in yours)]
    left_theirs = [name for name in yours if name.use == "official" and not any(is_same_name(name, other) for other in mine)]
    if left_ours and left_theirs:
        return left_ours[0], left_theirs[0]
    if not any(may_be_same_name(one, other) for one in mine for other in yours):
        return mine[0], yours[0]
    return None


def _is_same(one: Identifier, other: Identifier) -> bool:
    return one.value == other.value and may_be_one_authority(one, other)


def _compare_identifiers(once: _Once, ours: Patient, theirs: Patient) -> None:
    """Report identifiers that differ, though they have the same authority, or a type of which a person has one."""
    if not ours.identifiers or not theirs.identifiers:
        return
    once.comparison.fired()
    left_ours = [one for one in ours.identifiers if not any(_is_same(one, other) for other in theirs.identifiers)]
    left_theirs = [other for other in theirs.identifiers if not any(_is_same(one, other) for one in ours.identifiers)]
    # A second number of a type that the sides share may come from another authority.
    shared = [one for one in ours.identifiers if any(_is_same(one, other) and one.kind == other.kind for other in theirs.identifiers)]
    # If one side has an identifier twice (PID-2 and PID-3) and the other once, the second is unmatched too.
    more_theirs, more_ours = _surplus(theirs.identifiers, ours.identifiers), _surplus(ours.identifiers, theirs.identifiers)
    pairs = [(one, other) for one in left_ours for other in more_theirs] + [(one, other) for other in left_theirs for one in more_ours]
    reported: set[int] = set()
    for one, other in pairs:
        if not {id(one), id(other)} & reported and _must_be_same(one, other, shared):
            reported |= {id(one), id(other)}
            once.comparison.differs("major", "patient.identifier", "The patient's identifier", one.path, other.path)
    if reported or len(left_ours) < len(ours.identifiers) or len(left_theirs) < len(theirs.identifiers):
        return
    if any(may_be_one_authority(one, other) and _may_be_one_kind(one, other) for one in left_ours for other in left_theirs):
        once.differs("minor", "identifier", "No identifier of the patient is shared: this one", left_ours[0].path, left_theirs[0].path)


def _surplus(identifiers: Sequence[Identifier], others: Sequence[Identifier]) -> list[Identifier]:
    """The identifiers that remain after each of the others has been paired with an equal one."""
    left = list(identifiers)
    for other in others:
        taken = next((one for one in left if _is_same(one, other)), None)
        if taken is not None:
            left.remove(taken)
    return left


def _must_be_same(one: Identifier, other: Identifier, shared: Sequence[Identifier]) -> bool:
    """True if two identifiers have the same authority and type, or a type of which a person has one and that the sides do not share already."""
    if is_one_authority(one, other):
        return _may_be_one_kind(one, other)
    if not (one.authority or other.authority or one.kind or other.kind):
        return True
    if one.kind != other.kind or one.kind not in _ONE_OF_A_KIND or not may_be_one_authority(one, other):
        return False
    is_second = any(known.kind == one.kind and not _may_share_authority(known, one) and not _may_share_authority(known, other) for known in shared)
    # Second numbers may come from two other hospitals, unless they differ only by a typing error.
    return not is_second or _is_slip(one.value, other.value)


def _is_slip(one: str, other: str) -> bool:
    """True if two long numbers differ in one or two characters."""
    return len(one) == len(other) >= _SLIP_LENGTH_MIN and sum(a != b for a, b in zip(one, other, strict=True)) <= 2


def _may_share_authority(known: Identifier, other: Identifier) -> bool:
    """True if two identifiers name the same authority, or one of them names none."""
    return not known.authority or not other.authority or known.authority == other.authority


def _may_be_one_kind(one: Identifier, other: Identifier) -> bool:
    return one.kind == other.kind or not one.kind or not other.kind


def _compare_sex(once: _Once, ours: Patient, theirs: Patient) -> None:
    if ours.sex is None or theirs.sex is None:
        return
    once.fired("sex")
    sexes = ours.sex.value, theirs.sex.value
    # `unknown` contradicts nothing, and several codes of HL7 v2 are mapped to `other`.
    if sexes[0] != sexes[1] and set(sexes) != {"other", "unknown"}:
        severity: Severity = "minor" if {"unknown", "other"} & set(sexes) else "major"
        once.differs(severity, "sex", "The patient's sex", _at(ours, ours.sex.path), _at(theirs, theirs.sex.path), values=sexes)


def _compare_others(once: _Once, ours: Patient, theirs: Patient) -> None:
    """Compare marital status, death, postal codes and phones."""
    for code, what, mine, yours in (
        ("marital-status", "The marital status", ours.marital, theirs.marital),
        ("death", "Whether the patient is dead", ours.dead, theirs.dead),
    ):
        if mine is not None and yours is not None:
            once.fired(code)
            if mine.value != yours.value:
                once.differs("minor", code, what, _at(ours, mine.path), _at(theirs, yours.path), values=(mine.value, yours.value))
    for code, what, mine_all, yours_all in (
        ("address", "The postal code", ours.postal_codes, theirs.postal_codes),
        ("phone", "The phone number", ours.phones, theirs.phones),
    ):
        if mine_all and yours_all:
            once.fired(code)
            if not any(_is_same_number(one.value, other.value) for one in mine_all for other in yours_all):
                once.differs("minor", code, what, _at(ours, mine_all[0].path), _at(theirs, yours_all[0].path))


def _is_same_number(one: str, other: str) -> bool:
    """True if two postal codes or phone numbers are the same, one phone number perhaps without its area or country code."""
    return one == other or (min(len(one), len(other)) >= _LOCAL_DIGITS and (one.endswith(other) or other.endswith(one)))
