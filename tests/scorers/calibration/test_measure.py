from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from touchstone.schemas.calibration import Basis, Calibration
from touchstone.schemas.result import Failure, FileRef, ScoreResult
from touchstone.scorers.calibration.folder import recalls_of
from touchstone.scorers.calibration.measure import Known, Plan, measure, parts_of, patient_of, to_judge, verdict_of
from touchstone.scorers.calibration.splits import Part
from touchstone.scorers.calibration.truth import Label, Truth


def plan(**more: Any) -> Plan:
    fields: dict[str, Any] = {"subject": "failure_modes/x", "at": datetime(2026, 2, 3, tzinfo=UTC), "basis": Basis(judge="j", labels="l")}
    return Plan(**(fields | {"seed": 0, "floor": 0.8, "least": 30, "reads_test": True, "test_reads": 1} | more))


def measured(labels: list[Label], verdicts: dict[str, Any], parts: dict[str, Part], **more: Any) -> Calibration:
    known = {one.trace_id: Known(f"p-{one.trace_id}", (("model", "m1"),)) for one in labels}
    return measure(plan(**more), Truth(tuple(labels)), known, {f"p-{name}": part for name, part in parts.items()}, verdicts)


def test_each_part_is_counted_by_itself_and_only_the_dev_set_shows_its_cases() -> None:
    labels = [Label("a", fails=True), Label("b", fails=False), Label("c", fails=True), Label("d", fails=True)]
    found = measured(labels, {"a": False, "b": False, "c": False}, {"a": "dev", "b": "dev", "c": "test", "d": "train"})
    assert (found.dev.failed, found.dev.failed_found, found.dev.passed, found.dev.passed_found) == (1, 0, 1, 1)
    assert found.test is not None
    assert (found.test.failed, found.test.failed_found, found.train) == (1, 0, 1)
    # The test set's disagreements would be used for improving.
    assert found.disagreements == ("a",)


def test_a_test_set_that_is_not_read_is_neither_asked_about_nor_counted() -> None:
    labels = [Label("a", fails=True), Label("b", fails=True), Label("c", fails=True, arm="chosen"), Label("d", fails=True)]
    parts: dict[str, Part] = {"p-a": "dev", "p-b": "test", "p-c": "test", "p-d": "train"}
    known = {name: Known(f"p-{name}") for name in "abcd"}
    assert to_judge(Truth(tuple(labels)), known, parts, reads_test=False) == ["a"]
    assert to_judge(Truth(tuple(labels)), known, parts, reads_test=True) == ["a", "b"]
    assert measure(plan(reads_test=False), Truth(tuple(labels)), known, parts, {"a": True}).test is None


def test_what_is_left_out_is_counted_by_reason() -> None:
    labels = [Label("a", fails=True, arm="chosen"), Label("b", fails=True), Label("c", fails=True), Label("d", fails=True)]
    known = {name: Known(name) for name in "abc"}
    parts: dict[str, Part] = {"a": "test", "b": "dev", "c": "dev"}
    found = measure(plan(), Truth(tuple(labels), {"uncoded": 3}), known, parts, {"b": "reviewed"})
    assert found.left_out == {"chosen": 1, "no_input": 1, "reviewed": 1, "unjudged": 1, "uncoded": 3}


def test_slices_have_at_least_a_handful_of_cases_that_no_filter_chose() -> None:
    names = [str(number) for number in range(9)]
    labels = [Label(name, fails=True, guideline="g@1", arm="chosen" if name in "78" else None) for name in names]
    found = measured(labels[:4] + labels[7:], dict.fromkeys(names, True), dict.fromkeys(names, "dev"))
    assert found.slices == ()
    found = measured(labels, dict.fromkeys(names, True), dict.fromkeys(names, "dev"))
    assert [(one.name, one.value, one.counts.failed) for one in found.slices] == [("guideline", "g@1", 7), ("model", "m1", 7)]


