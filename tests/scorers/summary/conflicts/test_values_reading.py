from __future__ import annotations

import pytest

from touchstone.scorers.summary.conflicts.values import Value, read, same
from touchstone.scorers.summary.conflicts.values.dates import When


def values(text: str) -> list[Value]:
    return read(text)[1]


def only(text: str) -> Value:
    (value,) = values(text)
    return value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,800 people", 1800),
        ("eighteen hundred people", 1800),
        ("1.8 thousand people", 1800),
        ("1 800 people", 1800),
        ("1'800 people", 1800),
        ("12,34,567 people", 1_234_567),
        ("1.234.567 people", 1_234_567),
        ("two hundred and five beds", 205),
        ("twenty-one patients", 21),
        ("three million four hundred thousand and twelve coins", 3_400_012),
        ("half a million people", 500_000),
        ("a quarter of a million people", 250_000),
        ("a dozen eggs", 12),
        ("half a dozen eggs", 6),
        ("two dozen eggs", 24),
        ("a hundred eggs", 100),
        ("one and a half million birds", 1_500_000),
        ("five point two points", 5.2),
        ("a couple of eggs", 2),
        ("\u0661\u0662 eggs", 12),
    ],
)
def test_numbers_in_any_form_have_their_value(text: str, expected: float) -> None:
    assert expected in [amount for dimension, amount in only(text).readings if dimension == "number"]


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("0.5 g", "mass", 0.5),
        ("500 mg", "mass", 0.5),
        ("500mg", "mass", 0.5),
        ("half a gram", "mass", 0.5),
        ("500,000 micrograms", "mass", 0.5),
        ("3.6 mmol/L", "amount/volume", 3.6),
        ("38.9 °C", "temperature", 38.9),
        ("100.4 °F", "temperature", 38.0),
        ("5 ml", "volume", 0.005),
        ("12 square kilometres", "area", 12e6),
        ("36 km/h", "speed", 10.0),
        ("35 %", "ratio", 0.35),
        ("35 per cent", "ratio", 0.35),
        ("one in five", "ratio", 0.2),
        ("nine out of ten", "ratio", 0.9),
        ("eleven in every hundred", "ratio", 0.11),
        ("two-thirds", "ratio", 2 / 3),
        ("six weeks", "duration", 42 * 86400),
        ("2 h 4 min", "duration", 7440),
        ("two and a half hours", "duration", 9000),
        ("three quarters of an hour", "duration", 2700),
        ("twice daily", "frequency", 2),
        ("2 times a day", "frequency", 2),
        ("every 12 hours", "frequency", 2),
        ("q12h", "frequency", 2),
        ("three times a week", "frequency", 3 / 7),
        ("every other day", "frequency", 0.5),
        ("$1.2 million", "money:dollar", 1.2e6),
        ("1,200,000 dollars", "money:dollar", 1.2e6),
        ("$1.2m", "money:dollar", 1.2e6),
        ("£250k", "money:pound", 250e3),
        ("40 euros", "money:euro", 40),
        ("a 71-year-old", "age", 71),
        ("aged 71", "age", 71),
        ("seventy-one years old", "age", 71),
        ("8 a.m.", "clock", 480),
        ("08:00", "clock", 480),
        ("half past eight p.m.", "clock", 1230),
    ],
)
def test_measured_values_are_read_in_one_unit(text: str, dimension: str, expected: float) -> None:
    assert any(name == dimension and amount == pytest.approx(expected) for name, amount in only(text).readings)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 March 2024", When((2024, 2024), frozenset({3}), 3)),
        ("March 3rd, 2024", When((2024, 2024), frozenset({3}), 3)),
        ("the third of March 2024", When((2024, 2024), frozenset({3}), 3)),
        ("2024-03-03", When((2024, 2024), frozenset({3}), 3)),
        ("03/03/2024", When((2024, 2024), frozenset({3}), 3)),
        ("3.3.2024", When((2024, 2024), frozenset({3}), 3)),
        ("in March", When(None, frozenset({3}))),
        ("in 2024", When((2024, 2024))),
        ("nineteen eighty-seven", When((1987, 1987))),
        ("the 1990s", When((1990, 1999))),
        ("the nineteenth century", When((1800, 1900))),
        ("on Tuesday", When(weekday=1)),
    ],
)
def test_dates_in_any_form_are_read(text: str, expected: When) -> None:
    assert only(text).whens == (expected,)


@pytest.mark.parametrize(
    "text",
    [
        "1. Switch it on.",
        "2) Switch it off.",
        "(3) Wait.",
        "As shown [3], it works.",
        "As shown [3, 4], it works.",
        "Figure 2 shows it.",
        "Step 5: wait.",
        "vitamin B12",
        "open 24/7",
        "hundreds of people",
    ],
)
def test_list_numbers_references_and_codes_are_no_values(text: str) -> None:
    assert values(text) == []


def test_the_words_may_and_march_are_not_always_months() -> None:
    assert values("They may march through the town.") == []


def test_both_numbers_of_a_range_have_its_unit() -> None:
    assert [value.readings[0] for value in values("5 to 10 mg")] == [("mass", 0.005), ("mass", 0.01)]


def test_a_blood_pressure_is_two_values() -> None:
    assert [value.readings[0] for value in values("BP 125 over 84")] == [("systolic", 125.0), ("diastolic", 84.0)]


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        ("10 mg", "100 mg", False),
        ("10 mg", "10 mcg", False),
        ("about 1,800 people", "1,793 people", True),
        ("about 1,800 people", "2,100 people", False),
        ("more than 1,700 people", "1,793 people", True),
        ("more than 1,900 people", "1,793 people", False),
        ("nearly 2,000 people", "1,793 people", True),
        ("1,800 people", "1,793 people", True),
        ("1,790 people", "1,712 people", False),
        ("two months", "60 days", True),
        ("two months", "two weeks", False),
        ("half", "50%", True),
        ("about a third", "34%", True),
        ("a third", "43%", False),
        ("12%", "11.8%", True),
        ("7 days", "5 to 10 days", True),
        ("$40", "€40", False),
        ("in the 1960s", "in 1966", True),
        ("in March", "on 3 March 2024", True),
        ("on 4/5/2024", "on 5 April 2024", True),
        ("on 4 May", "on 4 June", False),
        ("at 8 o'clock", "at 20:00", True),
        ("at 8 a.m.", "at 8 p.m.", False),
    ],
)
def test_values_are_the_same_by_what_they_mean(here: str, there: str, expected: bool) -> None:
    assert any(same(mine, its) for mine in values(here) for its in values(there)) is expected


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Ridership grew from 185 to 246 million.", 185_000_000),
        ("It costs between 2 and 3 billion euros.", 2_000_000_000),
        ("Losses widened from $48 to $67 million.", 48_000_000),
        ("They sold 40-50 thousand.", 40_000),
        ("It grew from 950 to 1.2 million.", 950),
        ("It grew from 1,850 to 3 million.", 1_850),
        ("It grew from 20 thousand to 3 million.", 20_000),
        ("They moved from 3 towns to 2 million acres.", 3),
    ],
)
def test_the_scale_behind_a_range_is_meant_for_both_ends(text: str, first: float) -> None:
    assert values(text)[0].readings[0][1] == first
