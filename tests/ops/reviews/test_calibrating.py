import fcntl
import json
import os
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from touchstone.ops.reviews.calibrating import Kept, calibrate, demote, promote, seed_of
from touchstone.ops.reviews.calibrating import test_reads as reads_of
from touchstone.ops.reviews.calibration_report import OPTIMISTIC, calibration_view, promotion_verdict
from touchstone.ops.reviews.judge_files import decide
from touchstone.schemas.calibration import Basis, Decision
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.folder import read_calibration, read_history, read_splits, status_of
from touchstone.scorers.calibration.measure import Known, Plan, Verdict
from touchstone.scorers.calibration.truth import Label, Truth

SUBJECT = "failure_modes/x"
NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)
LLM = Basis(judge="j1", prompt="p1", model="m1", guideline="g@1", labels="l1")
LABELS = tuple(Label(f"t-{number}", fails=number % 2 == 0) for number in range(240))
KNOWN = {one.trace_id: Known(f"p-{one.trace_id}") for one in LABELS}
TRUTH = {one.trace_id: one.fails for one in LABELS}


def plan(**more: Any) -> Plan:
    fields: dict[str, Any] = {"subject": SUBJECT, "at": NOON, "basis": LLM, "seed": 0, "floor": 0.8, "least": 30, "reads_test": False, "test_reads": 0}
    return Plan(**(fields | more))


def right(traces: Collection[str]) -> tuple[Mapping[str, Verdict], str | None]:
    return {name: TRUTH[name] for name in traces}, "m1"


def lenient(traces: Collection[str]) -> tuple[Mapping[str, Verdict], str | None]:
    return dict.fromkeys(traces, False), "m1"


def run(root: Path, ask: Any = right, *, again: bool = False, labels: tuple[Label, ...] = LABELS, **more: Any) -> Kept:
    return calibrate(root, plan(**more), Truth(labels), KNOWN, ask, again=again)


def test_the_test_set_is_read_once_and_a_second_reading_is_asked_for_recorded_and_said(tmp_path: Path) -> None:
    first = run(tmp_path, reads_test=True)
    assert first.calibration.test_reads == 1
    with pytest.raises(ConfigError, match="--again"):
        run(tmp_path, reads_test=True)
    assert OPTIMISTIC not in calibration_view(first.calibration, "a file").facts
    second = run(tmp_path, reads_test=True, again=True)
    assert second.calibration.test_reads == 2
    assert OPTIMISTIC in calibration_view(second.calibration, "a file").facts
    # A file that is deleted does not hide it.
    (tmp_path / "x" / "calibration.json").unlink()
    assert reads_of(tmp_path, SUBJECT) == 2


def test_a_look_at_the_dev_set_asks_nothing_of_the_test_set_and_replaces_no_measurement_of_the_same_judge(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(traces: Collection[str]) -> tuple[Mapping[str, Verdict], str | None]:
        asked.extend(traces)
        return right(traces)

    assert run(tmp_path, ask).kept
    parts = read_splits(tmp_path, SUBJECT).parts
    assert {parts[f"p-{name}"] for name in asked} == {"dev"}
    run(tmp_path, reads_test=True)
    assert not run(tmp_path).kept
    kept = read_calibration(tmp_path, SUBJECT)
    assert kept is not None
    assert kept.test is not None
    assert run(tmp_path, basis=LLM.model_copy(update={"prompt": "p2"})).kept


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_a_judge_that_was_away_is_not_measured_and_its_test_set_is_not_read(tmp_path: Path, share: float) -> None:
    def away(traces: Collection[str]) -> tuple[Mapping[str, Verdict], None]:
        return {name: "unanswered" if number < share * len(traces) else TRUTH[name] for number, name in enumerate(traces)}, None

    with pytest.raises(ConfigError, match="gave no verdict"):
        run(tmp_path, away, reads_test=True)
    assert (read_calibration(tmp_path, SUBJECT), reads_of(tmp_path, SUBJECT)) == (None, 0)


def test_cases_that_the_judge_does_not_judge_are_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no verdict on any of"):
        run(tmp_path, lambda traces: (dict.fromkeys(traces, "unjudged"), None))


def test_a_judge_that_could_not_be_asked_about_most_cases_is_not_measured_on_the_rest(tmp_path: Path) -> None:
    def ask(traces: Collection[str]) -> tuple[Mapping[str, Verdict], str | None]:
        return {name: "unjudged" if number % 5 else TRUTH[name] for number, name in enumerate(traces)}, None

    with pytest.raises(ConfigError, match="could not be asked about"):
        run(tmp_path, ask, reads_test=True)
    assert reads_of(tmp_path, SUBJECT) == 0


def test_of_two_calibrations_at_once_one_is_refused_and_the_test_set_is_read_once(tmp_path: Path) -> None:
    refused: list[str] = []

    def ask(traces: Collection[str]) -> tuple[Mapping[str, Verdict], str | None]:
        with pytest.raises(ConfigError, match="is being calibrated by another process") as error:
            run(tmp_path, reads_test=True)
        refused.append(str(error.value))
        return right(traces)

    assert run(tmp_path, ask, reads_test=True).calibration.test_reads == 1
    assert (len(refused), reads_of(tmp_path, SUBJECT)) == (1, 1)


def test_a_judge_whose_code_fails_is_not_measured_and_the_error_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="NameError"):
        run(tmp_path, lambda traces: (dict.fromkeys(traces, "defect (NameError)"), None), reads_test=True)
    assert (read_calibration(tmp_path, SUBJECT), reads_of(tmp_path, SUBJECT)) == (None, 0)