@pytest.mark.parametrize(
    ("label", "review_as", "verdict"),
    [
        ("Fail", "pass", True),
        ("Pass", "fail", False),
        ("Review", "fail", True),
        ("Warn", "pass", False),
        ("Review", "leave-out", "reviewed"),
        ("unscored", "fail", "unjudged"),
    ],
)
def test_a_label_is_a_verdict(label: Any, review_as: Any, verdict: object) -> None:
    assert verdict_of(result(label, {}), "", review_as) == verdict


def test_the_value_of_a_judge_is_its_verdict() -> None:
    assert verdict_of(result("Pass", {"x": 0.0}), "x") is True
    assert verdict_of(result("Fail", {"x": 1.0}), "x") is False
    assert verdict_of(result("Fail", {"y": 1.0}), "x") == "unjudged"
    assert verdict_of(result("Pass", {}, Failure(component="x", kind="unavailable", code="timeout")), "x") == "unanswered"
    assert verdict_of(result("unscored", {}, Failure(component="judge", kind="unavailable", code="timeout")), "") == "unanswered"


def test_a_defect_of_the_scorer_is_named_and_no_case_that_the_judge_does_not_judge() -> None:
    for judge in ("x", ""):
        assert verdict_of(result("unscored", {}, Failure(component="s", kind="scorer_error", code="NameError")), judge) == "defect (NameError)"
        assert verdict_of(result("unscored", {}, Failure(component="s", kind="timeout", code="score_timeout")), judge) == "unanswered"
    # Another part that was away says nothing of this judge.
    assert verdict_of(result("Pass", {}, Failure(component="y", kind="unavailable", code="timeout")), "x") == "unjudged"


def result(label: Any, values: dict[str, float], *failures: Failure) -> ScoreResult:
    fields: dict[str, Any] = {"result_id": "r", "event_id": "e", "case_id": None, "kind": "trace", "suite": "s", "suite_version": "1", "config_digest": "d"}
    return ScoreResult(**fields, label=label, values=values, failures=failures, source=FileRef(file="f"), scored_at=datetime(2026, 2, 3, tzinfo=UTC))


def test_two_traces_of_one_patient_are_in_one_part_and_a_nameless_one_is_its_own_patient() -> None:
    assert patient_of(("roe", "1950-01-02"), "t-1") == patient_of(("roe", "1950-01-02"), "t-2") != patient_of((), "t-1") != patient_of((), "t-2")
    labels = tuple(Label(f"t-{number}", fails=number % 3 == 0) for number in range(300))
    known = {one.trace_id: Known(patient_of((str(int(one.trace_id[2:]) // 2),), one.trace_id)) for one in labels}
    parts = parts_of(Truth(labels), known, 3, {})
    assert len(parts) == 150


def test_a_queue_of_what_the_judge_failed_would_flatter_it_and_its_cases_are_not_tested_on() -> None:
    """Verification bias: of failures that the judge misses, a queue of its own failures has none. The random arm beside it has its share."""
    draw = np.random.default_rng(4)
    labels, verdicts, all_labels = [], {}, []
    for number in range(12_000):
        fails = bool(draw.random() < 0.2)
        verdict = bool(draw.random() < (0.7 if fails else 0.1))
        arm = "chosen" if verdict and number % 2 else "random" if number % 10 == 0 else None
        if arm is not None:
            labels.append(Label(str(number), fails, arm=arm))
            all_labels.append(Label(str(number), fails))
            verdicts[str(number)] = verdict
    everywhere: dict[str, Part] = {one.trace_id: "test" for one in labels}
    kept, naive = measured(labels, verdicts, everywhere).test, measured(all_labels, verdicts, everywhere).test
    assert kept is not None
    assert naive is not None
    assert recalls_of(naive).fail_recall.share > 0.85
    interval = recalls_of(kept).fail_recall.interval
    assert interval is not None
    assert interval.low < 0.7 < interval.high
