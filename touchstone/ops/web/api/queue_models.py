"""Models of the JSON responses about review queues."""

from typing import Literal

from pydantic import Field

from touchstone.ops.store.queue_rows import QueueState
from touchstone.ops.web.api.models import Annotation, Can
from touchstone.ops.web.response_models import Answer


class Arms(Answer):
    """How many cases the filter chose, and how many were drawn at random."""

    chosen: int
    random: int


class StateCounts(Answer):
    """How many cases are in each state."""

    open: int
    needs_another: int
    disagreed: int
    settled: int


class Mine(Answer):
    """What the reviewer has done. `left`: cases that still need their verdict."""

    done: int
    skipped: int
    left: int


class Queue(Answer):
    """A review queue. `guideline`: the version that annotations name now. `reviewer`: the name of the token or link, under which one reviews.

    `mine`: of that reviewer, or of the one that the request names; null without one.
    """

    name: str
    title: str
    filter: str
    suite: str | None
    size: int | None
    share: float | None
    random_share: float
    random_size: int | None
    seed: int
    stratify: Literal["label", "suite", "model"] | None
    guideline: str | None
    reviewers: int
    blind: bool
    review_pass: int
    at: str
    total: int
    arms: Arms
    counts: StateCounts
    reviewer: str | None
    mine: Mine | None


class Queues(Answer):
    """All queues, the newest first. `can`: what this client may do with them."""

    queues: list[Queue]
    can: Can


class Pair(Answer):
    """Two reviewers on the cases that both reviewed. `same`: share with the same verdict. `kappa`: Cohen's, with its 95 % interval; null if undefined."""

    reviewers: tuple[str, str]
    cases: int
    same: float
    kappa: float | None
    low: float | None
    high: float | None


class Agreement(Answer):
    """Each pair of reviewers, those with the most cases first. In a blind queue: by the verdicts that were given before the others' could be seen."""

    pairs: list[Pair]


class OneQueue(Queue):
    """A queue with its guideline and the agreement of its reviewers."""

    guideline_text: str | None
    agreement: Agreement


class QueueCase(Answer):
    """A case of a queue. `arm`, `label`, `overall` and `severity` are absent as long as the reviewer may not know them. `reserved`: another has it now."""

    event_id: str
    result_id: str
    name: str
    place: int
    state: QueueState
    mine: Literal["done", "skipped"] | None
    reserved: bool
    arm: Literal["chosen", "random"] = Field(default="chosen")
    label: str = Field(default="")
    overall: float | None = Field(default=None)
    severity: str | None = Field(default=None)


class QueueCases(Answer):
    """A page of a queue, in the order of review."""

    items: list[QueueCase]
    next: str | None


class Turn(Answer):
    """The case that comes next, reserved for the reviewer, and the two after it. `item`: null if no case is left, or others have those that are."""

    item: QueueCase | None
    ahead: list[QueueCase]
    total: int
    done: int


class Differing(Answer):
    """A case on which reviewers differ, with what each of them says. `settled_by`: who has decided; null while nobody has."""

    event_id: str
    result_id: str
    name: str
    state: QueueState
    settled_by: str | None
    annotations: list[Annotation]


class Disagreements(Answer):
    """Cases on which reviewers differ."""

    items: list[Differing]
    next: str | None


class Link(Answer):
    """A link for one reviewer. `is_enforced`: false if this service has no tokens, so that everything is open to everybody who reaches it."""

    address: str
    expires_at: str
    is_enforced: bool


class Revoked(Answer):
    """All links to a queue were made useless."""

    revoked: bool


class GuidelineVersion(Answer):
    """A version of a guideline, without its text."""

    name: str
    version: int
    at: str
    by: str


class Guidelines(Answer):
    """The newest version of each guideline."""

    guidelines: list[GuidelineVersion]


class Guideline(GuidelineVersion):
    """A version of a guideline."""

    text: str


class ReviewSettings(Answer):
    """Tags for the keys 1 to 9, and severities, the worst first."""

    tags: list[str]
    severity_tags: list[str]
