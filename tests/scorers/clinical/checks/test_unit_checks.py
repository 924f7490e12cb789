import tomllib
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touchstone.scorers.clinical.checks import unit_checks
from touchstone.scorers.clinical.checks.ucum_reader import conversion, is_valid_unit
from touchstone.scorers.clinical.report import Context

CONTEXT = Context()
TABLE = tomllib.loads(resources.files("touchstone.scorers.clinical.tables").joinpath("units.toml").read_text("utf-8"))
LEUKOCYTES, TEMPERATURE, GLUCOSE_MASS, GLUCOSE_MOLES = "6690-2", "8310-5", "2345-7", "15074-8"


def told(found: list) -> list[tuple[str, str, str | None]]:
    return [(finding.severity, finding.code, finding.suggestion) for finding in found]


@pytest.mark.parametrize(("wrong", "right"), TABLE["corrections"].items())
def test_every_correction_leads_from_invalid_to_valid_ucum(wrong: str, right: str) -> None:
    assert not is_valid_unit(wrong)
    assert is_valid_unit(right)
    assert unit_checks.normalize_ucum_unit(wrong) == right


@pytest.mark.parametrize(("unit", "meant"), TABLE["misread"].items())
def test_a_misread_unit_and_what_it_was_meant_for_are_both_valid(unit: str, meant: str) -> None:
    assert is_valid_unit(unit)
    assert is_valid_unit(meant)
    assert unit_checks.normalize_ucum_unit(unit) in {unit, unit.replace("l", "L")}


@pytest.mark.parametrize("unit", [*TABLE["spelled"]["units"], *(unit for units in TABLE["properties"].values() for unit in units)])
def test_every_unit_of_the_tables_is_valid(unit: str) -> None:
    assert is_valid_unit(unit)


@pytest.mark.parametrize(
    ("unit", "severity", "suggestion"),
    [
        ("mg/dl", "minor", "Use 'mg/dL'"),
        ("mmol/l", "minor", "Use 'mmol/L'"),
        ("meq/l", "minor", "Use 'meq/L'"),
        ("mEq/L", "major", "Use 'meq/L' instead of 'mEq/L'"),
        ("mmHg", "major", "Use 'mm[Hg]' instead of 'mmHg'"),
        ("bpm", "major", "Use '/min' instead of 'bpm'"),
        ("°C", "major", "Use 'Cel' instead of '°C'"),
        ("inches", "major", "Use '[in_i]' instead of 'inches'"),
        ("pounds", "major", "Use '[lb_av]' instead of 'pounds'"),
        ("hours", "major", "Use 'h' instead of 'hours'"),
        ("MG/DL", "major", "Use 'mg/dL' instead (UCUM is case-sensitive)"),
        ("mm Hg ", "major", "Use 'mm[Hg]' instead"),
        ("gibberish", "major", "Write the unit in UCUM"),
        ("lbs.", "major", "Use '[lb_av]' instead"),
        ("10*3/mcL", "major", "Use '10*3/uL' instead of '10*3/mcL'"),
        ("Thousand/mcL", "major", "Use '10*3/uL' instead"),
        ("x10³/µL", "major", "Use '10*3/uL' instead"),
        ("F", "minor", "Use '[degF]' if that is what 'F' was meant for"),
    ],
)
def test_the_specified_and_corrected_suggestions(unit: str, severity: str, suggestion: str) -> None:
    ((weight, _, advice),) = told(unit_checks.check_unit(unit, "p", CONTEXT))
    assert (weight, advice) == (severity, suggestion)


@pytest.mark.parametrize("unit", ["mg/dL", "meq/L", "10*3/uL", "mm[Hg]", "Cel", "{INR}", "{score}", "/[HPF]", "ug/kg/min", "[IU]/L", "kg/m2", "", None])
def test_everyday_units_and_absent_ones_pass(unit: str | None) -> None:
    assert unit_checks.check_unit(unit, "p", CONTEXT) == []


