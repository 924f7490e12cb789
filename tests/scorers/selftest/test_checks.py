from typing import Any

import pytest

from tests.scorers.selftest.test_rubric import settings
from touchstone.scorers.selftest.checks import check, check_format_score, count_questions
from touchstone.scorers.selftest.system_settings import AWAITING, COMPLETE


def codes(prompt: str, output: str, status: str = COMPLETE, **fields: Any) -> list[str]:
    return [finding.code for finding in check(settings(**fields), prompt, output, status)]


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("No.", 0), ("Which one?", 1), ("Really?? Why?!", 2), ("1. A?\n2. B?\n", 2), ("See `a?b` and https://x.y/?q=1 there.", 0),
     ("(Flat or nested?)", 1),
     ("“Why?” and **how?**", 2)],
)  # fmt: skip
def test_questions_are_counted(text: str, count: int) -> None:
    assert count_questions(text) == count


def test_more_questions_than_allowed_are_a_finding() -> None:
    assert codes("p", "A? B? C?", AWAITING, max_questions_allowed=2) == ["too_many_questions"]
    assert codes("p", "A? B?", AWAITING, max_questions_allowed=2) == []


def test_questions_in_a_complete_answer_are_not_counted() -> None:
    assert codes("p", "A? B? C?", COMPLETE, max_questions_allowed=0) == []


def test_a_system_that_waits_without_asking_is_a_finding() -> None:
    assert codes("p", "I need more.", AWAITING) == ["no_question"]


@pytest.mark.parametrize("prompt", ["Summarise it in 3 lines.", "Give me a 3-line summary.", "In exactly three short lines, please."])
def test_a_number_of_lines_that_was_asked_for_is_checked(prompt: str) -> None:
    assert codes(prompt, "a\nb\n\nc\n") == []
    assert codes(prompt, "a\nb\nc\nd\ne") == ["format_deviation"]


def test_a_small_deviation_is_a_finding_only_where_none_is_allowed() -> None:
    assert codes("in 3 lines", "a\nb", allow_minor_format_deviation=True) == []
    assert codes("in 3 lines", "a\nb", allow_minor_format_deviation=False) == ["format_deviation"]


def test_bullets_and_sentences_are_counted_as_such() -> None:
    assert codes("in two bullet points", "Here:\n- a\n- b") == []
    assert codes("in two bullet points", "a\nb\nc") == ["format_deviation"]
    assert codes("in 2 sentences", "One. Two.") == []
    assert codes("in 2 sentences", "One. Two. Three. Four.") == ["format_deviation"]


def test_at_most_allows_fewer() -> None:
    assert codes("in at most five bullets", "- a\n- b") == []
    assert codes("in at most two bullets", "- a\n- b\n- c\n- d") == ["format_deviation"]


def test_a_judge_s_format_score_below_one_is_a_finding_where_no_deviation_is_allowed() -> None:
    assert check_format_score(settings(), 0.7) == ()
    assert [one.code for one in check_format_score(settings(allow_minor_format_deviation=False), 0.7)] == ["format_deviation"]
    assert check_format_score(settings(allow_minor_format_deviation=False), 1.0) == ()
