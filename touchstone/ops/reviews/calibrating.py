"""A calibration from its labels to its folder: parts of patients, the one reading of the test set, and decisions on a judge."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from touchstone.ops.reviews.judge_files import decide, measuring, write_calibration, write_splits
from touchstone.schemas.calibration import Basis, Calibration, Decision
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.folder import (
    DECIDING,
    Splits,
    measured,
    read_calibration,
    read_example_patients,
    read_history,
    read_splits,
    shortfalls,
    stale,
)
from touchstone.scorers.calibration.measure import DEFECT, Known, Plan, Verdict, measure, parts_of, to_judge
from touchstone.scorers.calibration.splits import LeakError, refuse_leaks
from touchstone.scorers.calibration.truth import Truth
from touchstone.scorers.reporting import Verdict as Outcome

#: The share of cases that a judge may leave without an answer in a measurement.
UNANSWERED_MAX: Final = 0.1
#: The share that it could not be asked about.
UNJUDGED_MAX: Final = 0.5
#: The sentence of the history by which readings of the test set are counted.
TEST_READ: Final = "the test set was read"


@dataclass(frozen=True, slots=True)
class Kept:
    """A calibration. `kept`: it is in the folder now; else an earlier one of the same judge, which read the test set, stays there."""

    calibration: Calibration
    kept: bool


def calibrate(
    root: Path,
    plan: Plan,
    truth: Truth,
    known: Mapping[str, Known],
    ask: Callable[[Collection[str]], tuple[Mapping[str, Verdict], str | None]],
    *,
    again: bool = False,
) -> Kept:
    """Measure a judge and keep what was measured. `ask`: the judge's verdicts on traces, and the model that gave them; it is asked only what is needed.

    Raises `ConfigError`: without a labelled case, for an example of the prompt outside the training split, and for a second reading of the test set that
    nobody asked for (`again`), where the judge did not answer, and while another
    process measures it.
    """
    if not truth.labels:
        why = ", ".join(f"{count} {reason}" for reason, count in truth.left_out.items())
        raise ConfigError(f"no annotated case says whether {plan.subject} is right{f' ({why})' if why else ''}; review some cases first")
    if not known:
        raise ConfigError(f"none of the {len(truth.labels)} labelled cases is at hand; name the files that hold them with --traces")
    with measuring(root, plan.subject):
        return _measured(root, plan, truth, known, ask, again=again)


def _measured(
    root: Path,
    plan: Plan,
    truth: Truth,
    known: Mapping[str, Known],
    ask: Callable[[Collection[str]], tuple[Mapping[str, Verdict], str | None]],
    *,
    again: bool,
) -> Kept:
    """`calibrate`, while nobody else measures the subject."""
    before, splits, examples = read_calibration(root, plan.subject), read_splits(root, plan.subject), read_example_patients(root, plan.subject)
    reads = test_reads(root, plan.subject)
    if plan.reads_test and reads and not again:
        raise ConfigError(
            f"the test set of {plan.subject} was read already; figures of a second reading are too good, because whoever improved the judge has seen the "
            f"first. Label new cases, or read it all the same with --again, which is recorded"
        )
    # An example of the prompt that was never labelled until now must not come into the test set.
    parts = parts_of(truth, known, plan.seed, {**dict.fromkeys(examples, "train"), **splits.parts})
    try:
        refuse_leaks({**parts, **splits.parts}, examples)
    except LeakError as error:
        raise ConfigError(f"{plan.subject}: {error}") from None
    write_splits(root, plan.subject, Splits(seed=plan.seed, parts={**splits.parts, **parts}))
    verdicts, model = ask(to_judge(truth, known, parts, reads_test=plan.reads_test))
    _refuse_silence(plan.subject, verdicts.values())
    plan = replace(plan, test_reads=reads + plan.reads_test, basis=plan.basis.model_copy(update={"model": model}))
    found = measure(plan, truth, known, parts, verdicts)
    kept = plan.reads_test or before is None or before.test is None or measured(before.basis) != measured(plan.basis)
    if kept:
        write_calibration(root, found)
    said = f"{TEST_READ}, time {plan.test_reads}" if plan.reads_test else "the dev set alone"
    decide(root, Decision(subject=plan.subject, at=plan.at, action="calibrate", reasons=(said,), calibration=measured(plan.basis)))
    return Kept(found, kept)


def _refuse_silence(subject: str, verdicts: Collection[Verdict]) -> None:
    """Refuse a measurement of a judge that was away: it would be kept, and the test set would count as read."""
    defects = [verdict for verdict in verdicts if isinstance(verdict, str) and verdict.startswith(DEFECT)]
    if len(defects) > UNANSWERED_MAX * len(verdicts):
        raise ConfigError(f"{subject}: its code failed on {len(defects)} of {len(verdicts)} cases, {min(defects)}; nothing was kept. Mend the scorer")
    silent = sum(verdict == "unanswered" for verdict in verdicts)
    if silent > UNANSWERED_MAX * len(verdicts):
        raise ConfigError(
            f"{subject} was asked about {len(verdicts)} cases and gave no verdict on {silent}; nothing was kept. touchstone doctor says whether it can be "
            f"reached"
        )
    unjudged = sum(verdict == "unjudged" for verdict in verdicts)
    if len(verdicts) > unjudged > UNJUDGED_MAX * len(verdicts):
        raise ConfigError(
            f"{subject} could not be asked about {unjudged} of {len(verdicts)} labelled cases, which lack what it reads; nothing was kept, because the others "
            f"would stand for all. Are these the cases that it judges?"
        )
    if verdicts and all(isinstance(verdict, str) for verdict in verdicts):
        raise ConfigError(f"{subject} has no verdict on any of {len(verdicts)} labelled cases; nothing was kept. Are these the cases that it judges?")


def test_reads(root: Path, subject: str) -> int:
    """How often the test set of a subject was read: by its history, so that no deleted file hides it."""
    before = read_calibration(root, subject)
    told = sum(one.action == "calibrate" and any(reason.startswith(TEST_READ) for reason in one.reasons) for one in read_history(root, subject))
    return max(told, before.test_reads if before is not None else 0)


def seed_of(root: Path, subject: str, seed: int | None) -> int:
    """The seed of a subject's split: the one that it was begun with. Raises `ConfigError` for another."""
    splits = read_splits(root, subject)
    if splits.parts and seed is not None and seed != splits.seed:
        raise ConfigError(f"{subject} was split with the seed {splits.seed}, and its patients keep their parts; leave --seed out")
    return splits.seed if splits.parts else seed or 0


