"""The settings in `config/selftest.yaml`. Names, defaults and meanings are the specification's; our additions are marked."""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from touchstone.scorers.selftest.system_settings import AWAITING, COMPLETE, Seconds, Status, Strict, SystemSettings

#: Strictness 1 adds this to the score that passes (specification, "Strictness Adjustment").
STRICTNESS_SPAN = 0.2

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Temperature = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]
ScenarioId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Text = Annotated[str, Field(min_length=1, max_length=4_000, pattern=r"\S")]


class Asked(Strict):
    """How a model is asked. `temperature`: null is not sent, for models that refuse one. `max_tokens`: of its answer."""

    model: str = Field("gpt-4o-mini", min_length=1, max_length=200)
    temperature: Temperature | None = 0.0
    max_tokens: Annotated[int, Field(ge=16, le=100_000)] = 1_000


class GeneratorSettings(Asked):
    """The model that writes requests. `attempts_max` (ours): how often it is asked for one that is safe and can be read."""

    temperature: Temperature | None = 0.7
    max_tokens: Annotated[int, Field(ge=16, le=100_000)] = 500
    attempts_max: Annotated[int, Field(ge=1, le=20)] = 4


class ReplyStep(Strict):
    """A reply to a system that asked back, and the status expected after it."""

    reply: Text
    expected_status: Status


class FollowUp(Strict):
    """The next turn of a scripted conversation (ours), sent whatever the system answered before. `hints`: what the judge should look for in its answer."""

    prompt: Text
    expected_status: Status = COMPLETE
    hints: Text | None = None


class Scenario(Strict):
    """A kind of request and the status that it should end with.

    Ours: `instructions`, what the generator is told, where it is no known scenario; `prompt`, a fixed request, for which no generator is asked, with
    `hints` for the judge; `follow_ups`, the later turns of the conversation, after the replies.
    """

    id: ScenarioId
    description: Text
    expected_status: Status
    requires_reply: bool = False
    reply_flow: list[ReplyStep] = Field(default_factory=list, max_length=10)
    instructions: Text | None = None
    prompt: Text | None = None
    hints: Text | None = None
    follow_ups: list[FollowUp] = Field(default_factory=list, max_length=20)

    @model_validator(mode="after")
    def _is_fixed_or_written(self) -> Self:
        """Refuse keys without effect."""
        if self.prompt is not None and self.instructions is not None:
            raise ValueError("prompt and instructions: a fixed request needs no generator; keep one of them")
        if self.prompt is None and self.hints is not None:
            raise ValueError("hints belong to a fixed request; add prompt, or leave them out, since the generator writes its own")
        return self

    @model_validator(mode="after")
    def _replies_can_be_sent(self) -> Self:
        """Refuse a reply flow that could never be played: a reply only goes to a system that waits for one."""
        if self.requires_reply != bool(self.reply_flow):
            raise ValueError("requires_reply and reply_flow go together: give both, or neither")
        asking = [self.expected_status, *(step.expected_status for step in self.reply_flow[:-1])] if self.reply_flow else []
        if any(status != AWAITING for status in asking):
            raise ValueError(f"a reply is only sent to a system in {AWAITING}: expect that status before each reply")
        return self


#: Cases of one run, repeats included: the report holds all of them.
CASES_MAX = 5_000


def repeated_id(scenarios: Iterable[Scenario]) -> str | None:
    """The first id that is given twice; None if there is none."""
    seen: set[str] = set()
    return next((one.id for one in scenarios if one.id in seen or seen.add(one.id)), None)  # type: ignore[func-returns-value]  # `add` returns None


class SelftestSettings(Strict):
    """The whole file. Ours: `repeat`, how often each request is sent; `concurrency`, how many cases run at a time; `system`."""

    version: Literal[1]
    strictness: Share = 0.7
    min_score_to_pass: Share = 0.6
    allow_minor_format_deviation: bool = True
    max_questions_allowed: Annotated[int, Field(ge=0, le=1_000)] = 5
    timeout_seconds: Seconds = 60
    repeat: Annotated[int, Field(ge=1, le=100)] = 1
    concurrency: Annotated[int, Field(ge=1, le=64)] = 1
    generator: GeneratorSettings = Field(default_factory=GeneratorSettings)
    judge: Asked = Field(default_factory=Asked)
    scenarios: list[Scenario] = Field(min_length=1, max_length=200)
    system: SystemSettings | None = None

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        """Refuse settings under which no case could pass."""
        if self.effective_threshold > 1:
            raise ValueError("min_score_to_pass + strictness * 0.2 is above 1, so nothing could pass; lower one of them")
        if twice := repeated_id(self.scenarios):
            raise ValueError(f"scenarios: id {twice} is given twice; ids name the cases of a report")
        return self

    @property
    def effective_threshold(self) -> float:
        """The least overall score that passes; rounded, so that 0.6 + 0.5·0.2 is 0.7."""
        return round(self.min_score_to_pass + self.strictness * STRICTNESS_SPAN, 9)
