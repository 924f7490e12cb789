from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.scorers.clinical.checks import plausibility
from touchstone.scorers.clinical.checks.parameters import parameters
from touchstone.scorers.clinical.report import Context

CONTEXT = Context()


def told(value: object, **about: Any) -> list[tuple[str, str]]:
    return [(finding.severity, finding.code) for finding in plausibility.judge_value(value, "p", CONTEXT, **about).findings]


@pytest.mark.parametrize(
    ("value", "unit", "loinc", "severity"),
    [
        (72, "/min", "8867-4", None),
        (350, "/min", "8867-4", "critical"),
        (10, "/min", "8867-4", "critical"),
        (5.5, "mmol/L", "15074-8", None),
        (36.1, "mmol/L", "15074-8", "major"),
        (36.1, "mmol/L", "2345-7", "major"),
        (650, "mg/dL", "2345-7", "major"),
        (450, "mg/dL", "2345-7", "minor"),
        (5.5, "mg/dL", "2345-7", "major"),
        (98.6, "[degF]", "8310-5", None),
        (98.6, "Cel", "8310-5", "critical"),
        (37, "F", "8310-5", "critical"),
        (7, "K/uL", "6690-2", None),
        (7000, "K/uL", "6690-2", "critical"),
        (7, "10*9/L", "6690-2", None),
        (80, "umol/L", "14682-9", None),
        (80, "umol/L", "2160-0", None),
        (80, "mg/dL", "2160-0", "critical"),
        (48, "mmol/mol", "4548-4", None),
        (48, "mmol/mol", "59261-8", None),
        (8, "mmol/mol", "4548-4", "major"),
        (4.8, "mg/dL", "1994-3", None),
        (48, "mg/dL", "1994-3", "critical"),
        (48, "%", "4548-4", "critical"),
        (0.45, "1", "4544-3", None),
        (140, "meq/L", "2951-2", None),
        (140, "mEq/L", "2951-2", None),
        (7.4, None, "2744-1", None),
        (6.0, "[pH]", "2744-1", "critical"),
        (6.0, "pH", "2744-1", "critical"),
        (2.5, "{INR}", "6301-6", None),
        (12, "1", "6301-6", "major"),
        (180, "[lb_av]", "29463-7", None),
        (1.8, "m", "8302-2", None),
        (180, "m", "8302-2", "critical"),
        (16, "kPa", "8480-6", None),
        (101, "%", "59408-5", "critical"),
        (100, "%", "59408-5", None),
        (80, "IU/L", "6768-6", None),
        (80, "[IU]/L", "1742-6", None),
        (40_000, "IU/L", "1742-6", "critical"),
        (2.5, "mU/L", "3016-3", None),
        (300, "uU/mL", "3016-3", "major"),
        (350, None, "8867-4", "critical"),
        (22, None, "39156-5", None),
        (5.2, "%", "41995-2", None),
        (600, "umol/L", "54347-0", None),
        (7.5, "thou/mcL", "6690-2", None),
        ("120", "mm[Hg]", "8480-6", None),
        (1e400, "/min", "8867-4", "critical"),
        ("-1e400", "/min", "8867-4", "critical"),
        (10**400, "/min", "8867-4", "critical"),
    ],
)
def test_values_are_judged_in_their_parameter_s_unit(value: object, unit: str | None, loinc: str, severity: str | None) -> None:
    assert [weight for weight, _ in told(value, unit=unit, loinc=loinc)] == ([] if severity is None else [severity])


@pytest.mark.parametrize(
    ("value", "unit", "loinc", "expected"),
    [
        (4.8, "meq/L", "2000-8", []),
        (4.8, "mEq/L", "17861-6", []),
        (1.7, "meq/L", "2601-3", []),
        (2.4, "meq/L", "1994-3", []),
        (9, "meq/L", "2000-8", ["plausibility.critical"]),
        (140, "meq/L", "2951-2", []),
        (175, "meq/L", "2951-2", ["plausibility.critical"]),
    ],
)
def test_an_equivalent_is_a_mole_of_charges(value: float, unit: str, loinc: str, expected: list[str]) -> None:
    assert [code for _, code in told(value, unit=unit, loinc=loinc)] == expected


def test_equivalents_of_what_has_no_one_charge_are_not_judged() -> None:
    judged = plausibility.judge_value(9.0, "p", CONTEXT, unit="meq/L", loinc="14879-1")
    assert (judged.judged, judged.findings) == (False, ())


def test_a_parameter_may_be_known_by_name_alone() -> None:
    assert told(250, unit="K/uL", name="Platelets") == []
    assert told(250_000, unit="K/uL", name="Platelets") == [("critical", "plausibility.impossible")]


def test_ages_and_sexes_matter_where_they_are_known() -> None:
    heart = {"unit": "/min", "loinc": "8867-4"}
    assert told(160, **heart, age_years=0.1) == []
    assert told(160, **heart, age_years=40) == [("major", "plausibility.critical")]
    assert told(160, **heart) == []
    assert told(15, unit="kg", loinc="29463-7", age_years=2) == []
    assert told(15, unit="kg", loinc="29463-7", age_years=40) == [("major", "plausibility.critical")]
    assert told(70, unit="kg", loinc="29463-7", age_years=0.01) == [("critical", "plausibility.impossible")]
    assert told(3, unit="kg", loinc="29463-7", age_years=40) == [("critical", "plausibility.impossible")]
    assert told(170, unit="cm", loinc="8302-2", age_years=1.5) == [("critical", "plausibility.impossible")]
    assert told(18.5, unit="g/dL", loinc="718-7", age_years=30, sex="female") == [("minor", "plausibility.unusual")]
    assert told(18.5, unit="g/dL", loinc="718-7", age_years=30, sex="male") == []


