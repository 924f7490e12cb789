"""Models of the JSON of error analyses: the answer, and the bodies that code."""

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from touchstone.ops.web.api.bodies import Body
from touchstone.ops.web.response_models import Answer
from touchstone.schemas.annotation import PASS_MAX, Name
from touchstone.scorers.calibration.failure_coding import CategoryName, FailureKind

#: Annotations of one request.
MEMBERS_MAX = 1_000
DESCRIPTION_CHARS_MAX = 2_000


class Share(Answer):
    """A share of cases with its 95 % interval (Wilson)."""

    count: int
    total: int
    share: float
    low: float
    high: float


class Example(Answer):
    """A trace, and the event of it that was annotated."""

    trace_id: str
    event_id: str


class FailureKindCounted(Answer):
    """A kind of failure. `name`: null for failures without one. `rate`: null where no reviewed case may be counted. `cases`: all that have it.

    `description`: null without the scope text.
    """

    name: str | None
    kind: FailureKind | None
    description: str | None
    cases: int
    rate: Share | None
    examples: list[Example]


class FailureNoted(Answer):
    """A failure as a reviewer noted it. `suite`: whose result was judged; null for the case as a whole. `notes`: null without the scope text."""

    trace_id: str
    event_id: str
    reviewer: str
    suite: str | None
    category: str | None
    settled: bool
    notes: str | None


class SaturationCounted(Answer):
    """New kinds of failure in each `step` cases, in the order of their review. `unseen`: Chao1's estimate of kinds that no case has shown, a lower bound."""

    step: int
    new_kinds: list[int]
    kinds: int
    unseen: float


class PassCounted(Answer):
    """A review pass: its annotations, those of them with a category, and how many categories."""

    review_pass: int
    cases: int
    annotations: int
    coded: int
    categories: int


class CodingRights(Answer):
    """What this client may do here."""

    text: bool
    annotate: bool


class Errors(Answer):
    """An error analysis. `base`: what shares are of: cases that queues drew at random, those of no queue's filter, all reviewed ones, or none.

    `withheld`: annotations of blind queues that still await verdicts; they are left out. `failures`: the first of `failures_total`.
    """

    reviewed: int
    without_verdict: int
    disagreed: int
    failed: int
    rate: Share | None
    base: Literal["random", "outside", "all", "none"]
    base_total: int
    withheld: int
    review_pass: int
    categories: list[FailureKindCounted]
    saturation: SaturationCounted
    passes: list[PassCounted]
    failures: list[FailureNoted]
    failures_total: int
    can: CodingRights


class MemberBody(Body):
    """An annotation, and the category that the client saw it in. `suite`: as `failures` names it."""

    trace_id: Name
    reviewer: Name
    suite: Name | None = None
    category: Name | None = None


class CodingBody(Body):
    """One act of coding.

    `assign`: put `annotations` into the category `to`, or, with null, into none; also splits a category. `rename`: give `category` the name `to`; if there is
    one of that name, both are merged. `describe`: say what `category` is. `review_pass`: to write in, at most one above the highest; by default that.
    """

    action: Literal["assign", "rename", "describe"]
    annotations: tuple[MemberBody, ...] = Field((), max_length=MEMBERS_MAX)
    category: CategoryName | None = None
    to: CategoryName | None = None
    kind: FailureKind | None = None
    description: Annotated[str, Field(max_length=DESCRIPTION_CHARS_MAX, pattern=r"^[^\x00]*$")] = ""
    review_pass: int | None = Field(None, ge=1, le=PASS_MAX)

    @model_validator(mode="after")
    def _whole(self) -> "CodingBody":
        """Refuse an act that lacks what it needs."""
        if self.action == "assign" and not self.annotations:
            raise PydanticCustomError("no_annotations", "needs annotations")
        if self.action != "assign" and self.category is None:
            raise PydanticCustomError("no_category", "needs a category")
        if self.action == "rename" and self.to is None:
            raise PydanticCustomError("no_name", "needs the new name as to")
        return self
