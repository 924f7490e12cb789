"""The settings in `config/selftest.yaml`. Names, defaults and meanings are the specification's; our additions are marked."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

AWAITING, COMPLETE = "AWAITING_RESPONSE", "COMPLETE"
#: Strictness 1 adds this to the score that passes (specification, "Strictness Adjustment").
STRICTNESS_SPAN = 0.2

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Temperature = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
#: Statuses as systems write them: COMPLETE, AWAITING_RESPONSE, ERROR.
Status = Annotated[str, Field(pattern=r"^[A-Z][A-Z_]{0,39}$")]
ScenarioId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
#: The name of a topic for self-tests alone; no production topic has such a name by accident.
SelftestTopic = Annotated[str, Field(max_length=249, pattern=r"^([a-zA-Z0-9._-]+\.)?selftest([._-][a-zA-Z0-9._-]+)?$")]
Text = Annotated[str, Field(min_length=1, max_length=4_000, pattern=r"\S")]


class Strict(BaseModel):
    """A part of the file: unknown keys and values of another type are refused, and errors never quote values."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


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


class Scenario(Strict):
    """A kind of request and the status that it should end with. `instructions` (ours): what the generator is told, where it is no known scenario."""

    id: ScenarioId
    description: Text
    expected_status: Status
    requires_reply: bool = False
    reply_flow: list[ReplyStep] = Field(default_factory=list, max_length=10)
    instructions: Text | None = None

    @model_validator(mode="after")
    def _replies_can_be_sent(self) -> Self:
        """Refuse a reply flow that could never be played: a reply only goes to a system that waits for one."""
        if self.requires_reply != bool(self.reply_flow):
            raise ValueError("requires_reply and reply_flow go together: give both, or neither")
        asking = [self.expected_status, *(step.expected_status for step in self.reply_flow[:-1])] if self.reply_flow else []
        if any(status != AWAITING for status in asking):
            raise ValueError(f"a reply is only sent to a system in {AWAITING}: expect that status before each reply")
        return self


class HttpSystem(Strict):
    """A system behind HTTP. `{task_id}` in a path is the task's. `token_variable`: environment variable with its bearer token."""

    adapter: Literal["http"]
    url: str = Field(pattern=r"^https?://[^\s?#]+$", max_length=2_000)
    submit_path: str = Field("/tasks", pattern=r"^/\S*$")
    status_path: str = Field("/tasks/{task_id}", pattern=r"^/\S*$")
    reply_path: str = Field("/tasks/{task_id}/reply", pattern=r"^/\S*$")
    poll_interval_seconds: Seconds = 0.5
    token_variable: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")


class PythonSystem(Strict):
    """A function in this process: `package.module:function`, with or without `async`."""

    adapter: Literal["python"]
    function: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$", max_length=300)


class KafkaSystem(Strict):
    """A system that reads requests from one topic and writes replies to another. Both must be of the self-test's own: a part of their names says so."""

    adapter: Literal["kafka"]
    request_topic: SelftestTopic = "selftest.requests"
    reply_topic: SelftestTopic = "selftest.replies"

    @model_validator(mode="after")
    def _two_topics(self) -> Self:
        """Requests that are read as replies would answer themselves."""
        if self.request_topic == self.reply_topic:
            raise ValueError("request_topic and reply_topic are the same; name two topics")
        return self


SystemSettings = Annotated[HttpSystem | PythonSystem | KafkaSystem, Field(discriminator="adapter")]


class SelftestSettings(Strict):
    """The whole file."""

    version: Literal[1]
    strictness: Share = 0.7
    min_score_to_pass: Share = 0.6
    allow_minor_format_deviation: bool = True
    max_questions_allowed: Annotated[int, Field(ge=0, le=1_000)] = 5
    timeout_seconds: Seconds = 60
    generator: GeneratorSettings = Field(default_factory=GeneratorSettings)
    judge: Asked = Field(default_factory=Asked)
    scenarios: list[Scenario] = Field(min_length=1, max_length=200)
    system: SystemSettings | None = None

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        """Refuse settings under which no case could pass."""
        if self.effective_threshold > 1:
            raise ValueError("min_score_to_pass + strictness * 0.2 is above 1, so nothing could pass; lower one of them")
        ids = [scenario.id for scenario in self.scenarios]
        if twice := sorted({one for one in ids if ids.count(one) > 1}):
            raise ValueError(f"scenarios: id {twice[0]} is given twice; ids name the cases of a report")
        return self

    @property
    def effective_threshold(self) -> float:
        """The least overall score that passes; rounded, so that 0.6 + 0.5·0.2 is 0.7."""
        return round(self.min_score_to_pass + self.strictness * STRICTNESS_SPAN, 9)