def promote(root: Path, subject: str, now: Basis, at: datetime, *, by: str | None = None, force: str | None = None) -> Outcome:
    """Let a judge decide labels, if nothing speaks against it; the outcome has the exit code. `force`: why it may decide in spite of that.

    Force does not help a judge that was never measured, or that is another than was measured: nobody knows how good it is. Raises `ConfigError`.
    """
    calibration = read_calibration(root, subject)
    if calibration is None:
        return Outcome("REFUSED", f"{subject} was never calibrated; run touchstone judges calibrate {subject} --test", 1)
    if changed := stale(calibration, now, DECIDING):
        return Outcome("REFUSED", f"{'; '.join(changed)}; calibrate it again", 1)
    against = (*shortfalls(calibration), *stale(calibration, now))
    if against and force is None:
        return Outcome("REFUSED", f"{'; '.join(against)} (--force with --reason promotes it all the same, and is recorded)", 1)
    reasons = (*against, f"forced: {force}") if against else ()
    decide(root, Decision(subject=subject, at=at, action="promote", by=by, reasons=reasons, calibration=measured(calibration.basis)))
    return Outcome("PROMOTED", f"{subject} decides labels{' in spite of: ' + '; '.join(against) if against else ''}", 0)


def demote(root: Path, subject: str, at: datetime, *, by: str | None = None, reason: str | None = None) -> Outcome:
    """Put a judge into the shadow: it is asked and counted, and decides nothing. Raises `ConfigError`."""
    decide(root, Decision(subject=subject, at=at, action="demote", by=by, reasons=(reason,) if reason else ()))
    return Outcome("DEMOTED", f"{subject} runs in the shadow: it is asked and counted, and decides nothing", 0)