def test_a_unit_of_the_wrong_dimension_for_its_code_is_major() -> None:
    assert told(unit_checks.check_unit("K/uL", "p", CONTEXT, loinc=LEUKOCYTES)) == [("major", "units.dimension", "Use '10*3/uL' instead of 'K/uL'")]
    assert told(unit_checks.check_unit("F", "p", CONTEXT, loinc=TEMPERATURE)) == [("major", "units.dimension", "Use '[degF]' instead of 'F'")]
    assert told(unit_checks.check_unit("mmol/L", "p", CONTEXT, loinc=GLUCOSE_MASS)) == [("major", "units.dimension", None)]
    assert unit_checks.check_unit("mmol/L", "p", CONTEXT, loinc=GLUCOSE_MOLES) == []
    assert unit_checks.check_unit("{cells}/uL", "p", CONTEXT, loinc=LEUKOCYTES) == []


@pytest.mark.parametrize(
    ("unit", "loinc"),
    [
        ("U/L", "1742-6"),
        ("[IU]/L", "1742-6"),
        ("ukat/L", "1742-6"),
        ("mmol/mol", "59261-8"),
        ("%", "4548-4"),
        ("1", "4544-3"),
        ("[pH]", "2744-1"),
        ("mL/min/{1.73_m2}", "33914-3"),
        ("mL/min", "33914-3"),
        ("meq/L", "2951-2"),
        ("u[IU]/mL", "3016-3"),
        ("{INR}", "6301-6"),
        ("kPa", "8480-6"),
        ("[in_i]", "8302-2"),
    ],
)
def test_units_that_fit_their_code_pass(unit: str, loinc: str) -> None:
    assert unit_checks.check_unit(unit, "p", CONTEXT, loinc=loinc) == []


def test_valid_units_that_nobody_uses_are_worth_a_second_look() -> None:
    assert [finding.code for finding in unit_checks.check_unit("[fur_us]", "p", CONTEXT)] == ["units.uncommon"]
    assert told(unit_checks.check_unit("K/uL", "p", CONTEXT)) == [("minor", "units.uncommon", "Use '10*3/uL' if that is what 'K/uL' was meant for")]


def test_a_unit_of_another_coding_system_is_only_minor() -> None:
    assert [(f.severity, f.code) for f in unit_checks.check_unit("mmHg", "p", CONTEXT, system="L")] == [("minor", "units.other-system")]
    assert [f.severity for f in unit_checks.check_unit("mmHg", "p", CONTEXT, system="UCUM")] == ["major"]


def test_a_quantity_is_judged_by_its_code_where_it_has_one() -> None:
    assert unit_checks.check_quantity_unit("q", CONTEXT, unit="beats per minute", code="/min", system=unit_checks.UCUM_SYSTEM) == []
    assert [f.path for f in unit_checks.check_quantity_unit("q", CONTEXT, code="bpm", system=unit_checks.UCUM_SYSTEM)] == ["q.code"]
    assert [f.path for f in unit_checks.check_quantity_unit("q", CONTEXT, unit="bpm")] == ["q.unit"]
    assert unit_checks.check_quantity_unit("q", CONTEXT, code="258813002", system="http://snomed.info/sct") == []


def test_no_text_of_the_document_is_repeated() -> None:
    for unit in ("mg{John Doe}/dl", "John Doe", "MG/DL{John Doe}"):
        assert all("John" not in finding.model_dump_json() for finding in unit_checks.check_unit(unit, "p", CONTEXT))


def test_without_the_reader_only_known_faults_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_checks, "reader_installed", lambda: False)
    assert [f.severity for f in unit_checks.check_unit("mmHg", "p", CONTEXT)] == ["major"]
    assert unit_checks.check_unit("gibberish", "p", CONTEXT) == []


UNITS = st.sampled_from(
    [*TABLE["corrections"], *TABLE["corrections"].values(), *TABLE["misread"], *TABLE["spelled"]["units"], "l", "ml/dl", "g/l-1", "mol/l", "cal/l", "l.l"]
)


@given(
    UNITS | st.builds("/".join, st.lists(UNITS, min_size=1, max_size=3)) | st.text("mgdLlu/.KEqHPcaol%", max_size=12),
    st.sampled_from([None, LEUKOCYTES, TEMPERATURE, GLUCOSE_MASS, "0-0"]),
)
@settings(max_examples=300, deadline=None)
def test_normalising_never_makes_a_valid_unit_invalid(unit: str, loinc: str | None) -> None:
    normal = unit_checks.normalize_ucum_unit(unit, loinc)
    if is_valid_unit(unit):
        assert is_valid_unit(normal)
        if loinc is None and normal != unit:
            assert conversion(unit, normal) == (1.0, 0.0)
    assert unit_checks.normalize_ucum_unit(normal, loinc) == normal
