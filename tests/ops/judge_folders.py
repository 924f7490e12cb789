"""A folder with a measured judge, beside a store with its results and people's labels."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from touchstone.ops.reviews.annotations import StoreAnnotations
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.judges import JudgeStore
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.calibration import Basis, Calibration, Counts, Decision
from touchstone.scorers.calibration.folder import folder_of
from touchstone.scorers.calibration.truth import labels_of

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
