"""Bodies of requests to review queues."""

from typing import Literal

from pydantic import Field

from touchstone.ops.store.queue_rows import GUIDELINE_CHARS_MAX, Definition, QueueName
from touchstone.ops.web.api.bodies import Body
from touchstone.schemas.annotation import Name

DAY_S = 86_400


class QueueBody(Definition, Body):
    """A queue to make."""

    name: QueueName

    def definition(self) -> Definition:
        """The queue without its name."""
        return Definition(**self.model_dump(exclude={"name"}))


class NextBody(Body):
    """Who wants the next case. `after`: the case that they come from. `skip_reserved`: not one that other reviewers have."""

    reviewer: Name | None = None
    after: Name | None = None
    skip_reserved: bool = True


class ActionBody(Body):
    """What a reviewer does with a case beside annotating it."""

    action: Literal["reserve", "release", "skip", "unskip"]
    reviewer: Name | None = None


class LinkBody(Body):
    """Who may review through a link, and for how long: from a minute to 90 days."""

    reviewer: Name
    expires_in_s: int = Field(7 * DAY_S, ge=60, le=90 * DAY_S)


class GuidelineBody(Body):
    """The text of a guideline."""

    text: str = Field(min_length=1, max_length=GUIDELINE_CHARS_MAX, pattern=r"^[^\x00]*$")
