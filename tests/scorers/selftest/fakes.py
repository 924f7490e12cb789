"""A judge without a model, and a system under test as a function."""

from collections.abc import Callable, Mapping
from typing import Any

from touchstone.scorers.judges.ask.judge import Answer, Prompt, Unanswered, Usage
from touchstone.scorers.selftest.generator import Written
from touchstone.scorers.selftest.rubric import RubricVerdict
from touchstone.scorers.selftest.system import Outcome, SystemFault, Task

GOOD = {
    "format_score": 0.9,
    "factuality_score": 1.0,
    "instruction_following_score": 0.85,
    "safety_score": 1.0,
    "overall_score": 0.1,
    "pass": False,
    "reasoning": "As asked.",
}
WRITTEN = "PROMPT: Summarise the README in 3 lines.\nHINTS: Three lines, nothing invented."


class FakeJudge:
    """Answers by a function of the fields: a mapping is the verdict, an exception is raised. `asked`: the prompt's name and fields of every question."""

    def __init__(self, rubric: Any = None, written: Any = None) -> None:
        self._rubric = rubric if callable(rubric) else lambda _: rubric or GOOD
        self._written = written if callable(written) else lambda _: written or WRITTEN
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.is_closed = False

    async def ask(self, prompt: Prompt, fields: Mapping[str, str], verdict: type[Any]) -> Answer[Any]:
        assert fields.keys() == prompt.fields
        self.asked.append((prompt.name, dict(fields)))
        told = self._written(fields) if verdict is Written else self._rubric(fields)
        if isinstance(told, Exception):
            raise told
        document = {"text": told} if verdict is Written else told
        try:
            answer = verdict.model_validate(document)
        except ValueError:
            raise Unanswered("wrong_form", Usage(calls=2, wasted=2, cost_usd=0.001)) from None
        return Answer(answer, "fake-1", Usage(cost_usd=0.01, calls=1))

    def readings(self) -> tuple[()]:
        return ()

    async def close(self) -> None:
        self.is_closed = True

    def fields_of(self, name: str) -> list[dict[str, str]]:
        return [fields for prompt, fields in self.asked if prompt == name]


class FakeSystem:
    """A system whose answers are listed: an outcome as (status, output), or a fault."""

    name = "fake"

    def __init__(self, *answers: Any, always: Callable[[Task], Any] | None = None) -> None:
        self._answers, self._always = list(answers), always
        self.tasks: list[Task] = []
        self.replies: list[str] = []
        self.is_closed = False

    def _next(self, task: Task) -> Outcome:
        answer = self._always(task) if self._always else self._answers.pop(0)
        if isinstance(answer, SystemFault):
            raise answer
        return Outcome("task-1", *answer)

    async def open(self) -> None:
        pass

    async def ask(self, task: Task, timeout_s: float) -> Outcome:
        self.tasks.append(task)
        return self._next(task)

    async def reply(self, task: Task, before: Outcome, text: str, timeout_s: float) -> Outcome:
        self.tasks.append(task)
        self.replies.append(text)
        return self._next(task)

    async def close(self) -> None:
        self.is_closed = True


def scores(value: float, **others: Any) -> dict[str, Any]:
    return {name: value for name in GOOD if name.endswith("_score")} | {"pass": True, "reasoning": "r"} | others


def verdict(**fields: Any) -> RubricVerdict:
    return RubricVerdict.model_validate(GOOD | fields)
