"""Units and values that are right for their LOINC code, remembered: the same few make up most results, and need no full check."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from touchstone.scorers.clinical.checks.parameters import Parameter, Sex, find_parameter
from touchstone.scorers.clinical.checks.plausibility import convert
from touchstone.scorers.clinical.checks.ucum_reader import reader_installed
from touchstone.scorers.clinical.checks.unit_checks import check_unit
from touchstone.scorers.clinical.report import Context

#: LOINC in table 0396, and the names that senders use for it.
LOINC_SYSTEMS = frozenset({"LN", "LOINC", "2.16.840.1.113883.6.1"})
#: Longer codes and units are checked each time.
REMEMBERED_LENGTH_MAX = 40


@lru_cache(maxsize=2_048)
def is_good_unit(written: str, loinc: str | None, system: str) -> bool:
    """True if a unit has no finding beside this LOINC code."""
    return reader_installed() and len(written) <= REMEMBERED_LENGTH_MAX and not check_unit(written, "", Context(), loinc=loinc, system=system or None)


@lru_cache(maxsize=2_048)
def _conversion(loinc: str, unit: str) -> tuple[Parameter, float, float] | None:
    """The parameter of a LOINC code, with scale and offset from this unit to the parameter's; None if the unit does not convert."""
    parameter = find_parameter(loinc)
    if parameter is None or len(unit) > REMEMBERED_LENGTH_MAX:
        return None
    zero, one = convert(0.0, unit, parameter, loinc), convert(1.0, unit, parameter, loinc)
    return None if zero is None or one is None else (parameter, one - zero, zero)


def is_usual_value(number: float, loinc: str, unit: str, age_years: float | None, sex: Sex | None) -> bool:
    """True if a value is in the usual range of its parameter, so that it has no finding."""
    conversion = _conversion(loinc, unit)
    if conversion is None:
        return False
    parameter, scale, offset = conversion
    low, high = parameter.ranges(age_years, sex)[1]
    return low <= number * scale + offset <= high


class UsualRange(NamedTuple):
    """A range that is usual at any age and sex, in the parameter's unit, with scale and offset from the unit of the result."""

    scale: float
    offset: float
    low: float
    high: float

    def holds(self, number: float) -> bool:
        """True if a number of the result's unit is in the range."""
        return self.low <= number * self.scale + self.offset <= self.high


@lru_cache(maxsize=2_048)
def usual_range(identifier: str, system: str, unit: str, unit_system: str) -> UsualRange | None:
    """The range in which results of this code (OBX-3) and unit (OBX-6) have no finding; None if each must be checked."""
    if not unit or "\\" in unit or system not in LOINC_SYSTEMS or max(len(identifier), len(unit_system)) > REMEMBERED_LENGTH_MAX:
        return None
    conversion = _conversion(identifier, unit) if is_good_unit(unit, identifier, unit_system) else None
    if conversion is None:
        return None
    parameter, scale, offset = conversion
    lows, highs = zip(parameter.usual, *(band.usual for band in parameter.bands), strict=True)
    return UsualRange(scale, offset, max(lows), min(highs))
