import pytest

from touchstone.scorers.reporting.words import beside_bound, counted, number, percent, percent_beside_bound, visible


@pytest.mark.parametrize(("ratio", "text"), [(0, "0%"), (0.0001, "1%"), (0.6, "60%"), (0.9999, "99%"), (1, "100%")])
def test_percentages_are_only_full_or_empty_where_exact(ratio: float, text: str) -> None:
    assert percent(ratio) == text


def test_one_is_singular() -> None:
    assert (counted(1, "case"), counted(0, "case"), counted(2, "case")) == ("1 case", "0 cases", "2 cases")


def test_what_a_terminal_would_act_upon_is_shown_as_escapes() -> None:
    assert visible("a\x1b[2J\u202e\nb \ud800") == "a\\x1b[2J\\u202e\\nb \\ud800"
    assert visible("naïve 痛") == "naïve 痛"


def test_what_a_case_does_not_have_is_a_dash_and_no_zero() -> None:
    assert (number(None), number(0.0), number(0.125, 3)) == ("–", "0.00", "0.125")


@pytest.mark.parametrize(
    ("ratio", "bound", "text"),
    [
        (10 / 18, 0.5, "56%"),
        (10 / 18, 0.56, "55.6%"),
        (0.5549, 0.554, "55.5%"),
        (0.55, 0.55, "55%"),
        (0.9999, 0.9, "99%"),
        (0.9999, 0.995, "99.99%"),
        (1, 1, "100%"),
        (0.07, 0.07, "7%"),
    ],
)
def test_a_percentage_beside_its_bound_is_on_the_right_side_of_it(ratio: float, bound: float, text: str) -> None:
    assert percent_beside_bound(ratio, bound) == text


@pytest.mark.parametrize(("value", "bound", "text"), [(0.4, 0.4, "0.4000"), (0.40004, 0.4, "0.40004"), (0.39, 0.4, "0.3900"), (0.1 + 0.2, 0.3, "0.3000")])
def test_a_value_beside_its_bound_is_on_the_right_side_of_it(value: float, bound: float, text: str) -> None:
    assert beside_bound(value, bound, 4) == text
