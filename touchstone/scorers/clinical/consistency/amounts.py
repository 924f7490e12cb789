"""Amounts as they compare across formats: the same quantity in any unit, at the coarser of the precisions they are written with."""

from __future__ import annotations

import math
import re
from typing import Final, Literal

from touchstone.scorers.clinical.checks.parameters import find_parameter
from touchstone.scorers.clinical.checks.plausibility import convert
from touchstone.scorers.clinical.checks.scalars import number_of
from touchstone.scorers.clinical.checks.ucum_reader import conversion, reader_installed
from touchstone.scorers.clinical.checks.unit_checks import normalize_ucum_unit
from touchstone.scorers.clinical.consistency.record import Amount

#: A text that is an amount, such as `< 5` or `99 mg/dL`.
_AMOUNT: Final = re.compile(r"\s*(?P<sign>[<>]=?|[≤≥])?\s*(?P<number>[+-]?\d{1,15}(?:\.\d{1,15})?)(?:\s*(?P<unit>%|[A-Za-z\[{][^\s]{0,30}))?\s*", re.ASCII)
Outcome = Literal["same", "other", "unknown"]
#: Greatest relative difference between equal amounts: factors between units are rounded (18.0 g/mol for 18.016).
_RELATIVE: Final = 2e-3
_TINY: Final = 1e-9
_ENDS: Final = re.compile(r"[eE].*")
#: Comparators as the formats write them → as FHIR does.
_COMPARATORS: Final = {"≤": "<=", "≥": ">=", "=": "", "==": ""}


def comparator_of(text: object) -> str:
    """A comparator as FHIR writes it; empty if there is none."""
    plain = text.strip() if isinstance(text, str) else ""
    return _COMPARATORS.get(plain, plain)


def amount_of_text(text: str, path: str, unit: str = "") -> Amount | None:
    """The amount in a text that has only a number, perhaps with a comparator before it and a unit after it; None for any other text."""
    found = _AMOUNT.fullmatch(text[:80])
    if found is None:
        return None
    return Amount(found["number"], found["unit"] or unit, comparator_of(found["sign"]), path)


def is_number(text: object) -> bool:
    """True if a text is a finite number."""
    number = number_of(text)
    return number is not None and math.isfinite(number)


def compare(one: Amount, other: Amount, loinc: str | None = None) -> Outcome:
    """Compare two amounts; `unknown` if their units do not convert. Numbers with a unit on one side only are compared as they are.

    `loinc`: the observation's code, by which units that are not UCUM are read, and moles are converted to masses.
    """
    ours, theirs = number_of(one.number), number_of(other.number)
    if ours is None or theirs is None or not (math.isfinite(ours) and math.isfinite(theirs)):
        return "unknown"
    outcome = _numbers(one, other, ours, theirs, loinc)
    # C-CDA leaves open whether the end of an interval is part of it.
    if outcome == "same" and one.comparator.rstrip("=") != other.comparator.rstrip("="):
        return "other"
    return outcome


def _numbers(one: Amount, other: Amount, ours: float, theirs: float, loinc: str | None) -> Outcome:
    if not one.unit or not other.unit or one.unit.casefold() == other.unit.casefold():
        same = _is_near(ours, theirs, _step(one.number), _step(other.number), 0.0)
        # A number without a unit may have another unit than the one that is written.
        return "same" if same else "other" if bool(one.unit) == bool(other.unit) else "unknown" if _may_convert(one, other) else "other"
    if {one.unit, other.unit} == {"%", "1"}:
        return _scaled(one, other, (0.01, 0.0) if one.unit == "%" else (100.0, 0.0))
    line = None if one.unit.isdecimal() or other.unit.isdecimal() else _line(one.unit, other.unit, loinc)
    return _scaled(one, other, line)


def _scaled(one: Amount, other: Amount, line: tuple[float, float] | None) -> Outcome:
    """Compare an amount with another, converted by scale and offset to its unit."""
    ours, theirs = number_of(one.number), number_of(other.number)
    if line is None or ours is None or theirs is None:
        return "unknown"
    scale, offset = line
    return "same" if _is_near(ours * scale + offset, theirs, _step(one.number) * abs(scale), _step(other.number), _RELATIVE) else "other"


def _may_convert(one: Amount, other: Amount) -> bool:
    """True if two numbers, of which one has no unit, differ by a power of ten, as if they had different units."""
    ours, theirs = number_of(one.number), number_of(other.number)
    if not ours or not theirs or ours * theirs < 0:
        return False
    ratio = ours / theirs
    if not 1e-12 < ratio < 1e12:
        return False
    power = math.log10(ratio)
    return abs(power) > 0.5 and abs(power - round(power)) < 1e-3


def _is_near(ours: float, theirs: float, our_step: float, their_step: float, relative: float) -> bool:
    """True if two numbers differ by no more than rounding at the coarser precision."""
    bound = max(our_step, their_step) / 2 if our_step != their_step else _TINY
    bound = max(bound, relative * max(abs(ours), abs(theirs)))
    return abs(ours - theirs) <= bound * (1 + 1e-6) + _TINY * max(1.0, abs(ours))


def _step(number: str) -> float:
    """The value of a unit in the last written digit: 0.01 for `1.25`."""
    text = number.strip()
    power = _ENDS.search(text)
    digits = _ENDS.sub("", text)
    places = len(digits.partition(".")[2]) - (int(power[0][1:] or 0) if power else 0)
    return 10.0 ** -max(-18, min(18, places))


def _line(source: str, target: str, loinc: str | None) -> tuple[float, float] | None:
    """Scale and offset from one unit to the other; None if they do not convert."""
    parameter = find_parameter(loinc)
    if parameter is not None:
        ours, theirs = ([convert(number, unit, parameter, loinc) for number in (0.0, 1.0)] for unit in (source, target))
        if None not in (*ours, *theirs):
            our_line, their_line = (ours[1] - ours[0], ours[0]), (theirs[1] - theirs[0], theirs[0])  # type: ignore[operator]  # none is None
            if their_line[0]:
                return our_line[0] / their_line[0], (our_line[1] - their_line[1]) / their_line[0]  # type: ignore[operator]
    if not reader_installed():
        return None
    return conversion(normalize_ucum_unit(source, loinc), normalize_ucum_unit(target, loinc))
