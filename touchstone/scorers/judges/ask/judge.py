"""What a scorer asks a judge, and what it gets back. Imports no client."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel

from touchstone.scorers.base import Lost, Reading, Unavailable

VerdictT = TypeVar("VerdictT", bound=BaseModel)
#: What a worker does with a case that the budget cannot pay: wait for the next period, or settle it with the outcome `shed(budget)`.
OnBudget = Literal["wait", "shed"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A versioned prompt. `system`: role, criteria and form of the answer. `user`: the case, with a place `{{name}}` for each field.

    `digest`: hash of the whole prompt, part of a suite's configuration digest (`Suite.fingerprint`).
    """

    name: str
    version: str
    system: str
    user: str
    digest: str
    fields: frozenset[str]


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer has cost. `calls`: all requests sent. `wasted`: those of them without a usable answer. `cost_usd`: of all answers.

    `uncertain_usd`: the most that the requests without an answer may have cost.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    calls: int = 0
    wasted: int = 0
    uncertain_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer(Generic[VerdictT]):
    """A verdict and its origin. `model`: as the server names it, with its snapshot. `cached`: the verdict was known already and cost nothing."""

    verdict: VerdictT
    model: str
    usage: Usage
    cached: bool = False


class Unanswered(Exception):
    """The judge gave no usable verdict: a failure of the case, never a zero.

    `code`: `refused`, `truncated` (the answer was cut off), `empty`, `no_json`, `wrong_tool` (it called another function), `wrong_form` (another form, or more
    than the verdict; each of the last four: twice), `too_long` (the case does not fit the model), `rejected` (the server takes the request for malformed) or
    `failing` (the server fails on this case and answers others). The exception never has text of the case or the answer.
    """

    def __init__(self, code: str, usage: Usage) -> None:
        super().__init__(code)
        self.code = code
        self.usage = usage


class OverBudget(Exception):
    """The request was not sent, because it may cost more than is left of the budget. `resets_in_s`: until the next period; None if there is none.

    `usage`: of earlier requests for the same question, such as one whose answer had the wrong form. `was_asked`: True if there were any.
    """

    def __init__(self, resets_in_s: float | None, usage: Usage | None = None, *, was_asked: bool = False) -> None:
        super().__init__("budget")
        self.resets_in_s = resets_in_s
        self.usage = usage or Usage()
        self.was_asked = was_asked or self.usage.calls > 0


class NoAnswer(Unavailable):
    """The server did not answer within the case's deadline. `usage`: what was spent nevertheless."""

    def __init__(self, code: str, usage: Usage) -> None:
        super().__init__(code)
        self.usage = usage


class LostJudge(NoAnswer, Lost):
    """The server refuses the settings (key, model, address), so nothing more is asked. `usage`: of the requests that showed it."""


class Judge(Protocol):
    """Answers questions about a case. It owns its limits, retries, breaker, cache and budget; a scorer only asks."""

    async def ask(self, prompt: Prompt, fields: Mapping[str, str], verdict: type[VerdictT]) -> Answer[VerdictT]:
        """The verdict on a case, as a pydantic model.

        `fields`: name → text, one for each place of the prompt. The judge treats these texts as data, even if they read like instructions. Raises
        `Unanswered`, `OverBudget`, and `Unavailable` while the server does not answer.
        """
        ...

    def readings(self) -> Iterable[Reading]:
        """Its metrics: calls by outcome, tokens, cost, the rest of the budget, and the state of its breaker."""
        ...

    async def close(self) -> None:
        """End what is in flight and release the connections."""
        ...
