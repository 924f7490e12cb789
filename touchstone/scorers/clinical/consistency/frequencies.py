"""How often a medication is taken, as times a day: FHIR's Timing, HL7 v2's repeat pattern (table 0335), and C-CDA's periodic interval (PIVL_TS)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from touchstone.scorers.clinical.checks.scalars import number_of
from touchstone.scorers.clinical.consistency.record import Frequency

#: Days of a unit of UCUM. Months and years have no fixed length.
_DAYS: Final[Mapping[str, float]] = {"s": 1 / 86_400, "min": 1 / 1_440, "h": 1 / 24, "d": 1.0, "wk": 7.0}
#: Codes of FHIR's value set timing-abbreviation, of table 0335, and of usage.
_CODES: Final[Mapping[str, float]] = {"QD": 1.0, "BID": 2.0, "TID": 3.0, "QID": 4.0, "QOD": 0.5}
_EVERY: Final = re.compile(r"Q([1-9]\d{0,2})([HDW])", re.ASCII)
_UNITS: Final = {"H": "h", "D": "d", "W": "wk"}
#: Elements of FHIR's Timing.repeat that leave a range, or name times instead of a rate.
_NOT_A_RATE: Final = ("frequencyMax", "periodMax", "when", "timeOfDay", "dayOfWeek")
#: Numbers of hours or days are rounded at most by this much.
_RELATIVE: Final = 0.01


def is_same_frequency(one: Frequency, other: Frequency) -> bool:
    """True if both are equally often."""
    return math.isclose(one.per_day, other.per_day, rel_tol=_RELATIVE)


def of_code(code: object, path: str) -> Frequency | None:
    """The frequency of a code such as BID or Q6H; None for one that is no fixed rate, or not known."""
    text = code.strip().upper() if isinstance(code, str) else ""
    every = _EVERY.fullmatch(text)
    per_day = 1 / (int(every[1]) * _DAYS[_UNITS[every[2]]]) if every is not None else _CODES.get(text)
    return None if per_day is None else Frequency(per_day, path)


def of_period(value: object, unit: object, path: str, *, times: object = 1) -> Frequency | None:
    """The frequency of so many times in each period."""
    period, count = number_of(str(value)), number_of(str(times))
    days = _DAYS.get(unit) if isinstance(unit, str) else None
    if period is None or count is None or days is None or not (0 < period < math.inf and 0 < count < math.inf):
        return None
    return Frequency(count / (period * days), path)


def of_dosages(resource: Mapping[str, Any], path: str) -> Frequency | None:
    """The frequency of FHIR's only dosage; None for several, as needed, or a schedule that is no rate."""
    for member in ("dosageInstruction", "dosage"):
        dosages = resource.get(member)
        if not isinstance(dosages, list) or len(dosages) != 1 or not isinstance(dosages[0], dict):
            continue
        dosage, place = dosages[0], f"{path}.{member}[0].timing"
        timing = dosage.get("timing")
        if not isinstance(timing, dict) or dosage.get("asNeededBoolean") is True or "asNeededCodeableConcept" in dosage:
            return None
        concept = timing.get("code")
        codings = concept.get("coding") if isinstance(concept, dict) else None
        if isinstance(codings, list) and codings:
            # R4: a code is a complete statement, whatever `repeat` says.
            return of_code(codings[0].get("code"), place) if len(codings) == 1 and isinstance(codings[0], dict) else None
        repeat = timing.get("repeat")
        if not isinstance(repeat, dict) or any(name in repeat for name in _NOT_A_RATE):
            return None
        return of_period(repeat.get("period"), repeat.get("periodUnit"), place, times=repeat.get("frequency"))
    return None
