"""Clinical plausibility: can a living patient have this value? (specification, Priority 9).

critical: physiologically impossible. major: critically low or high. minor: unusual. Values are first converted to the parameter's unit; if that
fails, the value is not judged, and `Judgement.reason` says why.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.checks.parameters import Parameter, Range, Sex, find_parameter
from touchstone.scorers.clinical.checks.scalars import number_of, plain, shown
from touchstone.scorers.clinical.checks.ucum_reader import UNIT_LENGTH_MAX, conversion, read_unit, reader_installed
from touchstone.scorers.clinical.checks.unit_checks import NOT_INSTALLED, normalize_ucum_unit
from touchstone.scorers.clinical.report import Context

SYSTOLIC: Final = "8480-6"
DIASTOLIC: Final = "8462-4"
#: Pulse pressures outside this are rare even among the critically ill (mm[Hg]).
PULSE_PRESSURE_USUAL: Final[Range] = (15.0, 120.0)
#: Conversions have rounding errors: a value this close to a bound is on it.
_TOLERANCE: Final = 1e-6
#: A unit that counts charges: eq, meq, ueq.
_EQUIVALENTS: Final = re.compile(r"(?<![A-Za-z\[])[munpk]?eq(?![A-Za-z])")
#: U and [IU]: UCUM does not convert them, but for enzymes and hormones records use both for the same amount.
_ARBITRARY_UNITS: Final = (re.compile(r"(?<![A-Za-z\[])([munpk]?)U(?![A-Za-z])"), re.compile(r"\[[Ii]U\]"))


@dataclass(frozen=True, slots=True)
class Judgement:
    """Findings of one value, its parameter, and the reason if it was not judged."""

    findings: tuple[Finding, ...] = ()
    parameter: Parameter | None = None
    reason: str | None = None

    @property
    def judged(self) -> bool:
        """True if the value was compared with ranges."""
        return self.parameter is not None and self.reason is None


def judge_value(
    value: object,
    path: str,
    context: Context,
    *,
    unit: str | None = None,
    loinc: str | None = None,
    name: str | None = None,
    age_years: float | None = None,
    sex: Sex | None = None,
    comparator: str | None = None,
) -> Judgement:
    """Compare a value with its parameter's ranges. `comparator`: `<`, `<=`, `>=` or `>`, as in `<0.01`."""
    parameter = find_parameter(loinc, name)
    if parameter is None:
        return Judgement(reason="no ranges for this observation")
    number = number_of(value)
    if number is None:
        return Judgement(parameter=parameter, reason="the value is no number")
    if math.isinf(number):
        message = f"{parameter.name} value is no finite number"
        return Judgement((context.finding("critical", "plausibility.impossible", path, message, value=shown(value)),), parameter)
    converted = convert(number, unit, parameter, loinc)
    if converted is None:
        reason = NOT_INSTALLED if unit and not reader_installed() else "the unit is absent or does not convert"
        return Judgement(parameter=parameter, reason=reason)
    ranges = parameter.possible_at(age_years), *parameter.ranges(age_years, sex)
    found = _against(converted, comparator, parameter, ranges, path, context, value)
    return Judgement(() if found is None else (found,), parameter)


def check_blood_pressure(
    systolic: object,
    diastolic: object,
    path: str,
    context: Context,
    *,
    systolic_unit: str | None = None,
    diastolic_unit: str | None = None,
) -> list[Finding]:
    """Systolic must be above diastolic (major), by a usual difference (minor).

    Without units both are in mm[Hg]; pressures that do not convert are not compared.
    """
    above, below = _pressure(systolic, systolic_unit, SYSTOLIC), _pressure(diastolic, diastolic_unit, DIASTOLIC)
    if above is None or below is None:
        return []
    if above <= below:
        message = "Systolic must be greater than diastolic blood pressure"
        return [context.finding("major", "plausibility.blood-pressure", path, message, value=f"{above:g}/{below:g}")]
    low, high = PULSE_PRESSURE_USUAL
    if not low <= above - below <= high:
        message = f"Pulse pressure is unusual (outside {plain(low)}-{plain(high)} mm[Hg])"
        return [context.finding("minor", "plausibility.pulse-pressure", path, message, value=f"{above:g}/{below:g}")]
    return []


def _pressure(value: object, unit: str | None, loinc: str) -> float | None:
    number, parameter = number_of(value), find_parameter(loinc)
    if number is None or parameter is None or not unit or not math.isfinite(number):
        return number
    return convert(number, unit, parameter, loinc)


