"""Measures a judge against people: labels, the judge's verdicts and a split of patients → a calibration."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from touchstone.schemas.calibration import Basis, Calibration, Counts, ReviewAs, Slice
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.calibration.agreement import agreement
from touchstone.scorers.calibration.folder import patient_digest
from touchstone.scorers.calibration.recalls import Recalls
from touchstone.scorers.calibration.splits import Part, split
from touchstone.scorers.calibration.truth import Label, Truth

#: Cases that a slice must have to be shown, slices of a calibration, and disagreements that are listed.
SLICE_LEAST: Final = 5
SLICES_MAX: Final = 60
LISTED_MAX: Final = 500
#: Kinds of failure of something that may answer another time.
AWAY: Final = frozenset({"unavailable", "shed", "timeout"})
#: Begins the reason of a case on which the code of the judge failed; the name of the error follows.
DEFECT: Final = "defect"
#: A judge's verdict: true if it fails the case, or why there is none.
Verdict = bool | str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a labelled case before the judge is asked. `patient`: a digest. `slices`: names and values of parts that it belongs to."""

    patient: str
    slices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """How a judge is measured. `basis`: what is measured, with the labels. `test_reads`: how often the test set was read, this time included, if it is."""

    subject: str
    at: datetime
    basis: Basis
    seed: int
    floor: float
    least: int
    reads_test: bool
    test_reads: int
    review_as: ReviewAs = "pass"


def patient_of(identity: Iterable[str], trace_id: str) -> str:
    """The digest that stands for the patient of a case; of the trace, if nothing identifies the patient."""
    known = tuple(identity)
    return patient_digest(*known) if known else patient_digest("trace", trace_id)


def parts_of(truth: Truth, known: Mapping[str, Known], seed: int, before: Mapping[str, Part]) -> dict[str, Part]:
    """Patient → part, of the labelled cases that are at hand. `before`: patients of an earlier split keep their part."""
    return split(((known[one.trace_id].patient, one.fails) for one in truth.labels if one.trace_id in known), seed, known=before)


def to_judge(truth: Truth, known: Mapping[str, Known], parts: Mapping[str, Part], *, reads_test: bool) -> list[str]:
    """The traces whose verdicts are needed: those of the dev set, and of the test set if it is read. Nobody else's are looked at."""
    wanted = []
    for one in truth.labels:
        part = parts[known[one.trace_id].patient] if one.trace_id in known else "train"
        if part == "dev" or (part == "test" and reads_test and one.is_unbiased):
            wanted.append(one.trace_id)
    return wanted


def verdict_of(result: ScoreResult, judge: str, review_as: ReviewAs = "pass") -> Verdict:
    """What a result says of a case: its label, or the value of one judge. A text says why it has no verdict."""
    if judge and (value := result.values.get(judge)) is not None:
        return value < 1
    # A case that was not scored at all has the suite's own failure, and none of the judge.
    if defect := next((one.code for one in result.failures if one.kind == "scorer_error"), None):
        return f"{DEFECT} ({defect})"
    if judge and any(one.component == judge for one in result.failures):
        return "unanswered"
    if judge or result.label == "unscored":
        return "unanswered" if any(one.kind in AWAY and (not judge or one.component == result.suite) for one in result.failures) else "unjudged"
    if result.label in {"Pass", "Fail"}:
        return result.label == "Fail"
    return "reviewed" if review_as == "leave-out" else review_as == "fail"


def measure(plan: Plan, truth: Truth, known: Mapping[str, Known], parts: Mapping[str, Part], verdicts: Mapping[str, Verdict]) -> Calibration:
    """Measure a judge. `verdicts`: trace → verdict, of those that `to_judge` names.

    Cases that were chosen for review by a filter count in the dev set, and never in the test set: a queue of what the judge failed would show only
    failures that it finds.
    """
    left_out = Counter(truth.left_out)
    compared: dict[Part, list[tuple[Label, bool]]] = {"dev": [], "test": []}
    train = 0
    for one in truth.labels:
        if one.trace_id not in known:
            left_out["no_input"] += 1
            continue
        part = parts[known[one.trace_id].patient]
        if part == "train":
            train += 1
        elif part == "test" and not one.is_unbiased:
            left_out["chosen"] += 1
        elif part == "dev" or plan.reads_test:
            verdict = verdicts.get(one.trace_id, "unjudged")
            if isinstance(verdict, str):
                left_out[verdict] += 1
            else:
                compared[part].append((one, verdict))
    kappa = agreement(truth.pairs).kappa if truth.pairs else None
    return Calibration(
        subject=plan.subject,
        at=plan.at,
        basis=plan.basis,
        seed=plan.seed,
        train=train,
        dev=_counts(compared["dev"]),
        test=_counts(compared["test"]) if plan.reads_test else None,
        test_reads=plan.test_reads,
        floor=plan.floor,
        least=plan.least,
        review_as=plan.review_as,
        kappa=kappa,
        slices=_slices([*compared["dev"], *compared["test"]], known),
        left_out=dict(sorted(left_out.items())),
        disagreements=tuple(sorted(one.trace_id for one, verdict in compared["dev"] if one.fails is not verdict)[:LISTED_MAX]),
    )


def _counts(compared: Iterable[tuple[Label, bool]]) -> Counts:
    found = Recalls.of((one.fails, verdict) for one, verdict in compared)
    return Counts(failed=found.failed, failed_found=found.failed_found, passed=found.passed, passed_found=found.passed_found)


def _slices(compared: Iterable[tuple[Label, bool]], known: Mapping[str, Known]) -> tuple[Slice, ...]:
    """The counts of each part of the cases with at least a handful of them, the largest first in each kind. Cases chosen by a filter bias recalls."""
    parts: dict[tuple[str, str], list[tuple[Label, bool]]] = {}
    for one, verdict in compared:
        if one.is_unbiased:
            named = known[one.trace_id].slices + ((("guideline", one.guideline),) if one.guideline else ())
            for name in named:
                parts.setdefault(name, []).append((one, verdict))
    shown = sorted((name, -len(cases), value) for (name, value), cases in parts.items() if len(cases) >= SLICE_LEAST)
    return tuple(Slice(name=name, value=value, counts=_counts(parts[name, value])) for name, _, value in shown[:SLICES_MAX])
