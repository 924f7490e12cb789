"""Clinical parameters: their codes and names, the ranges of their values, and the unit that their LOINC code requires.

The table is `tables/parameters.toml`. Ranges are in the parameter's own unit and include their ends.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Final, Literal

Range = tuple[float, float]
Sex = Literal["male", "female"]
_NAME_LENGTH_MAX: Final = 80
_NOT_A_WORD: Final = re.compile(r"[^a-z0-9-]+")
#: A name and its abbreviation: `Body mass index (BMI)`.
_TWO_NAMES: Final = re.compile(r"([^()]+)\(([^()]+)\)\s*")


@dataclass(frozen=True, slots=True)
class Band:
    """Ranges for ages from `age[0]` up to but not including `age[1]`, in years, and for one sex if it is given. `possible` None: as for all ages."""

    age: Range
    sex: Sex | None
    critical: Range
    usual: Range
    possible: Range | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One clinical parameter. `codes`: its LOINC codes; `molar`: grams per mole; `charge`: charges per ion, None if it has no equivalents;
    `special`: unit → factor and offset that convert to `unit`; `only_unit`: it is never measured in another unit.
    """

    key: str
    name: str
    unit: str
    codes: tuple[str, ...]
    possible: Range
    critical: Range
    usual: Range
    molar: float | None = None
    charge: int | None = None
    special: tuple[tuple[str, Range], ...] = ()
    bands: tuple[Band, ...] = ()
    only_unit: bool = False

    def ranges(self, age_years: float | None, sex: Sex | None) -> tuple[Range, Range]:
        """Return critical and usual range for a patient; if age or sex is unknown, the widest that may apply."""
        fitting = [band for band in self.bands if _fits(band, age_years, sex)]
        if age_years is not None and fitting and (sex is not None or all(band.sex is None for band in fitting)):
            return fitting[0].critical, fitting[0].usual
        if age_years is not None and not fitting:
            return self.critical, self.usual
        return _widest([self.critical, *(band.critical for band in fitting)]), _widest([self.usual, *(band.usual for band in fitting)])

    def possible_at(self, age_years: float | None) -> Range:
        """Return the possible range at an age; at an unknown age, that of all ages."""
        of_age = [band.possible for band in self.bands if band.possible is not None and age_years is not None and _fits(band, age_years, None)]
        return _widest(of_age) if of_age else self.possible


@dataclass(frozen=True, slots=True)
class _Table:
    by_loinc: Mapping[str, Parameter]
    by_name: Mapping[str, Parameter]
    properties: Mapping[str, str]


def find_parameter(loinc: str | None = None, name: str | None = None) -> Parameter | None:
    """Return the parameter of a LOINC code; without a code, that of a name (compared as a whole, ignoring case)."""
    if loinc:
        return _table().by_loinc.get(loinc)
    if not name or len(name) > _NAME_LENGTH_MAX:
        return None
    found = _named(name)
    if found is None and (names := _TWO_NAMES.fullmatch(name)) is not None:
        # If the two differ, the second is a specimen or a condition, and may name another test.
        found = one if (one := _named(names[1])) is _named(names[2]) else None
    return found


def _named(name: str) -> Parameter | None:
    return _table().by_name.get(_NOT_A_WORD.sub(" ", name.casefold()).strip())


def property_of(loinc: str) -> str | None:
    """Return the LOINC property of a code in the table (MCnc, SCnc, NCnc, …)."""
    return _table().properties.get(loinc)


def parameters() -> tuple[Parameter, ...]:
    """Every parameter, once."""
    return tuple({parameter.key: parameter for parameter in _table().by_name.values()}.values())


def sex_of(code: object) -> Sex | None:
    """Return the sex of a FHIR (`female`), HL7v2 or C-CDA (`F`) code; None for any other."""
    if code in ("male", "M", "m"):
        return "male"
    return "female" if code in ("female", "F", "f") else None


def _fits(band: Band, age_years: float | None, sex: Sex | None) -> bool:
    return (age_years is None or band.age[0] <= age_years < band.age[1]) and (sex is None or band.sex in {None, sex})


def _widest(ranges: list[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _range(pair: list[float]) -> Range:
    return float(pair[0]), float(pair[1])


def _band(entry: Mapping[str, Any]) -> Band:
    possible = _range(entry["possible"]) if "possible" in entry else None
    return Band(_range(entry["age"]), entry.get("sex"), _range(entry["critical"]), _range(entry["usual"]), possible)


def _parameter(entry: Mapping[str, Any]) -> Parameter:
    bands = tuple(_band(band) for band in entry.get("bands", ()))
    special = tuple((unit, _range(line)) for unit, line in entry.get("special", {}).items())
    ranges = (_range(entry["possible"]), _range(entry["critical"]), _range(entry["usual"]))
    codes = tuple(code for group in entry["loinc"].values() for code in group)
    # A parameter without molar mass is an ion with one charge, or a sum of such ions.
    charge = entry.get("charge", None if "molar" in entry else 1)
    return Parameter(entry["key"], entry["name"], entry["unit"], codes, *ranges, entry.get("molar"), charge, special, bands, entry.get("only_unit", False))


@lru_cache(maxsize=1)
def _table() -> _Table:
    text = resources.files("touchstone.scorers.clinical.tables").joinpath("parameters.toml").read_text("utf-8")
    by_loinc, by_name, properties = {}, {}, {}
    for entry in tomllib.loads(text)["parameter"]:
        parameter = _parameter(entry)
        for kind, codes in entry["loinc"].items():
            by_loinc.update(dict.fromkeys(codes, parameter))
            properties.update(dict.fromkeys(codes, kind))
        by_name.update(dict.fromkeys(entry["names"], parameter))
    return _Table(by_loinc, by_name, properties)
