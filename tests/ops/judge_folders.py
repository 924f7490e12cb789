"""A folder with a measured judge, beside a store with its results and people's labels."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from touchstone.ops.reviews.annotations import StoreAnnotations
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.judges import JudgeStore
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.calibration import Basis, Calibration, Counts, Decision
from touchstone.schemas.prevalence import JudgeStatus, Window
from touchstone.scorers.calibration.folder import folder_of, shortfalls
from touchstone.scorers.calibration.live import live_prevalence
from touchstone.scorers.calibration.truth import labels_of
from touchstone.scorers.reporting.intervals import Rate

MEASURED_AT = datetime(2026, 1, 1, tzinfo=UTC)
GOOD = Counts(failed=50, failed_found=45, passed=100, passed_found=90)


def source_of(store: ResultStore) -> JudgeStore:
    return JudgeStore(store.engine, StoreAnnotations(store).read)


def calibrated(
    folder: Path, subject: str = "safe_v0", *, labels: str = "0" * 16, test: Counts | None = GOOD, judge: str = "0.1/d1", **told: Any
) -> Calibration:
    """Write a measurement of a subject."""
    made = Calibration(
        subject=subject,
        at=MEASURED_AT,
        basis=Basis(judge=judge, labels=labels, **told),
        seed=1,
        train=10,
        dev=GOOD,
        test=test,
        test_reads=1,
        floor=0.8,
        least=30,
    )
    home = folder_of(folder, subject)
    home.mkdir(parents=True, exist_ok=True)
    (home / "calibration.json").write_text(made.model_dump_json(), encoding="utf-8")
    return made


def decided(folder: Path, action: str, subject: str = "safe_v0") -> None:
    """Add a decision to a subject's history."""
    with (folder_of(folder, subject) / "history.jsonl").open("a", encoding="utf-8") as history:
        history.write(Decision.model_validate({"subject": subject, "at": MEASURED_AT, "action": action}).model_dump_json() + "\n")


def label(store: ResultStore, number: int, verdict: str = "fail", **said: Any) -> None:
    """A person's verdict on a case."""
    CaseIndex(store.engine).annotate_many([(f"e{number}", f"t{number}", "ana", 1, datetime.now(UTC), {"verdict": verdict, **said})])


def digest_of_labels(store: ResultStore, subject: str = "safe_v0") -> str:
    return labels_of(StoreAnnotations(store).read(), subject).digest


def judged_states(folder: Path, suite: str) -> list[JudgeStatus]:
    """A suite that decides with a corrected rate, a stale mode of it below its floor in the shadow, and one that was never measured."""
    window = Window(since=MEASURED_AT, until=MEASURED_AT + timedelta(days=1))
    weak = Counts(failed=40, failed_found=24, passed=80, passed_found=70)
    own = calibrated(folder, suite)
    mode = calibrated(folder, f"{suite}/missing_lab", test=weak, judge="j1", prompt="p1", model="m1", guideline="clinical@3")
    decision = Decision(subject=suite, at=MEASURED_AT, action="promote", by="ana", reasons=("it was forced",))
    labels = ("the labels changed since the calibration",)
    return [
        JudgeStatus(
            subject=suite,
            state="promoted",
            decides=True,
            stale=labels,
            reasons=labels,
            calibration=own,
            history=(decision,),
            prevalence=live_prevalence(own, Rate(70, 200), window, others=3, stale=labels),
        ),
        JudgeStatus(
            subject=mode.subject,
            state="stale",
            decides=False,
            stale=("the prompt changed",),
            outdated=True,
            reasons=("the prompt changed",),
            below_floor=shortfalls(mode),
            calibration=mode,
            prevalence=live_prevalence(mode, Rate(0, 0), window, others=12, stale=("the prompt changed",)),
        ),
        JudgeStatus(subject=f"{suite}/other", state="uncalibrated", decides=False, reasons=("it was never calibrated",)),
    ]
