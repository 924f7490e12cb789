from typing import Any

from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.counting import current, newest, of_each_reviewer


def said(trace: str, reviewer: str = "r1", verdict: str | None = "fail", review_pass: int = 1, **more: Any) -> AnnotationRecord:
    told = {"traceId": trace, "verdict": verdict, "reviewer": reviewer, "timestamp": "2026-01-02T03:04:05Z", "reviewPass": review_pass}
    return AnnotationRecord.model_validate({**told, **more})


def withdrawn(trace: str, reviewer: str = "r1", review_pass: int = 1) -> AnnotationRecord:
    return said(trace, reviewer, None, review_pass, withdrawn=True)


def told(records: list[AnnotationRecord]) -> list[tuple[str, str, str | None]]:
    return [(one.trace_id, one.reviewer, one.verdict) for one in records]


def test_the_newest_of_each_pass_is_kept_for_each_reviewer() -> None:
    records = [said("a"), said("a", verdict="pass"), said("a", review_pass=2), said("a", "r2")]
    assert [(one.reviewer, one.review_pass, one.verdict) for one in newest(records)] == [("r1", 1, "pass"), ("r1", 2, "fail"), ("r2", 1, "fail")]


def test_a_withdrawn_annotation_says_nothing() -> None:
    records = [said("a"), said("b"), withdrawn("a")]
    assert told(newest(records)) == told(current(records)) == told(of_each_reviewer(records)) == [("b", "r1", "fail")]


def test_what_is_said_after_a_withdrawal_counts() -> None:
    records = [said("a"), withdrawn("a"), said("a", verdict="pass")]
    assert told(current(records)) == told(of_each_reviewer(records)) == [("a", "r1", "pass")]


def test_a_withdrawn_pass_leaves_the_one_before() -> None:
    records = [said("a", verdict="pass"), said("a", review_pass=2), withdrawn("a", review_pass=2)]
    assert told(current(records)) == told(of_each_reviewer(records)) == [("a", "r1", "pass")]


def test_a_settled_verdict_decides_over_all_others_of_its_case_in_any_pass() -> None:
    records = [said("a", "r1"), said("a", "r2", "pass"), said("a", "lead", "pass", settled=True), said("a", "r1", "fail", 2), said("b", "r1")]
    assert told(current(records)) == [("a", "lead", "pass"), ("b", "r1", "fail")]


def test_the_newest_settled_verdict_of_the_highest_pass_decides() -> None:
    records = [
        said("a", "r1"),
        said("a", "lead", "pass", settled=True),
        said("a", "chief", "fail", 2, settled=True),
        said("a", "lead", "pass", settled=True),
    ]
    assert told(current(records)) == [("a", "chief", "fail")]


def test_of_two_who_settle_in_one_pass_the_last_word_counts() -> None:
    records = [said("a", "lead", "pass", settled=True), said("a", "chief", "fail", settled=True), said("a", "lead", "pass", settled=True)]
    assert told(current(records)) == [("a", "lead", "pass")]


def test_whoever_settles_keeps_their_own_word_for_agreement() -> None:
    records = [said("a", "r1"), said("a", "r2", "pass"), said("a", "r1", "pass", settled=True)]
    assert told(of_each_reviewer(records)) == [("a", "r1", "fail"), ("a", "r2", "pass")]
    assert told(current(records)) == [("a", "r1", "pass")]


def test_a_settlement_that_is_taken_back_leaves_what_each_said() -> None:
    records = [said("a", "r1"), said("a", "r2", "pass"), said("a", "r1", "pass", settled=True), said("a", "r1")]
    assert told(current(records)) == [("a", "r1", "fail"), ("a", "r2", "pass")]


def test_the_case_of_a_record_can_be_named_by_the_caller() -> None:
    assert told(current([said("a"), said("b", verdict="pass")], lambda _: "one")) == [("b", "r1", "pass")]


def test_what_is_said_of_one_suite_neither_replaces_nor_settles_nor_withdraws_what_is_said_of_another() -> None:
    records = [
        said("a", suite="one"),
        said("a", verdict="pass", suite="two"),
        said("a", "lead", "pass", settled=True, suite="two"),
        said("a", "r2", suite="one"),
        said("a", "r2", None, withdrawn=True, suite="two"),
    ]
    standing = [(one.reviewer, one.suite, one.verdict) for one in current(records)]
    assert standing == [("r1", "one", "fail"), ("lead", "two", "pass"), ("r2", "one", "fail")]
