from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from touchstone.schemas.annotation import AnnotationRecord
from touchstone.scorers.calibration.truth import labels_of

SUITE, MODE = "safe_v0", "failure_modes/missing_labs"
_NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)


def said(trace: str, verdict: str | None, reviewer: str = "anna", mode: str | None = None, number: int = 0, **more: Any) -> AnnotationRecord:
    return AnnotationRecord.model_validate(
        {"traceId": trace, "verdict": verdict, "reviewer": reviewer, "failureMode": mode, "timestamp": (_NOON + timedelta(minutes=number)).isoformat()} | more
    )


def test_a_suite_fails_what_people_fail() -> None:
    truth = labels_of([said("a", "fail"), said("b", "pass"), said("c", None)], SUITE)
    assert [(one.trace_id, one.fails) for one in truth.labels] == [("a", True), ("b", False)]
    assert truth.left_out == {"no_verdict": 1}


def test_a_mode_fails_what_names_it_and_an_uncoded_failure_says_nothing() -> None:
    records = [
        said("a", "fail", mode="missing_labs"),
        said("b", "fail", mode="wrong_dates"),
        said("c", "pass"),
        said("d", "fail"),
        said("e", "fail", mode="wrong_dates", commonIssues=["missing_labs"]),
    ]
    truth = labels_of(records, MODE)
    assert [(one.trace_id, one.fails) for one in truth.labels] == [("a", True), ("b", False), ("c", False), ("e", True)]
    assert truth.left_out == {"uncoded": 1}


def test_a_failure_without_a_reason_is_no_pass_though_another_passed_the_case() -> None:
    records = [said("a", "fail"), said("a", "pass", "ben"), said("b", "fail"), said("b", "fail", "ben", mode="missing_labs")]
    truth = labels_of(records, MODE)
    assert [(one.trace_id, one.fails) for one in truth.labels] == [("b", True)]
    assert truth.left_out == {"uncoded": 1}


def test_verdicts_on_another_suite_are_no_labels() -> None:
    records = [said("a", "fail", suite="clinical"), said("b", "fail", suite=SUITE), said("c", "fail"), said("c", "pass", suite="clinical", number=1)]
    truth = labels_of(records, SUITE)
    assert [one.trace_id for one in truth.labels] == ["b", "c"]
    assert truth.labels[1].fails
    assert truth.left_out == {"other_suite": 1}


def test_the_newest_of_the_highest_pass_counts_and_what_is_withdrawn_does_not() -> None:
    records = [
        said("a", "pass"),
        said("a", "fail", number=1),
        said("b", "fail", reviewPass=2),
        said("b", "pass", number=2),
        said("c", "fail"),
        said("c", None, withdrawn=True, number=3),
    ]
    truth = labels_of(records, SUITE)
    assert [(one.trace_id, one.fails) for one in truth.labels] == [("a", True), ("b", True)]
    assert truth.left_out == {"withdrawn": 1}


def test_a_disagreement_has_no_label_until_one_verdict_is_settled() -> None:
    two = [said("a", "pass", "anna"), said("a", "fail", "bert")]
    assert labels_of(two, SUITE).left_out == {"disagreed": 1}
    settled = labels_of([*two, said("a", "fail", "anna", settled=True, number=5)], SUITE)
    assert [(one.fails, one.settled) for one in settled.labels] == [(True, True)]
    # Whoever settled it may say something else of the case later; the settled verdict stays.
    later = labels_of([*two, said("a", "fail", "cara", settled=True), said("a", "pass", "cara", reviewPass=2, number=9)], SUITE)
    assert [(one.fails, one.settled) for one in later.labels] == [(True, True)]


def test_reviewers_are_compared_in_pairs_and_a_settled_verdict_is_no_opinion() -> None:
    records = [
        said("a", "pass", "anna"),
        said("a", "fail", "bert"),
        said("a", "pass", "cara", settled=True),
        said("b", "pass", "anna"),
        said("b", "pass", "bert"),
    ]
    assert labels_of(records, SUITE).pairs == ((False, True), (False, False))


def test_a_disagreement_that_was_settled_and_coded_counts_between_the_reviewers() -> None:
    records = [
        said("a", "fail", "anna"),
        said("a", "pass", "bert"),
        said("a", "fail", "cara", mode="missing_labs", settled=True),
        said("b", "fail", "anna"),
        said("b", "pass", "bert"),
        said("b", "fail", "cara", mode="wrong_dates", settled=True),
        said("c", "fail", "anna"),
        said("c", "pass", "bert"),
    ]
    # In b both pass this mode: what was found is another. Of c nobody knows what was found.
    assert labels_of(records, MODE).pairs == ((True, False), (False, False))


@pytest.mark.parametrize(("arms", "arm"), [((None,), None), (("chosen",), "chosen"), (("chosen", "random"), "random"), (("chosen", None), "chosen")])
def test_a_case_that_chance_drew_for_one_queue_may_be_counted(arms: tuple[str | None, ...], arm: str | None) -> None:
    records = [said("a", "pass", f"reviewer-{place}", **({"arm": one} if one else {})) for place, one in enumerate(arms)]
    label = labels_of(records, SUITE).labels[0]
    assert (label.arm, label.is_unbiased) == (arm, arm != "chosen")


def test_the_digest_of_the_labels_changes_with_a_verdict_and_not_with_their_order() -> None:
    one, other = said("a", "fail"), said("b", "pass")
    digest = labels_of([one, other], SUITE).digest
    assert labels_of([other, one], SUITE).digest == digest
    assert labels_of([one, said("b", "fail")], SUITE).digest != digest
    assert labels_of([one, other, said("a", "fail", "bert", number=2)], SUITE).digest == digest


def test_the_guideline_of_the_labels_names_every_version() -> None:
    records = [said("a", "fail", guideline="clinical@2"), said("b", "pass", guideline="clinical@3"), said("c", "pass")]
    assert labels_of(records, SUITE).guideline == "clinical@2, clinical@3"
    assert labels_of(records[2:], SUITE).guideline is None
