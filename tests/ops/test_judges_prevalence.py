import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.ops.commands import Commands
from touchstone.ops.cli.common.judged import judge_of
from touchstone.ops.reviews.judge_files import write_calibration
from touchstone.schemas.calibration import Calibration, Counts

SUBJECT = "failure_modes/missing_key_lab"


@pytest.fixture
def run(commands: Commands) -> Commands:
    assert commands("eval", "sample-traces", "--count", 100, "--output", "traces").code == 0
    return commands


def calibrated(test: Counts | None, judge: str | None = None) -> None:
    """Leave a calibration with these counts, of the judge that there is or of another."""
    _, basis = judge_of(SUBJECT)
    basis = basis.model_copy(update={"labels": "0" * 16} | ({"judge": judge} if judge is not None else {}))
    dev = Counts(failed=0, failed_found=0, passed=0, passed_found=0)
    now = datetime(2026, 11, 24, tzinfo=UTC)
    write_calibration(
        Path("judges"),
        Calibration(subject=SUBJECT, at=now, basis=basis, seed=0, train=0, dev=dev, test=test, test_reads=int(test is not None), floor=0.8, least=30),
    )


def test_the_rate_is_corrected_for_the_errors_of_the_judge(run: Commands) -> None:
    calibrated(Counts(failed=40, failed_found=30, passed=100, passed_found=98))
    ran = run("judges", "prevalence", SUBJECT, "traces", "--json")
    assert ran.code == 0
    found = json.loads(ran.out)
    assert found["seen"] == {"count": 12, "total": 100}
    assert found["corrected"] == pytest.approx((0.12 + 0.98 - 1) / (0.75 + 0.98 - 1))
    assert found["low"] < found["corrected"] < found["high"]
    shown = run("judges", "prevalence", SUBJECT, "traces")
    assert "the judge fails  12.0% (12 of 100 cases)" in shown.out
    assert "corrected        13.7% (95% interval " in shown.out


@pytest.mark.parametrize(
    ("test", "why"),
    [
        (None, "its test set was not read"),
        (Counts(failed=10, failed_found=4, passed=10, passed_found=6), "the judge knows no more than chance"),
        (Counts(failed=0, failed_found=0, passed=10, passed_found=10), "one of the two is missing"),
    ],
)
def test_a_rate_that_cannot_be_corrected_is_refused(run: Commands, test: Counts | None, why: str) -> None:
    calibrated(test)
    ran = run("judges", "prevalence", SUBJECT, "traces")
    assert (ran.code, why in ran.err) == (1, True)
    assert "corrected  " not in ran.out


def test_a_judge_that_was_never_measured_is_refused(run: Commands) -> None:
    ran = run("judges", "prevalence", SUBJECT, "traces")
    assert ran.code == 3
    assert "was never calibrated; run touchstone judges calibrate" in ran.one_line


def test_a_judge_that_is_another_than_was_measured_is_refused(run: Commands) -> None:
    calibrated(Counts(failed=40, failed_found=30, passed=100, passed_found=98), judge="f" * 16)
    ran = run("judges", "prevalence", SUBJECT, "traces")
    assert ran.code == 3
    assert "the judge's code or settings changed" in ran.one_line
