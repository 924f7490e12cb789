from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from touchstone.schemas.calibration import Basis, Calibration, Counts, Decision
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.folder import measured, read_example_patients, read_history, stale, status, status_of

_NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)
LLM = Basis(judge="j1", prompt="p1", model="m1", guideline="g@1", labels="l1")
CODE = Basis(judge="j1", guideline="g@1", labels="l1")
GOOD = Counts(failed=40, failed_found=38, passed=40, passed_found=38)
BAD = Counts(failed=40, failed_found=20, passed=40, passed_found=38)
FEW = Counts(failed=5, failed_found=2, passed=5, passed_found=5)


def calibration(basis: Basis = LLM, test: Counts | None = GOOD, **more: Any) -> Calibration:
    fields = {"subject": "failure_modes/x", "at": _NOON, "basis": basis, "seed": 0, "train": 9, "dev": GOOD, "test": test, "test_reads": 1}
    return Calibration.model_validate(fields | {"floor": 0.8, "least": 30} | more)


def decision(action: str, minutes: int = 1, basis: Basis = LLM, **more: Any) -> Decision:
    fields = {"subject": "failure_modes/x", "at": _NOON + timedelta(minutes=minutes), "action": action, "calibration": measured(basis)}
    return Decision.model_validate(fields | more)


@pytest.mark.parametrize("part", ["judge", "prompt", "model", "guideline", "labels"])
def test_a_calibration_is_stale_as_soon_as_one_part_of_its_basis_is_another(part: str) -> None:
    assert stale(calibration(), LLM) == ()
    (sentence,) = stale(calibration(), LLM.model_copy(update={part: "other"}))
    assert part in sentence


def test_what_is_not_known_here_is_not_compared() -> None:
    assert stale(calibration(), Basis(judge="j1", prompt="p1", model="m1", labels="")) == ()


def test_an_llm_judge_decides_once_promoted_and_while_it_is_the_one_that_was_measured() -> None:
    promoted = [decision("promote")]
    assert status(None, [], LLM).state == "uncalibrated"
    assert not status(None, [], LLM).decides
    assert status(calibration(), [], LLM).state == "shadow"
    assert status(calibration(), promoted, LLM).decides
    assert status(calibration(), promoted, LLM.model_copy(update={"model": "m2"})).state == "stale"
    assert not status(calibration(), promoted, LLM.model_copy(update={"model": "m2"})).decides
    # New labels and a new guideline are said, and do not silence it.
    later = status(calibration(), promoted, LLM.model_copy(update={"labels": "l2", "guideline": "g@2"}))
    assert (later.decides, len(later.reasons)) == (True, 2)
    assert status(calibration(), [*promoted, decision("demote", 2)], LLM).state == "shadow"


def test_a_new_prompt_must_be_promoted_again() -> None:
    other = LLM.model_copy(update={"prompt": "p2"})
    assert status(calibration(other), [decision("promote")], other).state == "shadow"
    assert status(calibration(other), [decision("promote"), decision("promote", 2, other)], other).decides


def test_a_judge_below_its_floor_runs_in_the_shadow_unless_forced_for_that_measurement() -> None:
    assert not status(calibration(test=BAD), [decision("promote")], LLM).decides
    forced = [decision("promote", reasons=["fail_recall is 0.500; 0.80 is needed", "forced: for a week"])]
    assert status(calibration(test=BAD), forced, LLM).decides
    assert not status(calibration(test=BAD, at=_NOON + timedelta(hours=1)), forced, LLM).decides


def test_code_decides_unless_demoted_or_measured_to_be_bad() -> None:
    assert status(None, [], CODE).decides
    assert status(calibration(CODE, FEW), [], CODE).decides
    assert status(calibration(CODE, None), [], CODE).decides
    assert not status(calibration(CODE, BAD), [], CODE).decides
    assert not status(calibration(CODE), [decision("demote")], CODE).decides
    assert status(calibration(CODE), [decision("demote"), decision("promote", 2)], CODE).decides
    # A suite's own label is its specification's.
    assert status(calibration(CODE, BAD, subject="safe_v0"), [], CODE).decides


def test_a_status_is_read_from_the_folder(tmp_path: Path) -> None:
    assert status_of(tmp_path, "failure_modes/x", LLM).state == "uncalibrated"
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "calibration.json").write_text(calibration().model_dump_json())
    (tmp_path / "x" / "history.jsonl").write_text(decision("promote").model_dump_json() + "\n")
    assert status_of(tmp_path, "failure_modes/x", LLM).decides
    with pytest.raises(ConfigError, match="cannot share a folder"):
        status_of(tmp_path, "other/x", LLM)


def test_a_line_that_a_kill_cut_off_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    whole = decision("promote").model_dump_json()
    (tmp_path / "x" / "history.jsonl").write_text(f"{whole}\n{whole[:30]}")
    assert [one.action for one in read_history(tmp_path, "failure_modes/x")] == ["promote"]


@pytest.mark.parametrize(("name", "text"), [("calibration.json", "{"), ("calibration.json", '{"subject": "Jane Roe"}'), ("history.jsonl", "nothing\n")])
def test_a_file_that_is_none_is_one_sentence_without_its_content(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / name).write_text(text)
    with pytest.raises(ConfigError, match=name) as caught:
        status_of(tmp_path, "failure_modes/x", LLM)
    assert "Jane Roe" not in str(caught.value)


def test_patients_of_examples_are_read_and_a_broken_line_is_named(tmp_path: Path) -> None:
    assert read_example_patients(tmp_path, "failure_modes/x") == ()
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "examples.jsonl").write_text('{"patient": "p1", "fails": true}\n\n{"patient": "p2"}\n')
    assert read_example_patients(tmp_path, "failure_modes/x") == ("p1", "p2")
    (tmp_path / "x" / "examples.jsonl").write_text('{"patient": "p1"}\n{"text": "Jane Roe"}\n')
    with pytest.raises(ConfigError, match="line 2"):
        read_example_patients(tmp_path, "failure_modes/x")