def check_reference_range(
    low: object, high: object, path: str, context: Context, *, low_unit: str | None = None, high_unit: str | None = None
) -> list[Finding]:
    """Report a reference range whose low end is above its high end. Ends in different units are compared in the unit of the high end."""
    bottom, top = number_of(low), number_of(high)
    if bottom is None or top is None:
        return []
    if low_unit and high_unit and low_unit != high_unit:
        line = conversion(low_unit, high_unit) if reader_installed() else None
        if line is None:
            return []
        bottom = bottom * line[0] + line[1]
    if bottom <= top:
        return []
    message = "Reference range low is above its high"
    return [context.finding("major", "plausibility.reference-range", path, message, value=f"{bottom:g}-{top:g}")]


def convert(number: float, unit: str | None, parameter: Parameter, loinc: str | None = None) -> float | None:
    """Return the number in the parameter's unit, converted by UCUM, by molar mass, or by the table's own factors; None if that is impossible.

    Without a unit, the number is accepted for pure numbers (INR, pH, scores) and parameters with only one unit (heart rate, BMI). Misspelt units are read as
    what was meant.
    """
    if unit == parameter.unit:
        return number
    pure = parameter.unit.startswith("{") or parameter.unit == "[pH]"
    if not unit:
        return number if pure or parameter.only_unit else None
    for special, (scale, offset) in parameter.special:
        if unit == special:
            return number * scale + offset
    if not reader_installed() or len(unit) > UNIT_LENGTH_MAX:
        return None
    if pure and unit.casefold().strip("{}[]") == parameter.unit.casefold().strip("{}[]"):
        return number
    # Without a LOINC code the name decides what the unit means: K/uL of "platelets" is thousands, not kelvins.
    meant = normalize_ucum_unit(unit, loinc or parameter.codes[0])
    if _EQUIVALENTS.search(meant):
        # UCUM takes an equivalent for a mole, which is true only of ions with one charge.
        if parameter.charge is None:
            return None
        number /= parameter.charge
    line = conversion(meant, parameter.unit) or _molar_line(meant, parameter) or _arbitrary_line(meant, parameter)
    return None if line is None else number * line[0] + line[1]


def _arbitrary_line(unit: str, parameter: Parameter) -> Range | None:
    enzyme, arbitrary = _ARBITRARY_UNITS
    other = arbitrary.sub("U", unit) if enzyme.search(parameter.unit) else enzyme.sub(r"\1[IU]", unit)
    return conversion(other, parameter.unit) if other != unit else None


def _molar_line(unit: str, parameter: Parameter) -> Range | None:
    """The conversion between amounts of substance and masses, by molar mass."""
    if parameter.molar is None or read_unit(unit) is None:
        return None
    to_moles = conversion(unit, "mol/L")
    if to_moles is not None:
        from_grams = conversion("g/L", parameter.unit)
        return None if from_grams is None else (to_moles[0] * parameter.molar * from_grams[0], 0.0)
    to_grams = conversion(unit, "g/L")
    from_moles = conversion("mol/L", parameter.unit)
    return None if to_grams is None or from_moles is None else (to_grams[0] / parameter.molar * from_moles[0], 0.0)


def _against(
    number: float,
    comparator: str | None,
    parameter: Parameter,
    ranges: tuple[Range, Range, Range],
    path: str,
    context: Context,
    value: object,
) -> Finding | None:
    """The gravest finding about a number in the parameter's unit. `ranges`: possible, critical, usual."""
    possible, critical, usual = ranges
    below_only, above_only = comparator in {"<", "<="}, comparator in {">", ">="}
    if below_only or above_only:
        # "<5" is a fault only if no possible value is below 5.
        impossible = (below_only and _less(number, possible[0])) or (above_only and _less(possible[1], number))
        return _impossible(parameter, possible, path, context, value) if impossible else None
    if _less(number, possible[0]) or _less(possible[1], number):
        return _impossible(parameter, possible, path, context, value)
    side = _outside(number, critical)
    if side is not None:
        message = f"{parameter.name} value is critically {side} {parameter.unit})"
        return context.finding("major", "plausibility.critical", path, message, value=shown(value))
    side = _outside(number, usual)
    if side is not None:
        message = f"{parameter.name} value is unusually {side} {parameter.unit})"
        return context.finding("minor", "plausibility.unusual", path, message, value=shown(value))
    return None


def _outside(number: float, bounds: Range) -> str | None:
    if _less(number, bounds[0]):
        return f"low (< {plain(bounds[0])}"
    return f"high (> {plain(bounds[1])}" if _less(bounds[1], number) else None


def _impossible(parameter: Parameter, possible: Range, path: str, context: Context, value: object) -> Finding:
    low, high = possible
    of_age = "" if possible == parameter.possible else " at this age"
    message = f"{parameter.name} value is outside physiologically possible range ({plain(low)}-{plain(high)} {parameter.unit}){of_age}"
    return context.finding("critical", "plausibility.impossible", path, message, suggestion="Check the value and its unit", value=shown(value))


def _less(one: float, other: float) -> bool:
    return one < other - _TOLERANCE * max(1.0, abs(other))
