import json
import os
import subprocess
import sys
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touchstone.scorers.clinical.checks.ucum_reader import compute_conversion, conversion, is_valid_unit, parse_unit, read_unit

TABLE = resources.files("touchstone.scorers.clinical.tables").joinpath("units_read.json")
COUNT_PER_VOLUME = (("length", -3.0),)


@pytest.mark.parametrize(
    "unit",
    [
        "mg/dL",
        "mg/dl",
        "meq/L",
        "meq/l",
        "10*3/uL",
        "10^9/L",
        "mm[Hg]",
        "Cel",
        "[degF]",
        "{INR}",
        "mL/min/{1.73_m2}",
        "%",
        "/min",
        "1",
        "[pH]",
        "g.m/s2",
        "K/uL",
        "ug/(24.h)",
    ],
)
def test_valid_ucum_is_read(unit: str) -> None:
    assert is_valid_unit(unit)


@pytest.mark.parametrize(
    "unit", ["mEq/L", "mmHg", "bpm", "°C", "inches", "IU/L", "10+3/uL", "mg dL", "mg/", "", "((m", "m{", "{a b}", "m{µ}", "mg\x00", "x10E3/uL", "kg/m^2", "5,5"]
)
def test_what_is_not_ucum_is_not_read(unit: str) -> None:
    assert not is_valid_unit(unit)


def test_every_published_example_of_ucum_is_read_but_one_that_is_none() -> None:
    spec = find_spec("ucumvert")
    assert spec is not None
    assert spec.origin is not None
    lines = (Path(spec.origin).parent / "vendor" / "ucum_examples.tsv").read_text("utf-8").splitlines()
    examples = [line.split("\t")[1] for line in lines[1:] if line]
    assert len(examples) > 800
    # The list holds Torr, which is no atom of UCUM's.
    assert [example for example in examples if not is_valid_unit(example)] == ["Torr"]


def test_dimensions_are_worked_out_and_special_units_have_none() -> None:
    def dimension(unit: str) -> object:
        read = read_unit(unit)
        assert read is not None
        return read.dimension

    assert dimension("10*3/uL") == COUNT_PER_VOLUME
    assert dimension("{cells}/uL") == COUNT_PER_VOLUME
    assert dimension("K/uL") == (*COUNT_PER_VOLUME, ("temperature", 1.0))
    assert dimension("mg%") == dimension("mg/dL")
    assert dimension("[pH]") is None
    assert dimension("10*99") is None


@pytest.mark.parametrize(
    ("source", "target", "number", "expected"),
    [
        ("mg/dL", "g/L", 90, 0.9),
        ("[degF]", "Cel", 98.6, 37.0),
        ("Cel", "[degF]", 37, 98.6),
        ("/uL", "10*3/uL", 250_000, 250),
        ("10*9/L", "10*3/uL", 7, 7),
        ("kPa", "mm[Hg]", 16, 120.0099),
        ("meq/L", "mmol/L", 140, 140),
        ("[lb_av]", "kg", 150, 68.0389),
        ("mmol/mol", "%", 48, 4.8),
        ("{beats}/min", "/min", 72, 72),
    ],
)
def test_numbers_convert_between_units(source: str, target: str, number: float, expected: float) -> None:
    line = conversion(source, target)
    assert line is not None
    assert number * line[0] + line[1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("source", "target"), [("mg/dL", "mmol/L"), ("mg", "mL"), ("[pH]", "1"), ("nix", "m"), ("m", "nix"), ("K/uL", "10*3/uL")])
def test_units_that_do_not_convert_have_no_line(source: str, target: str) -> None:
    assert conversion(source, target) is None


@given(st.text(max_size=200) | st.text("mgdLlu/.*^()[]{}0123456789+-%'_KEqHP", max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_text_is_too_much_for_the_reader(text: str) -> None:
    read = read_unit(text)
    if read is not None:
        conversion(text, text)


@pytest.mark.parametrize(
    "text", ["(" * 120 + "m", "m" * 10_000_000, ".".join(["mg"] * 42), "m1" * 60, "10*" * 40, "9" * 128, "10*999999999", "m-999999999", "{" * 128, "(m/s)" * 25]
)
def test_hostile_units_are_answered_at_once(text: str) -> None:
    read = read_unit(text)
    assert read is None or read.dimension is None or len(text) <= 128
    conversion(text, "m")


def test_the_reader_is_loaded_by_the_first_unit_not_by_import() -> None:
    modules = "touchstone.scorers.clinical.checks.unit_checks, touchstone.scorers.clinical.checks.plausibility, touchstone.scorers.clinical.checks.terminology"
    program = f"import sys, {modules}; print(sorted({{'pint', 'lark', 'ucumvert'}} & set(sys.modules)))"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert ran.stdout.strip() == "[]"


def test_the_table_of_everyday_units_answers_as_the_parser_does() -> None:
    stored = json.loads(TABLE.read_text("utf-8"))
    assert len(stored["units"]) > 400
    for text in stored["units"]:
        assert read_unit(text) == parse_unit(text), text
    pairs = [(source, target) for target in stored["conversions"] for source in stored["units"]]
    # All of them take half a minute of a processor; a stride that no list's length divides meets every unit and every target.
    for source, target in pairs[::53]:
        assert conversion(source, target) == compute_conversion(source, target), (source, target)


def test_everyday_units_need_no_parser() -> None:
    code = (
        "import sys; from touchstone.scorers.clinical.checks.ucum_reader import conversion, read_unit;"
        "assert read_unit('mg/dL') and read_unit('mEq/L') is None and conversion('[lb_av]', 'kg') and conversion('kg', 'cm') is None;"
        "sys.exit(any(name in sys.modules for name in ('pint', 'lark', 'ucumvert')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=300).returncode == 0
