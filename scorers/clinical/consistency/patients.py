"""Who two records are about: birth date, sex, names, identifiers, marital status, death and postal codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from touchstone.scorers.clinical.checks.moments import Moment
from touchstone.scorers.clinical.consistency.comparing import Comparing
from touchstone.scorers.clinical.consistency.names import is_one_authority, is_same_name, may_be_one_authority
from touchstone.scorers.clinical.consistency.record import Identifier, Name, Patient, Record
from touchstone.scorers.clinical.consistency.times import is_same_day
from touchstone.scorers.clinical.curated.facts import DAYS_PER_YEAR

#: An age may be told a birthday early or late.
_AGE_TOLERANCE_YEARS: Final = 1.1
#: Types of table 0203 of which a person has one everywhere: social security, driver's licence, passport, and the medical record's in one record.
_ONE_OF_A_KIND: Final = frozenset({"MR", "MRN", "SS", "DL", "PPN", "PI"})


def same_patient(records: Sequence[Record]) -> Patient | None:
    """The patient that all documents of one format are about; None where there is none, or several."""
    every = [patient for record in records for patient in record.patients]
    if not every:
        return None
    first, *rest = every
    if not all(_is_one(first, other) for other in rest):
        return None
    return replace(
        first,
        names=[name for patient in every for name in patient.names],
        identifiers=[one for patient in every for one in patient.identifiers],
        postal_codes=[one for patient in every for one in patient.postal_codes],
    )


def _is_one(one: Patient, other: Patient) -> bool:
    """Whether two patients of one document may be one person."""
    if shares_identifier(one, other):
        return True
    born_apart = one.birth is not None and other.birth is not None and not is_same_day(one.birth.moment, other.birth.moment)
    return not born_apart and (not one.names or not other.names or any(is_same_name(mine, yours) for mine in one.names for yours in other.names))


def shares_identifier(one: Patient, other: Patient) -> bool:
    """Whether two patients have an identifier in common."""
    return any(_is_same(mine, yours) for mine in one.identifiers for yours in other.identifiers)


def compare_patients(comparing: Comparing, ours: Patient, theirs: Patient) -> bool:
    """Compare two patients; whether they are one person. Two that differ in name and birth and share no identifier are others, and one finding says so."""
    other_birth = _birth_differs(ours, theirs)
    apart = _names_apart(ours.names, theirs.names)
    if other_birth and apart is not None and not shares_identifier(ours, theirs):
        comparing.fired()
        what = "The patient is another: name and birth date"
        comparing.differs("critical", "patient.other", what, _at(ours, ours.path), _at(theirs, theirs.path))
        return False
    _compare_birth(comparing, ours, theirs, other_birth)
    if ours.names and theirs.names:
        comparing.fired()
        if apart is not None:
            comparing.differs("major", "patient.name", "The patient's name", _at(ours, apart[0].path), _at(theirs, apart[1].path))
    _compare_identifiers(comparing, ours, theirs)
    _compare_told(comparing, ours, theirs)
    return True


def _at(patient: Patient, path: str) -> str:
    return f"{patient.place}/{path}" if path != patient.place else path


def _birth_differs(ours: Patient, theirs: Patient) -> bool:
    return ours.birth is not None and theirs.birth is not None and not is_same_day(ours.birth.moment, theirs.birth.moment)


def _compare_birth(comparing: Comparing, ours: Patient, theirs: Patient, is_other: bool) -> None:
    if ours.birth is not None and theirs.birth is not None:
        comparing.fired()
        if is_other:
            values = _day_text(ours.birth.moment), _day_text(theirs.birth.moment)
            comparing.differs("major", "patient.birth-date", "The birth date", _at(ours, ours.birth.path), _at(theirs, theirs.birth.path), values=values)
        return
    for one, other in ((ours, theirs), (theirs, ours)):
        if one.birth is not None and other.age_years is not None and comparing.at is not None and one.birth.moment.month is not None:
            comparing.fired()
            born, _ = one.birth.moment.bounds()
            age = (comparing.at - born).days / DAYS_PER_YEAR
            if not -_AGE_TOLERANCE_YEARS < age - other.age_years < 1 + _AGE_TOLERANCE_YEARS:
                values = f"{age:.1f} years", f"{other.age_years:g} years"
                comparing.differs("major", "patient.age", "The age by the birth date", _at(one, one.birth.path), f"{other.place}/age", values=values)


def _day_text(moment: Moment) -> str:
    return "-".join(f"{part:02}" for part in (moment.year, moment.month, moment.day) if part is not None)


def _names_apart(ours: Sequence[Name], theirs: Sequence[Name]) -> tuple[Name, Name] | None:
    """A legal or usual name of each side that none of the other's names is; None where there are not two such."""
    if not ours or not theirs:
        return None
    left_ours = [name for name in ours if name.use == "official" and not any(is_same_name(name, other) for other in theirs)]
    left_theirs = [name for name in theirs if name.use == "official" and not any(is_same_name(name, other) for other in ours)]
    if left_ours and left_theirs:
        return left_ours[0], left_theirs[0]
    if not any(is_same_name(mine, yours) for mine in ours for yours in theirs):
        return ours[0], theirs[0]
    return None


