"""Objects that review queues are made of."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.types import StringConstraints

from touchstone.schemas.annotation import PASS_MAX, Arm, Name

#: `open`: nobody has given a verdict. `needs_another`: fewer reviewers than the queue asks for. `disagreed`: they differ, and nobody has settled it.
QueueState = Literal["open", "needs_another", "disagreed", "settled"]
STATES: Final[tuple[QueueState, ...]] = ("open", "needs_another", "disagreed", "settled")
Action = Literal["reserve", "release", "skip", "unskip"]
#: Names of queues and guidelines: they are parts of addresses.
NAME: Final = r"^[a-z0-9][a-z0-9-]{0,63}$"
GUIDELINE: Final = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]{0,63})(?:@(?P<version>[1-9][0-9]{0,5}))?")
#: Cases of a queue. More are no work for people, and a smaller sample says as much.
CASES_MAX: Final = 200_000
GUIDELINE_CHARS_MAX: Final = 60_000
QueueName = Annotated[str, StringConstraints(pattern=NAME)]


class Definition(BaseModel):
    """What a queue holds, and how it is reviewed.

    `filter`: the query part of an address of /cases; those that fit are the chosen arm: all of them, the first `size` or a `share` of them by a hash of
    `seed` and event id. Beside them, a random arm is drawn from all cases of the same suite, time and source: `random_size` cases, or so many that they are
    `random_share` of the queue. `stratify`: as many of each label, suite or model as there are, up to the same number.
    `guideline`: a name follows its newest version, `name@3` stays. `reviewers`: verdicts that a case needs. `blind`: nobody sees scores or others' verdicts
    before giving one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    title: str = Field("", max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
    filter: str = Field("", max_length=4_000)
    suite: Name | None = None
    size: int | None = Field(None, ge=1, le=CASES_MAX)
    share: float | None = Field(None, gt=0, le=1)
    random_share: float = Field(0.2, ge=0, lt=1)
    random_size: int | None = Field(None, ge=0, le=CASES_MAX)
    seed: int = Field(0, ge=0, lt=2**31)
    stratify: Literal["label", "suite", "model"] | None = None
    guideline: Annotated[str, StringConstraints(pattern=rf"^{GUIDELINE.pattern}$")] | None = None
    reviewers: int = Field(1, ge=1, le=20)
    blind: bool = True
    review_pass: int | None = Field(None, ge=1, le=PASS_MAX)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many cases of a queue there are: by arm, and by state."""

    arms: dict[str, int]
    states: dict[str, int]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.arms.values())


@dataclass(frozen=True, slots=True)
class Mine:
    """What one reviewer has done in a queue. `left`: cases that still need a verdict of theirs."""

    done: int
    skipped: int
    left: int


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A queue. `link_key`: part of the key of its links; show it to nobody."""

    name: str
    definition: Definition
    link_key: str
    at: datetime

    @property
    def review_pass(self) -> int:
        """The pass of the annotations that are written in it."""
        return self.definition.review_pass or 1


@dataclass(frozen=True, slots=True)
class QueueCase:
    """A case of a queue, as one reviewer sees it. `verdict`: the reviewer's own, empty without one. `reserved`: another reviewer has it now.

    `suite`, `case_id`, `label`, `overall`, `severity`: of the result that brought it here.
    """

    event_id: str
    result_id: str
    place: int
    arm: Arm
    state: QueueState
    suite: str
    case_id: str
    label: str
    overall: float | None
    severity: str
    verdict: str
    skipped: bool
    reserved: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """What comes next for a reviewer, and the cases after it."""

    item: QueueCase | None
    ahead: tuple[QueueCase, ...]


@dataclass(frozen=True, slots=True)
class Guideline:
    """One version of a text that says what passes."""

    name: str
    version: int
    text: str
    by: str
    at: datetime
