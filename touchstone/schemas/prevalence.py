"""What is known of a judge now: its state, and the live rate of failures, corrected for its errors."""

from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from touchstone.schemas.calibration import Calibration, Count, Decision, Subject

#: CloudEvents type of a prevalence event, on the topic of reports.
PREVALENCE_TYPE: Final = "touchstone:prevalence:v1"
Share = Annotated[float, Field(ge=0, le=1)]
#: `uncalibrated`: never measured. `shadow`: its answers are counted and decide no label. `promoted`: they decide. `stale`: it is another than was measured.
State = Literal["uncalibrated", "shadow", "promoted", "stale"]


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=True)


class Window(_Written):
    """A span of time; `to` lies outside of it."""

    since: AwareDatetime = Field(alias="from")
    until: AwareDatetime = Field(alias="to")


class Seen(_Written):
    """What the judge says: it failed `count` of `total` cases."""

    count: Count
    total: Count


class LivePrevalence(_Written):
    """The live failure rate of a subject, corrected for its judge's errors. `low`, `high`: 95 % interval.

    `seen`: of the results of the window that the calibrated judge made; `others`: results by another version or configuration, which are not counted.
    `refused`: why there is no corrected rate. `stale`: what has changed since the calibration. `calibration_at`: when that was made.
    """

    subject: Subject
    window: Window
    seen: Seen
    others: Count = 0
    corrected: Share | None = None
    low: Share | None = None
    high: Share | None = None
    refused: str | None = None
    calibration_at: AwareDatetime
    stale: tuple[str, ...] = ()


class JudgeStatus(_Written):
    """A judge as the live system knows it. `decides`: its answers may decide labels. `reasons`: what speaks against it. `stale`: what has changed since it
    was measured. `outdated`: more than labels has, so the measurement is of another judge or another guideline. `below_floor`: what its recalls lack of the
    floor. `history`: the latest decisions, the newest last.
    """

    subject: Subject
    state: State
    decides: bool
    reasons: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    outdated: bool = False
    below_floor: tuple[str, ...] = ()
    calibration: Calibration | None = None
    prevalence: LivePrevalence | None = None
    history: tuple[Decision, ...] = ()
