from touchstone.scorers.reporting import EXIT_FAIL, EXIT_PASS, EXIT_REVIEW
from touchstone.scorers.reporting.verdict import Gate, verdict_by_labels


def test_cases_that_pass_without_a_part_that_failed_are_to_be_reviewed() -> None:
    told = verdict_by_labels(passed=3, review=0, failed=0, incomplete={"judge_connection": 3})
    assert (told.exit_code, told.reason) == (EXIT_REVIEW, "3 cases passed, some without a part that failed (judge_connection 3)")
    assert verdict_by_labels(passed=3, review=0, failed=0, incomplete={}).exit_code == EXIT_PASS


def test_a_failed_case_and_a_gate_stand_above_a_missing_part() -> None:
    assert verdict_by_labels(passed=3, review=0, failed=1, incomplete={"judge_connection": 3}).exit_code == EXIT_FAIL
    assert verdict_by_labels(passed=3, review=0, failed=0, incomplete={"judge_connection": 3}, gate=Gate(min_pass_rate=0.5)).exit_code == EXIT_PASS
