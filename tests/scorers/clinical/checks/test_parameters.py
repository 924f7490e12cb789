import tomllib
from importlib import resources

import pytest

from touchstone.scorers.clinical.checks.code_forms import loinc_problem
from touchstone.scorers.clinical.checks.parameters import Parameter, find_parameter, parameters, property_of, sex_of
from touchstone.scorers.clinical.checks.ucum_reader import conversion, is_valid_unit
from touchstone.scorers.clinical.checks.unit_checks import fits_property

ALL = parameters()
#: The specification's table (Priority 9), as names.
SPECIFIED = """heart rate, systolic blood pressure, diastolic blood pressure, respiratory rate, temperature, spo2, weight, height, bmi, blood glucose,
hba1c, creatinine, bun, egfr, sodium, potassium, chloride, bicarbonate, calcium, magnesium, phosphorus, hemoglobin, hematocrit, wbc, platelets,
alt, ast, alkaline phosphatase, bilirubin, albumin, total cholesterol, ldl, hdl, triglycerides, tsh, free t4, troponin, bnp, nt-probnp, pt, inr, aptt,
glucose, blood sugar, fasting glucose"""


@pytest.mark.parametrize("name", [" ".join(name.split()) for name in SPECIFIED.split(",")])
def test_every_parameter_of_the_specification_is_known_by_name(name: str) -> None:
    assert find_parameter(name=name) is not None


def test_there_are_more_than_forty_parameters() -> None:
    assert len(ALL) > 40


@pytest.mark.parametrize("parameter", ALL, ids=lambda parameter: parameter.key)
def test_a_parameter_s_ranges_lie_inside_each_other_and_its_unit_fits_its_codes(parameter: Parameter) -> None:
    assert is_valid_unit(parameter.unit)
    for critical, usual in [(parameter.critical, parameter.usual), *((band.critical, band.usual) for band in parameter.bands)]:
        assert parameter.possible[0] <= critical[0] <= usual[0] < usual[1] <= critical[1] <= parameter.possible[1]
    for band in parameter.bands:
        low, high = band.possible or parameter.possible
        assert parameter.possible[0] <= low <= band.critical[0] <= band.critical[1] <= high <= parameter.possible[1]
    for code in parameter.codes:
        assert loinc_problem(code) is None
        assert find_parameter(code) is parameter
        if property_of(code) != "SCnc" or parameter.molar is None:
            assert fits_property(parameter.unit, code)
    for band in parameter.bands:
        assert band.age[0] < band.age[1]


def test_no_code_and_no_name_stands_for_two_parameters() -> None:
    table = tomllib.loads(resources.files("touchstone.scorers.clinical.tables").joinpath("parameters.toml").read_text("utf-8"))["parameter"]
    codes = [code for entry in table for group in entry["loinc"].values() for code in group]
    names = [name for entry in table for name in entry["names"]]
    assert len(codes) == len(set(codes))
    assert len(names) == len(set(names))
    assert all(name == name.casefold() for name in names)


def test_a_molar_mass_stands_only_where_it_can_be_used() -> None:
    for parameter in ALL:
        if parameter.molar is not None:
            assert conversion("g/L", parameter.unit) or conversion("mol/L", parameter.unit)


def test_names_match_whole_and_a_code_silences_them() -> None:
    assert find_parameter(name="  Glucose ") is find_parameter("2345-7")
    assert find_parameter(name="Glucose, urine") is None
    assert find_parameter("9999-9", "Glucose") is None
    assert find_parameter() is None


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Body mass index (BMI)", "39156-5"),
        ("Blood Urea Nitrogen (BUN)", "3094-0"),
        ("Weight (kg)", "29463-7"),
        ("Cholesterol, Total", "2093-3"),
        ("PT/INR", "6301-6"),
        ("Hemoglobin A1c/Hemoglobin.total in Blood", "4548-4"),
    ],
)
def test_a_name_may_carry_its_abbreviation_or_unit(name: str, code: str) -> None:
    assert find_parameter(name=name) is find_parameter(code)


@pytest.mark.parametrize("name", ["Glucose (urine)", "Weight (birth weight)", "Glucose (sodium)", "Potassium (CSF)"])
def test_a_specimen_beside_a_name_is_no_abbreviation(name: str) -> None:
    assert find_parameter(name=name) is None


def test_what_is_possible_depends_on_the_age_where_it_is_known() -> None:
    weight = find_parameter("29463-7")
    assert weight is not None
    assert weight.possible_at(0.01)[1] < 20
    assert weight.possible_at(40)[0] > 2
    assert weight.possible_at(None) == weight.possible


def test_ages_and_sexes_choose_their_ranges() -> None:
    heart, hemoglobin = find_parameter("8867-4"), find_parameter("718-7")
    assert heart is not None
    assert hemoglobin is not None
    assert heart.ranges(0.01, None)[0] == (80, 220)
    assert heart.ranges(40, None)[0] == heart.critical
    assert heart.ranges(None, None)[0] == (40, 220)
    assert hemoglobin.ranges(30, "female")[1] != hemoglobin.ranges(30, "male")[1]
    assert hemoglobin.ranges(30, None)[1] == (7, 19.5)


@pytest.mark.parametrize(
    ("code", "sex"), [("female", "female"), ("F", "female"), ("male", "male"), ("M", "male"), ("other", None), ("U", None), (None, None), ([], None)]
)
def test_sexes_are_read_from_each_format(code: object, sex: str | None) -> None:
    assert sex_of(code) == sex