def test_an_example_of_the_prompt_outside_the_training_split_is_an_error(tmp_path: Path) -> None:
    run(tmp_path)
    parts = read_splits(tmp_path, SUBJECT).parts
    train, tested = (next(patient for patient, part in parts.items() if part == wanted) for wanted in ("train", "test"))
    examples = tmp_path / "x" / "examples.jsonl"
    examples.write_text(json.dumps({"patient": train, "text": "…"}) + "\n")
    run(tmp_path)
    examples.write_text(json.dumps({"patient": train}) + "\n" + json.dumps({"patient": tested}) + "\n")
    with pytest.raises(ConfigError, match=r"1 examples of the prompt are not of the training split \(test\)") as caught:
        run(tmp_path)
    assert tested not in str(caught.value)


def test_an_example_that_is_labelled_later_comes_into_the_training_split(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    names = [one.trace_id for one in LABELS[:30]]
    (tmp_path / "x" / "examples.jsonl").write_text("".join(json.dumps({"patient": f"p-{name}"}) + "\n" for name in names))
    run(tmp_path)
    assert {read_splits(tmp_path, SUBJECT).parts[f"p-{name}"] for name in names} == {"train"}


def test_new_labels_move_no_patient_and_patients_without_a_label_keep_their_part(tmp_path: Path) -> None:
    run(tmp_path)
    before = read_splits(tmp_path, SUBJECT).parts
    run(tmp_path, labels=LABELS[:50])
    assert read_splits(tmp_path, SUBJECT).parts == before
    with pytest.raises(ConfigError, match="seed 0"):
        seed_of(tmp_path, SUBJECT, 7)
    assert seed_of(tmp_path, SUBJECT, None) == 0


def test_without_a_label_or_a_case_there_is_nothing_to_measure(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no annotated case.*2 uncoded"):
        calibrate(tmp_path, plan(), Truth((), {"uncoded": 2}), {}, right)
    with pytest.raises(ConfigError, match="--traces"):
        calibrate(tmp_path, plan(), Truth(LABELS), {}, right)


def test_a_judge_is_promoted_after_the_test_set_was_read_and_demoted_again(tmp_path: Path) -> None:
    assert (promote(tmp_path, SUBJECT, LLM, NOON).word, promote(tmp_path, SUBJECT, LLM, NOON).exit_code) == ("REFUSED", 1)
    run(tmp_path)
    assert "the test set was not read" in promote(tmp_path, SUBJECT, LLM, NOON).reason
    run(tmp_path, reads_test=True)
    assert promote(tmp_path, SUBJECT, LLM, NOON + timedelta(minutes=1)).exit_code == 0
    assert status_of(tmp_path, SUBJECT, LLM).decides
    assert demote(tmp_path, SUBJECT, NOON + timedelta(minutes=2), by="anna", reason="too strict").exit_code == 0
    assert status_of(tmp_path, SUBJECT, LLM).reasons == ("it was demoted: too strict",)
    assert [one.action for one in read_history(tmp_path, SUBJECT)] == ["calibrate", "calibrate", "promote", "demote"]


def test_below_the_floor_only_force_promotes_and_the_history_says_why(tmp_path: Path) -> None:
    run(tmp_path, lenient, reads_test=True)
    assert "fail_recall is 0.000" in promote(tmp_path, SUBJECT, LLM, NOON).reason
    assert promote(tmp_path, SUBJECT, LLM, NOON, force="until Monday").exit_code == 0
    last = read_history(tmp_path, SUBJECT)[-1]
    assert last.reasons == ("fail_recall is 0.000; 0.80 is needed", "forced: until Monday")
    assert status_of(tmp_path, SUBJECT, LLM).decides


@pytest.mark.parametrize(("part", "forced"), [("judge", 1), ("prompt", 1), ("model", 1), ("guideline", 0), ("labels", 0)])
def test_what_changed_since_it_was_measured_is_not_promoted(tmp_path: Path, part: str, forced: int) -> None:
    run(tmp_path, reads_test=True)
    other = LLM.model_copy(update={part: "other"})
    assert promote(tmp_path, SUBJECT, other, NOON).exit_code == 1
    # Force does not help a judge that nobody has measured.
    assert promote(tmp_path, SUBJECT, other, NOON, force="I know").exit_code == forced


def test_the_gate_decides_the_exit_code_and_the_word(tmp_path: Path) -> None:
    good, bad = run(tmp_path / "a", reads_test=True).calibration, run(tmp_path / "b", lenient, reads_test=True).calibration
    assert promotion_verdict(good, gate=True).exit_code == 0
    assert (promotion_verdict(bad).exit_code, promotion_verdict(bad, gate=True).exit_code) == (0, 1)


def _decides(root: str, writer: int) -> None:
    for _ in range(50):
        decide(Path(root), Decision(subject=SUBJECT, at=NOON, action="demote", by=f"writer-{writer}", reasons=("x" * 500,)))


def test_two_writers_lose_no_decision(tmp_path: Path) -> None:
    context = get_context("fork")
    writers = [context.Process(target=_decides, args=(str(tmp_path), number)) for number in range(2)]
    for one in writers:
        one.start()
    for one in writers:
        one.join(60)
    assert sorted(one.by or "" for one in read_history(tmp_path, SUBJECT)) == ["writer-0"] * 50 + ["writer-1"] * 50


def test_a_writer_waits_for_another_that_is_still_writing(tmp_path: Path) -> None:
    decide(tmp_path, Decision(subject=SUBJECT, at=NOON, action="demote", by="first"))
    with (tmp_path / "x" / "history.jsonl").open("ab", buffering=0) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        other.write(b'{"subject": "failure_modes/x", ')
        writer = Thread(target=decide, args=(tmp_path, Decision(subject=SUBJECT, at=NOON, action="promote", by="third")))
        writer.start()
        writer.join(0.2)
        # Not a line that a kill has cut off: it must not be dropped.
        other.write(b'"at": "2026-02-03T12:00:00Z", "action": "demote", "by": "second"}\n')
        fcntl.flock(other, fcntl.LOCK_UN)
    writer.join(30)
    assert [one.by for one in read_history(tmp_path, SUBJECT)] == ["first", "second", "third"]


def test_a_decision_after_a_line_that_a_kill_cut_off_is_whole(tmp_path: Path) -> None:
    decide(tmp_path, Decision(subject=SUBJECT, at=NOON, action="demote", by="first"))
    path = tmp_path / "x" / "history.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    decide(tmp_path, Decision(subject=SUBJECT, at=NOON, action="promote", by="second"))
    assert [one.by for one in read_history(tmp_path, SUBJECT)] == ["first", "second"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="whoever runs this may write anywhere")
def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError, match=r"judges\.folder"):
        decide(tmp_path, Decision(subject=SUBJECT, at=NOON, action="demote"))
