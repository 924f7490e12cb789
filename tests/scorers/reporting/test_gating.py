from dataclasses import replace
from typing import Any

import pytest

from touchstone.schemas.result import Finding, Label, Severity
from touchstone.scorers.reporting import EXIT_ERROR, EXIT_FAIL, EXIT_PASS, EXIT_REVIEW, CaseView, Gate, Verdict, View, verdict_by_labels
from touchstone.scorers.reporting.gating import with_fail_on
from touchstone.scorers.reporting.verdict import FailOn

STATUS: dict[str, Any] = {"Pass": "pass", "Warn": "review", "Fail": "fail", "unscored": "unscored"}


def case(label: Label = "Pass", *severities: Severity, valid: bool | None = True) -> CaseView:
    findings = tuple(Finding(severity=severity, code="a.b", path="p", message="m") for severity in severities)
    return CaseView(name="n", label=label, status=STATUS[label], findings=findings, valid=valid)


def exit_code(fail_on: FailOn, *cases: CaseView, before: Verdict | None = None, gate: Gate | None = None) -> int:
    view = View("t", "s", "1", "d", "now", cases)
    return with_fail_on(before or Verdict("WARN", "w", EXIT_REVIEW), gate or Gate(fail_on=fail_on), view).exit_code


@pytest.mark.parametrize(
    ("fail_on", "passes", "fails"),
    [
        ("invalid", case("Warn", "major"), case("Pass", "minor", valid=False)),
        ("critical", case("Warn", "major", "minor"), case("Pass", "critical")),
        ("major", case("Warn", "minor", "info"), case("Pass", "major")),
        ("major", case("Pass"), case("Pass", "critical")),
        ("warn", case("Pass", "major"), case("Warn")),
    ],
)
def test_what_fails_fails_and_what_is_milder_passes(fail_on: FailOn, passes: CaseView, fails: CaseView) -> None:
    assert exit_code(fail_on, passes, passes) == EXIT_PASS
    assert exit_code(fail_on, passes, fails) == EXIT_FAIL


@pytest.mark.parametrize("fail_on", ["invalid", "critical", "major", "warn"])
def test_the_label_fail_always_fails(fail_on: FailOn) -> None:
    assert exit_code(fail_on, case("Fail"), before=Verdict("FAIL", "f", EXIT_FAIL)) == EXIT_FAIL


def test_a_case_without_a_score_keeps_the_whole_from_passing() -> None:
    assert exit_code("critical", case(), case("unscored", valid=None)) == EXIT_REVIEW
    assert exit_code("warn", case(), case("unscored", valid=None)) == EXIT_FAIL


def test_a_finding_that_is_only_counted_fails_like_one_that_is_told() -> None:
    counted = replace(case("Pass"), finding_counts={"a.b": {"critical": 1, "minor": 4}})
    assert exit_code("critical", case(), counted) == EXIT_FAIL
    assert exit_code("critical", replace(counted, finding_counts={"a.b": {"critical": 0, "minor": 4}})) == EXIT_PASS


@pytest.mark.parametrize(("fail_on", "code"), [("critical", EXIT_REVIEW), ("major", EXIT_REVIEW), ("warn", EXIT_REVIEW), ("invalid", EXIT_PASS)])
def test_cases_without_a_part_that_failed_keep_a_gate_on_findings_from_passing(fail_on: FailOn, code: int) -> None:
    before = verdict_by_labels(passed=1, review=0, failed=0, incomplete={"judge_5xx": 1})
    assert exit_code(fail_on, case(), before=before) == code
    assert exit_code(fail_on, case("Fail"), before=before) == EXIT_FAIL


def test_an_error_stays_an_error_and_a_missed_pass_rate_stays_missed() -> None:
    assert exit_code("major", case(), before=Verdict("ERROR", "e", EXIT_ERROR)) == EXIT_ERROR
    both = Gate(min_pass_rate=0.9, fail_on="major")
    assert exit_code("major", case(), before=Verdict("FAIL", "f", EXIT_FAIL), gate=both) == EXIT_FAIL


def test_a_suite_that_says_nothing_of_validity_cannot_be_gated_on_it() -> None:
    assert exit_code("invalid", case(valid=None)) == EXIT_ERROR


def test_a_case_is_counted_once_so_that_the_numbers_of_the_verdict_can_be_added() -> None:
    view = View("t", "s", "1", "d", "now", [case("Fail", "critical"), case("Warn", "critical"), case("Warn"), case()])
    reasons = {gate: with_fail_on(Verdict("FAIL", "f", EXIT_FAIL), Gate(fail_on=gate), view).reason for gate in ("warn", "critical")}

    assert reasons == {"warn": "1 failed, 2 more that did not pass, of 4 cases", "critical": "1 failed, 1 more with a critical finding, of 4 cases"}
