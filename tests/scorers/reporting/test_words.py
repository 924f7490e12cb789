import pytest

from touchstone.scorers.reporting.words import counted, number, percent, visible


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
