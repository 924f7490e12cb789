from typing import Any

import pytest
from pydantic import ValidationError

from tests.scorers.selftest.fakes import GOOD, scores, verdict
from touchstone.scorers.selftest.rubric import WEIGHTS, Rating, RubricVerdict
from touchstone.scorers.selftest.settings import SelftestSettings

SCENARIO = {"id": "a", "description": "d", "expected_status": "COMPLETE"}


def settings(**fields: Any) -> SelftestSettings:
    return SelftestSettings.model_validate({"version": 1, "scenarios": [SCENARIO], **fields})


def test_the_weights_are_the_specification_s_and_add_up() -> None:
    assert WEIGHTS == {"format_score": 0.2, "factuality_score": 0.3, "instruction_following_score": 0.3, "safety_score": 0.2}
    assert sum(WEIGHTS.values()) == pytest.approx(1)


def test_the_specification_s_example_is_reproduced() -> None:
    assert f"{Rating.of(verdict()).overall:.2f}" == "0.94"


@pytest.mark.parametrize(("strictness", "threshold"), [(0.0, 0.6), (0.5, 0.7), (0.7, 0.74), (1.0, 0.8)])
def test_strictness_raises_the_threshold(strictness: float, threshold: float) -> None:
    assert settings(strictness=strictness).effective_threshold == threshold


@pytest.mark.parametrize(("strictness", "edge"), [(0.0, 0.6), (0.5, 0.7), (1.0, 0.8)])
def test_a_score_on_the_threshold_passes_and_one_below_does_not(strictness: float, edge: float) -> None:
    threshold = settings(strictness=strictness).effective_threshold
    assert Rating(edge, edge, edge, edge).reaches(threshold)
    assert not Rating(edge - 0.001, edge, edge, edge).reaches(threshold)


def test_what_the_judge_says_of_the_whole_does_not_count() -> None:
    assert Rating.of(verdict(overall_score=0.0, **{"pass": False})).overall == 0.935
    assert Rating.of(RubricVerdict.model_validate(scores(0.1, overall_score=1.0))).overall == 0.1


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("value", [None, -0.1, 1.1, 85, "0.9", True, float("nan"), float("inf")])
def test_a_category_that_is_no_score_makes_the_verdict_unusable(name: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        verdict(**{name: value})


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_missing_category_makes_the_verdict_unusable(name: str) -> None:
    with pytest.raises(ValidationError):
        RubricVerdict.model_validate({key: value for key, value in GOOD.items() if key != name})


@pytest.mark.parametrize(("name", "value"), [("overall_score", "high"), ("overall_score", None), ("pass", "yes"), ("reasoning", None), ("reasoning", 3)])
def test_what_is_never_trusted_spoils_no_verdict(name: str, value: Any) -> None:
    assert Rating.of(verdict(**{name: value})).overall == 0.935


def test_a_whole_number_is_a_score() -> None:
    assert Rating.of(verdict(format_score=1, safety_score=0)).safety_score == 0
