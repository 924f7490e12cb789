"""What a calibration leaves behind: how well a judge agrees with people, and of what exactly that was measured."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.types import StringConstraints

#: A judge of its own (`failure_modes/missing_labs`), or a suite whose label is held against people's verdicts (`safe_v0`).
Subject = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}(/[a-z][a-z0-9_]{0,63})?$")]
#: What the labels Review and Warn count as.
ReviewAs = Literal["pass", "fail", "leave-out"]
Count = Annotated[int, Field(ge=0)]


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Basis(_Written):
    """What was measured. A calibration is stale as soon as any of these is another.

    `judge`: digest of code and settings that decide (for a suite its version and configuration digest). `prompt`: of prompt and examples, null for code.
    `model`: as the server names it, with its snapshot; null for code. `guideline`: version, such as `clinical@3`; null where annotations name none.
    `labels`: digest of all labels that were used.
    """

    judge: str
    prompt: str | None = None
    model: str | None = None
    guideline: str | None = None
    labels: str


class Counts(_Written):
    """Cases by verdict: what people say, and for how many of them the judge agrees."""

    failed: Count
    failed_found: Count
    passed: Count
    passed_found: Count


class Slice(_Written):
    """The counts of one part of the cases, such as `model=a`."""

    name: str
    value: str
    counts: Counts


class Calibration(_Written):
    """One calibration. `test_reads`: how often the test set was read for this subject, this time included; more than one makes its figures too good.

    `left_out`: labelled cases that were not counted, by reason. `disagreements`: ids of cases of the dev set on which judge and people differ. `kappa`:
    agreement of reviewers who judged the same cases; null where there are none. `review_as`: how the labels Review and Warn of a suite were counted.
    """

    subject: Subject
    at: AwareDatetime
    basis: Basis
    seed: int
    train: Count
    dev: Counts
    test: Counts | None
    test_reads: Count
    floor: float
    least: Count
    review_as: ReviewAs = "pass"
    kappa: float | None = None
    slices: tuple[Slice, ...] = ()
    left_out: dict[str, Count] = Field(default_factory=dict)
    disagreements: tuple[str, ...] = ()


class Decision(_Written):
    """A line of a judge's history. `promote`: it may decide labels. `demote`: it runs in the shadow. `reasons`: what spoke against it, if it was forced."""

    subject: Subject
    at: AwareDatetime
    action: Literal["calibrate", "promote", "demote"]
    by: str | None = None
    reasons: tuple[str, ...] = ()
    calibration: str | None = None
