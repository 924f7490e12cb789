"""What people say of a case, for one subject: a suite's label, or one mode of failure. The labels that a judge is measured against.

A suite fails a case if people's verdict is fail. A mode fails it only if people name that mode: a case that failed for another reason is a pass of this
mode, and one that failed without a reason says nothing of it.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, Literal

from touchstone.schemas.annotation import AnnotationRecord, Arm
from touchstone.schemas.counting import current, newest, of_each_reviewer

#: Why a labelled case is not counted → what that means, as reports print it.
LEFT_OUT: Final = {
    "withdrawn": "every reviewer took the annotation back",
    "no_verdict": "nobody gave a verdict",
    "other_suite": "people judged it for another suite",
    "uncoded": "it failed, and no failure mode is coded",
    "disagreed": "reviewers disagree, and no verdict is settled",
    "chosen": "it was chosen for review by a filter, which biases rates",
    "no_input": "the case is not at hand",
    "unjudged": "the judge could not be asked about it, such as a mode without the list that it reads",
    "unanswered": "the judge was asked and gave no verdict",
    "defect": "the code of the judge failed with this error; it is a defect, please report it",
    "reviewed": "the suite's label is Review or Warn, and these are left out",
}
Verdict = Literal["fail", "pass", "uncoded", "no_verdict"]


@dataclass(frozen=True, slots=True)
class Label:
    """What people say of one case. `arm`: how it came into review; None outside a queue. `settled`: reviewers disagreed, and one verdict was settled."""

    trace_id: str
    fails: bool
    guideline: str | None = None
    arm: Arm | None = None
    reviewers: tuple[str, ...] = ()
    settled: bool = False

    @property
    def is_unbiased(self) -> bool:
        """True if rates may be estimated from it: it was not chosen for review by what a judge said of it."""
        return self.arm != "chosen"


@dataclass(frozen=True, slots=True)
class Truth:
    """The labels of a subject. `left_out`: reason → annotated cases without a label. `pairs`: the verdicts of two reviewers on a case that both judged."""

    labels: tuple[Label, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    pairs: tuple[tuple[bool, bool], ...] = ()

    @property
    def digest(self) -> str:
        """Of all labels, whatever their order."""
        whole = sorted(f"{one.trace_id}\n{one.fails:d}\n{one.arm or ''}\n{one.guideline or ''}" for one in self.labels)
        return hashlib.sha256("\n\n".join(whole).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def guideline(self) -> str | None:
        """The versions by which the labels were given, such as `clinical@3`; None if no annotation names one."""
        return ", ".join(sorted({one.guideline for one in self.labels if one.guideline})) or None


def labels_of(records: Iterable[AnnotationRecord], subject: str) -> Truth:
    """The labels of a subject (`SUITE`, or `SUITE/MODE`), from annotations in the order in which they were written.

    Which annotations count: see `schemas.counting`. The labels come in the order in which their cases were first annotated.
    """
    suite, _, mode = subject.partition("/")
    by_case: dict[str, list[AnnotationRecord]] = {}
    for one in records:
        by_case.setdefault(one.trace_id, []).append(one)
    labels: list[Label] = []
    left_out: Counter[str] = Counter()
    pairs: list[tuple[bool, bool]] = []
    for trace_id, written in by_case.items():
        found = _label(trace_id, written, suite, mode, pairs)
        if isinstance(found, Label):
            labels.append(found)
        else:
            left_out[found] += 1
    return Truth(tuple(labels), dict(left_out), tuple(pairs))


def guideline_now(followed: str | None, newest: Mapping[str, int]) -> str | None:
    """The guidelines that labels follow, as `Truth.guideline` names them, with any newer version that there is by now. `newest`: name → version."""
    if not followed:
        return followed
    versions = set(followed.split(", "))
    versions |= {f"{name}@{newest[name]}" for one in tuple(versions) if (name := one.rpartition("@")[0]) in newest}
    return ", ".join(sorted(versions))


def _label(trace_id: str, written: Sequence[AnnotationRecord], suite: str, mode: str, pairs: list[tuple[bool, bool]]) -> Label | str:
    """The label of a case, or why it has none. Adds the verdicts of reviewers who both judged it to `pairs`."""
    own = [one for one in written if one.suite is None or one.suite == suite]
    if not own:
        return "other_suite"
    # What was said of the case as a whole and what was said of this suite are one opinion here: the later one counts.
    deciding = current(own, _trace)
    if not deciding:
        return "withdrawn"
    said = [(one, _verdict(one, mode)) for one in deciding]
    # After a settlement only the settled note is coded. A failure that somebody found before it counts as that one, or only the agreements would be compared.
    settled = next((verdict for one, verdict in said if one.settled and one.verdict == "fail"), "uncoded")
    verdicts = (verdict if (verdict := _verdict(one, mode)) != "uncoded" else settled for one in of_each_reviewer(own, _trace))
    pairs += combinations([verdict == "fail" for verdict in verdicts if verdict in {"fail", "pass"}], 2)
    decided = [(one, verdict) for one, verdict in said if verdict in {"fail", "pass"}]
    # What somebody failed without saying why may be this mode, though another passed the case.
    verdicts_said = {verdict for _, verdict in said}
    if "uncoded" in verdicts_said and "fail" not in verdicts_said:
        return "uncoded"
    if not decided:
        return "no_verdict"
    if len({verdict for _, verdict in decided}) > 1:
        return "disagreed"
    return Label(
        trace_id=trace_id,
        fails=decided[0][1] == "fail",
        guideline=next((one.guideline for one, _ in reversed(decided) if one.guideline), None),
        arm=_arm(newest(own, _trace)),
        reviewers=tuple(sorted(one.reviewer for one, _ in decided)),
        settled=any(one.settled for one, _ in decided),
    )


def _trace(one: AnnotationRecord) -> str:
    return one.trace_id


def _verdict(one: AnnotationRecord, mode: str) -> Verdict:
    """What one annotation says of a subject. `mode`: empty for a suite's label."""
    if one.verdict is None:
        return "no_verdict"
    if one.verdict == "pass" or not mode:
        return one.verdict
    named = {one.failure_mode, *(one.common_issues or ())} - {None}
    return "uncoded" if not named else "fail" if mode in named else "pass"


def _arm(annotations: Iterable[AnnotationRecord]) -> Arm | None:
    """How a case came into review. One that chance drew for one queue may be counted, whatever other queue it was chosen for."""
    arms = {one.arm for one in annotations}
    return "random" if "random" in arms else "chosen" if "chosen" in arms else None