@pytest.mark.parametrize(
    ("value", "comparator", "expected"),
    [(5, "<", []), (0.01, "<", [("critical", "plausibility.impossible")]), (600, ">", []), (9999, ">=", [("critical", "plausibility.impossible")])],
)
def test_a_comparator_says_where_the_value_is_not(value: float, comparator: str, expected: list[tuple[str, str]]) -> None:
    assert told(value, unit="mg/dL", loinc="2345-7", comparator=comparator) == expected


@pytest.mark.parametrize(
    ("value", "about", "reason"),
    [
        (5, {"loinc": "9999-9"}, "no ranges for this observation"),
        (5, {}, "no ranges for this observation"),
        ("high", {"loinc": "2345-7", "unit": "mg/dL"}, "the value is no number"),
        (True, {"loinc": "2345-7", "unit": "mg/dL"}, "the value is no number"),
        (float("nan"), {"loinc": "2345-7", "unit": "mg/dL"}, "the value is no number"),
        (5, {"loinc": "2345-7"}, "the unit is absent or does not convert"),
        (5, {"loinc": "2345-7", "unit": "kg"}, "the unit is absent or does not convert"),
        (5, {"loinc": "2345-7", "unit": "gibberish"}, "the unit is absent or does not convert"),
    ],
)
def test_what_cannot_be_judged_says_why(value: object, about: dict[str, Any], reason: str) -> None:
    judged = plausibility.judge_value(value, "p", CONTEXT, **about)
    assert (judged.findings, judged.judged, judged.reason) == ((), False, reason)


@pytest.mark.parametrize("parameter", parameters(), ids=lambda parameter: parameter.key)
def test_the_ends_of_a_range_belong_to_it(parameter: Any) -> None:
    low, high = parameter.ranges(None, None)[1]
    for value in (low, high):
        assert told(value, unit=parameter.unit, loinc=parameter.codes[0]) == []
    low, high = parameter.possible
    for value in (low - abs(low) * 0.01 - 0.1, high * 1.01 + 0.1):
        assert told(value, unit=parameter.unit, loinc=parameter.codes[0]) == [("critical", "plausibility.impossible")]


@pytest.mark.parametrize(
    ("systolic", "diastolic", "expected"),
    [
        (120, 80, []),
        (110, 120, ["major"]),
        (80, 80, ["major"]),
        (90, 80, ["minor"]),
        (230, 60, ["minor"]),
        (None, 80, []),
        ("120", "80", []),
        (1e400, 80, ["minor"]),
    ],
)
def test_systolic_must_exceed_diastolic(systolic: object, diastolic: object, expected: list[str]) -> None:
    assert [finding.severity for finding in plausibility.check_blood_pressure(systolic, diastolic, "p", CONTEXT)] == expected


@pytest.mark.parametrize(
    ("systolic", "diastolic", "expected"),
    [
        ((16, "kPa"), (10.7, "kPa"), []),
        ((16, "kPa"), (80, "mm[Hg]"), []),
        ((120, "mmHg"), (16.5, "kPa"), ["plausibility.blood-pressure"]),
        ((120, "kg"), (80, "mm[Hg]"), []),
    ],
)
def test_blood_pressures_are_compared_in_one_unit(systolic: tuple[float, str], diastolic: tuple[float, str], expected: list[str]) -> None:
    found = plausibility.check_blood_pressure(systolic[0], diastolic[0], "p", CONTEXT, systolic_unit=systolic[1], diastolic_unit=diastolic[1])
    assert [finding.code for finding in found] == expected


def test_a_reference_range_s_low_end_must_not_lie_above_its_high_end() -> None:
    def codes(low: object, high: object, **units: str) -> list[str]:
        return [finding.severity for finding in plausibility.check_reference_range(low, high, "p", CONTEXT, **units)]

    assert codes(3.5, 5.1) == []
    assert codes(4, 4) == []
    assert codes(5.1, 3.5) == ["major"]
    assert codes(900, 1, low_unit="mg/dL", high_unit="g/dL") == []
    assert codes(1100, 1, low_unit="mg/dL", high_unit="g/dL") == ["major"]
    assert codes(1100, 1, low_unit="mg/dL", high_unit="kg") == []
    assert codes(None, 1) == []


@given(
    st.floats(allow_nan=True, allow_infinity=True) | st.integers() | st.text(max_size=20),
    st.sampled_from([code for parameter in parameters() for code in parameter.codes]),
    st.sampled_from(["mg/dL", "mmol/L", "K/uL", "%", "", "x", "/min", "Cel"]),
)
def test_a_message_holds_the_value_only_where_it_may(value: object, loinc: str, unit: str) -> None:
    quiet = plausibility.judge_value(value, "p", CONTEXT, unit=unit, loinc=loinc).findings
    loud = plausibility.judge_value(value, "p", Context(quote=True), unit=unit, loinc=loinc).findings
    assert [finding.code for finding in quiet] == [finding.code for finding in loud]
    assert all(said.message.startswith(f"{kept.message}: ") for kept, said in zip(quiet, loud, strict=True))


def test_a_range_that_holds_for_an_age_alone_says_so() -> None:
    (finding,) = plausibility.judge_value(70, "p", CONTEXT, unit="kg", loinc="29463-7", age_years=0.01).findings

    assert finding.message == "Body weight value is outside physiologically possible range (0.2-14 kg) at this age"