def _is_same(one: Identifier, other: Identifier) -> bool:
    return one.value == other.value and may_be_one_authority(one, other)


def _compare_identifiers(comparing: Comparing, ours: Patient, theirs: Patient) -> None:
    """Identifiers of one authority, or of a type that a person has once: what either side has alone must not be of the same."""
    if not ours.identifiers or not theirs.identifiers:
        return
    comparing.fired()
    left_ours = [one for one in ours.identifiers if not any(_is_same(one, other) for other in theirs.identifiers)]
    left_theirs = [other for other in theirs.identifiers if not any(_is_same(one, other) for one in ours.identifiers)]
    # Where one side writes an identifier twice (PID-2 and PID-3), and the other has it once, the second is left over too.
    pairs = [(one, other) for one in left_ours for other in _surplus(theirs.identifiers, ours.identifiers)]
    pairs += [(one, other) for other in left_theirs for one in _surplus(ours.identifiers, theirs.identifiers)]
    told: set[int] = set()
    for one, other in pairs:
        if not {id(one), id(other)} & told and _must_be_same(one, other):
            told |= {id(one), id(other)}
            comparing.differs("major", "patient.identifier", "The patient's identifier", _at(ours, one.path), _at(theirs, other.path))
    if told or len(left_ours) < len(ours.identifiers) or len(left_theirs) < len(theirs.identifiers):
        return
    if any(may_be_one_authority(one, other) and _may_be_one_kind(one, other) for one in left_ours for other in left_theirs):
        what = "No identifier of the patient is shared: this one"
        comparing.differs("minor", "patient.identifier", what, _at(ours, left_ours[0].path), _at(theirs, left_theirs[0].path))


def _surplus(identifiers: Sequence[Identifier], others: Sequence[Identifier]) -> list[Identifier]:
    """The identifiers that are left when each of the others has taken an equal one."""
    left = list(identifiers)
    for other in others:
        taken = next((one for one in left if _is_same(one, other)), None)
        if taken is not None:
            left.remove(taken)
    return left


def _must_be_same(one: Identifier, other: Identifier) -> bool:
    """Whether two identifiers are of one authority and type, or of a type that a person has once."""
    if is_one_authority(one, other):
        return _may_be_one_kind(one, other)
    if not (one.authority or other.authority or one.kind or other.kind):
        return True
    return one.kind == other.kind and one.kind in _ONE_OF_A_KIND and may_be_one_authority(one, other)


def _may_be_one_kind(one: Identifier, other: Identifier) -> bool:
    return one.kind == other.kind or not one.kind or not other.kind


def _compare_told(comparing: Comparing, ours: Patient, theirs: Patient) -> None:
    """Sex, marital status, death and postal codes."""
    if ours.sex is not None and theirs.sex is not None:
        comparing.fired()
        sexes = ours.sex.value, theirs.sex.value
        # An unknown sex contradicts nobody, and other is how several codes of HL7 v2 are mapped.
        if sexes[0] != sexes[1] and set(sexes) != {"other", "unknown"}:
            severity = "minor" if {"unknown", "other"} & set(sexes) else "major"
            at = _at(ours, ours.sex.path), _at(theirs, theirs.sex.path)
            comparing.differs("major" if severity == "major" else "minor", "patient.sex", "The patient's sex", *at, values=sexes)
    for code, what, mine, yours in (
        ("marital-status", "The marital status", ours.marital, theirs.marital),
        ("death", "Whether the patient is dead", ours.dead, theirs.dead),
    ):
        if mine is not None and yours is not None:
            comparing.fired()
            if mine.value != yours.value:
                comparing.differs("minor", f"patient.{code}", what, _at(ours, mine.path), _at(theirs, yours.path), values=(mine.value, yours.value))
    if ours.postal_codes and theirs.postal_codes:
        comparing.fired()
        if {one.value for one in ours.postal_codes}.isdisjoint(one.value for one in theirs.postal_codes):
            comparing.differs("minor", "patient.address", "The postal code", _at(ours, ours.postal_codes[0].path), _at(theirs, theirs.postal_codes[0].path))
