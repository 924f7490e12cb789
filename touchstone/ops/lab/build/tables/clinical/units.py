"""The UCUM parser's answers for everyday units, so that a process whose documents have no others need not load it."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from typing import Any, Final

from touchstone.scorers.clinical.checks.ucum_reader import Unit, compute_conversion, parse_unit

#: Besides the texts of `units.toml` and `parameters.toml`: units that generators and laboratories write, and texts that are often taken for units.
_OTHERS: Final = """
1 % s min h d wk mo a ms m cm mm km g mg kg ug ng L dL mL uL l ml dl fL pg mol mmol U [IU] meq mosm kcal cal J W Hz Pa kPa {#} {T} {score} {nominal}
{ratio} {INR} {titer} {count} {beats}/min {breaths}/min {cells}/uL {copies}/mL {RBC}/uL {#}/[HPF] /[HPF] /[LPF] mL/min/{1.73_m2} mL/min/1.73.m2
mL/min/1.73m2 mL/kg mL/kg/h mg/kg/d ug/kg/min ug/kg mmol/kg ug/mL{FEU} ng/mL{FEU} ug/min mg/h mg/d g/d mmol/d U/h L/min mL/min mL/h mg/dl g/dl mmol/l
umol/l mg/l g/l ug/l ug/dl ng/ml pg/ml U/l IU/L IU/mL mIU/L uIU/mL mOsm/kg mosm/kg{H2O} mm/hr /hpf /lpf mg/g{creat} ug/mg{creat} mg/mmol{creat}
10*3/mm3 10*6/mm3 /100{WBCs} [lb_av] [oz_av] [in_i] [ft_i] [degF] Cel
"""
#: Units that amounts of substance and mass are converted through.
_BETWEEN: Final = ("mol/L", "g/L")


def compile_units() -> str:
    """The table's file. Takes seconds: the parser answers every text and every pair."""
    texts, targets = _texts()
    units = {text: parse_unit(text) for text in sorted(texts)}
    conversions = {target: _sources(target, units) for target in sorted(targets) if units[target] is not None}
    lines = [f"  {json.dumps(text)}: {json.dumps(_row(unit))}" for text, unit in units.items()]
    pairs = [f"  {json.dumps(target)}: {json.dumps(sources)}" for target, sources in conversions.items()]
    return '{\n"units": {\n' + ",\n".join(lines) + '\n},\n"conversions": {\n' + ",\n".join(pairs) + "\n}\n}\n"


def _texts() -> tuple[set[str], set[str]]:
    """Every text of the table, and those that others are converted into."""
    tables = resources.files("touchstone.scorers.clinical.tables")
    units, parameters = (tomllib.loads(tables.joinpath(name).read_text("utf-8")) for name in ("units.toml", "parameters.toml"))
    targets = {parameter["unit"] for parameter in parameters["parameter"]} | set(_BETWEEN)
    texts = targets | set(_OTHERS.split()) | set(units["spelled"]["units"])
    texts.update(special for parameter in parameters["parameter"] for special in parameter.get("special", {}))
    texts.update(text for name in ("corrections", "misread") for pair in units[name].items() for text in pair)
    texts.update(text for examples in units["properties"].values() for text in examples)
    return texts, targets


def _row(unit: Unit | None) -> list[Any] | None:
    return None if unit is None else [unit.dimension, sorted(unit.atoms), sorted(unit.prefixes)]


def _sources(target: str, units: dict[str, Unit | None]) -> dict[str, tuple[float, float]]:
    return {source: line for source, unit in units.items() if unit is not None and (line := compute_conversion(source, target)) is not None}
