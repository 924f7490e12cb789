"""Models of the API's response about judges."""

from touchstone.ops.web.response_models import Answer
from touchstone.schemas.calibration import Calibration, Decision
from touchstone.schemas.prevalence import LivePrevalence, State


class Recall(Answer):
    """So many found of so many, with Wilson's 95 % interval."""

    count: int
    total: int
    share: float | None
    low: float | None
    high: float | None


class JudgeRecalls(Answer):
    """`fail_recall`: of the cases that people fail, those that the judge fails. `pass_recall`: of those that they pass, those that it passes."""

    fail_recall: Recall
    pass_recall: Recall


class Judge(Answer):
    """A judge held against people. `decides`: its answers may decide labels. `reasons`: what speaks against it. `stale`: what has changed since it was
    measured; `outdated`: more than the labels. `below_floor`: what it lacks of its floor. `recalls`: on the test set. `at`: when all this was found out.
    """

    subject: str
    title: str
    suite: str
    state: State
    decides: bool
    reasons: list[str]
    stale: list[str]
    outdated: bool
    below_floor: list[str]
    recalls: JudgeRecalls | None
    calibration: Calibration | None
    prevalence: LivePrevalence | None
    history: list[Decision]
    at: str


class Judges(Answer):
    """The judges of the suites that the token may see, by subject."""

    judges: list[Judge]
