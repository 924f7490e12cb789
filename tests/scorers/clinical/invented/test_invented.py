import asyncio
from collections import Counter

import pytest

from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical import SUITE, failure_modes
from touchstone.scorers.clinical.failure_modes.questions import QUESTIONS
from touchstone.scorers.clinical.invented import Sample, sample_traces
from touchstone.scorers.clinical.invented.faults import KINDS
from touchstone.scorers.clinical.invented.reviewers import REVIEWERS, reviews

BY_CODE = {one.name for one in KINDS if one.found_by == "code"}
#: A relative's stroke in the prompt counts as a reason for the patient's warfarin.
MISSED = {"sample-7-0095"}


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return sample_traces(100, 7)


def modes_of(sample: Sample) -> set[str]:
    card = asyncio.run(failure_modes.build(failure_modes.FailureModeSettings()).score(ProductionTrace.model_validate(sample.trace)))
    return {name for name in QUESTIONS if card.values.get(name) == 0}


def test_each_kind_is_planted_at_its_rate(samples: list[Sample]) -> None:
    planted = Counter(one.planted for one in samples)
    assert {kind.name: planted[kind.name] for kind in KINDS} == {kind.name: round(kind.rate * 100) for kind in KINDS}
    assert len(BY_CODE) == 5
    assert len({one.trace["prompt"] for one in samples}) == 100


def test_a_seed_always_gives_the_same_traces(samples: list[Sample]) -> None:
    assert sample_traces(100, 7) == samples
    assert [one.trace["persona"] for one in sample_traces(100, 8)] != [one.trace["persona"] for one in samples]


def test_the_modes_find_what_is_planted_for_them_and_nothing_else(samples: list[Sample]) -> None:
    wrong = {one.trace["traceId"]: modes_of(one) for one in samples if modes_of(one) != {one.planted} & BY_CODE}
    assert set(wrong) <= MISSED
    assert all(found == set() for found in wrong.values())


def test_the_documents_of_the_patients_pass(samples: list[Sample]) -> None:
    scorer = SUITE.build(SUITE.resolve({}, None))
    labels = Counter(asyncio.run(scorer.score(ProductionTrace.model_validate(one.trace))).label for one in samples[::5])
    assert labels == {"Pass": 20}


def test_a_mended_kind_is_left_out_and_nothing_else_changes(samples: list[Sample]) -> None:
    mended = sample_traces(100, 7, ["missing_key_lab"])
    assert "missing_key_lab" not in {one.planted for one in mended}
    for before, after in zip(samples, mended, strict=True):
        assert (before.trace["persona"] == after.trace["persona"]) is (before.planted != "missing_key_lab")
    with pytest.raises(ValueError, match="no kind of failure is called bad_mood"):
        sample_traces(10, 7, ["bad_mood"])


def test_the_reviewers_err_as_often_as_they_say() -> None:
    many = sample_traces(2_000, 3)
    planted = {one.trace["traceId"] for one in many if one.planted is not None}
    said = reviews(many, 3)
    for reviewer in REVIEWERS:
        own = [one for one in said if one.reviewer == reviewer.name]
        missed = [one.verdict == "pass" for one in own if one.trace_id in planted]
        objected = [one.verdict == "fail" for one in own if one.trace_id not in planted]
        assert sum(missed) / len(missed) == pytest.approx(reviewer.misses, abs=0.02)
        assert sum(objected) / len(objected) == pytest.approx(reviewer.objects, abs=0.02)


def test_the_reviewers_say_why_and_name_no_kind(samples: list[Sample]) -> None:
    failed = [one for one in reviews(samples, 7) if one.verdict == "fail"]
    assert all(one.notes and one.severity_tag for one in failed)
    assert not [one for one in failed for kind in KINDS if kind.name in (one.notes or "") or one.failure_mode]
    assert len({one.notes for one in failed}) > 40


def test_where_the_reviewers_disagree_a_third_settles_it_rightly(samples: list[Sample]) -> None:
    said = reviews(samples, 7)
    verdicts = {(one.trace_id, one.reviewer): one.verdict for one in said}
    disagreed = {one.trace["traceId"] for one in samples if verdicts[one.trace["traceId"], "ana"] != verdicts[one.trace["traceId"], "ben"]}
    planted = {one.trace["traceId"]: one.planted for one in samples}
    settled = [one for one in said if one.settled]
    assert {one.trace_id for one in settled} == disagreed
    assert disagreed
    assert all((one.verdict == "fail") is (planted[one.trace_id] is not None) for one in settled)
