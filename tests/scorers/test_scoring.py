import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.streams.fakes import StepScorer, safe_event
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import FileRef, Scorecard, ScoreResult
from touchstone.scorers.base import NoSettings
from touchstone.scorers.scoring import Scoring, trimmed
from touchstone.scorers.suite import Suite

SUITE = Suite("step", "1", ("generations",), {"safe": SafeCase}, lambda *_: NoSettings(), lambda _: StepScorer())
PLACE = FileRef(file="a.json")


async def result(returned: Any = None) -> ScoreResult:
    async def score(_: SafeCase) -> Any:
        return returned or Scorecard(label="Pass", values={"CR": 1.0})

    return await Scoring(SUITE, NoSettings(), scorer=StepScorer(score)).result(SafeCase.model_validate(safe_event("e1")), "e1", PLACE)


async def test_a_result_is_a_valid_one_although_it_was_not_validated() -> None:
    made = await result()
    assert ScoreResult.model_validate_json(made.model_dump_json()) == made
    assert list(made.__dict__) == list(ScoreResult.model_fields)


async def test_a_case_whose_name_raises_has_a_failed_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def case_id(_: SafeCase) -> str:
        raise IndexError

    monkeypatch.setattr(SafeCase, "case_id", property(case_id))
    made = await result()
    assert (made.case_id, made.label, made.failures[0].code) == (None, "unscored", "case_id_IndexError")


async def test_what_is_no_scorecard_is_a_failed_result() -> None:
    made = await result({"label": "Pass"})
    assert (made.case_id, made.label, made.failures[0].code) == ("T-1", "unscored", "scorecard_TypeError")


async def test_a_scorecard_with_fields_of_its_own_gives_a_result_without_them() -> None:
    class Wider(Scorecard):
        certainty: float = 0.5

    made = await result(Wider(label="Pass", values={"CR": 0.25}))
    assert (made.values, hasattr(made, "certainty")) == ({"CR": 0.25}, False)


async def test_a_result_that_is_too_large_says_what_it_lost() -> None:
    made = trimmed(await result(Scorecard(label="Pass", values={"CR": 1.0}, details={"long": "x" * 1000})))
    assert (made.details, made.values, [failure.code for failure in made.failures]) == ({}, {"CR": 1.0}, ["result_too_large"])


async def test_a_case_that_takes_too_long_fails_by_name_and_its_siblings_are_scored() -> None:
    async def score(case: SafeCase) -> Any:
        if case.id == "slow":
            await asyncio.Event().wait()
        if case.id == "own":
            raise TimeoutError
        return Scorecard(label="Pass", values={})

    suite = replace(SUITE, execution="window")
    scoring = Scoring(suite, NoSettings(), scorer=StepScorer(score), timeout_s=0.05)
    made = await asyncio.gather(*(scoring.result(SafeCase.model_validate(safe_event(one)), one, PLACE) for one in ("slow", "own", "fast")))
    assert [(one.label, [(failure.kind, failure.code) for failure in one.failures]) for one in made] == [
        ("unscored", [("timeout", "score_timeout")]),
        ("unscored", [("scorer_error", "TimeoutError")]),
        ("Pass", []),
    ]
