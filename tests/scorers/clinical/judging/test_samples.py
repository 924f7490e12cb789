import asyncio
from typing import Any

import pytest

from touchstone.schemas.case import validate_case
from touchstone.schemas.judging import JudgeRequest
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.clinical import samples as of_validators
from touchstone.scorers.clinical.judging import SUITE
from touchstone.scorers.clinical.judging.samples import REQUESTS, made, requests, samples, unexpected
from touchstone.scorers.registry import missing_libraries

RENEW = f"renew {REQUESTS.name} with: python -m touchstone.scorers.clinical.judging.samples"


def shown(request: Any) -> Any:
    """What a judge is shown, and the verdict of the validators; their numbers change with every rule."""
    validated = {name: request["validated"].get(name) for name in ("label", "label_max", "valid")}
    return {**request, "validated": validated}


def test_the_requests_are_those_that_the_validators_make_of_their_samples() -> None:
    if (reason := missing_libraries(of_validators.samples().requires)) is not None:
        pytest.skip(reason)
    assert [shown(request) for request in requests()] == [shown(request) for request in made()], RENEW


def test_nobody_is_asked_about_a_sample_whatever_key_the_environment_holds() -> None:
    settings: Any = SUITE.resolve({"OPENAI_API_KEY": "sk-of-the-user", **samples().env}, None)
    assert not settings.judge.is_usable


def results() -> list[ScoreResult]:
    from touchstone import ascore
    from touchstone.scorers.scoring import Scoring

    async def score() -> list[ScoreResult]:
        scoring = Scoring(SUITE, SUITE.resolve(dict(samples().env), None))
        return [await ascore(scoring, request) for request in requests()]

    return asyncio.run(score())


def test_a_sample_has_the_validators_scores_and_label() -> None:
    scored = results()
    assert unexpected(scored) == []
    assert {result.components_missing for result in scored} == {("clinical",)}


def test_what_differs_from_the_request_is_told() -> None:
    first, *others = results()
    wrong = first.model_copy(update={"label": "Fail", "values": first.values | {"format": 1.0}})
    assert unexpected([wrong, *others[1:]]) == [
        "sample-asthma: not the validators' format",
        "sample-asthma: labelled Fail, expected Pass",
        "sample-diabetes: no result",
    ]


def test_the_requests_are_requests() -> None:
    assert [validate_case(JudgeRequest, request).trace_id for request in requests()] == [request["trace_id"] for request in requests()]
