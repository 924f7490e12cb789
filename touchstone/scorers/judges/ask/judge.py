"""What a scorer asks a judge, and what it gets back. Light: it imports no client."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel

from touchstone.scorers.base import Reading, Unavailable

VerdictT = TypeVar("VerdictT", bound=BaseModel)
#: What a worker does with a case that the budget cannot pay: wait for the next period, or settle it with the outcome `shed(budget)`.
OnBudget = Literal["wait", "shed"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A versioned prompt. `system` says who judges, by what and how to answer; `user` holds the case, with a place `{{name}}` for each field.

    `digest`: of all of it; it belongs to what a suite's configuration is told apart by (`Suite.fingerprint`).
    """

    name: str
    version: str
    system: str
    user: str
    digest: str
    fields: frozenset[str]


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer has cost. `calls`: requests sent, those that brought nothing included; `wasted`: those alone. `cost_usd`: of all of them."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    calls: int = 0
    wasted: int = 0


@dataclass(frozen=True, slots=True)
class Answer(Generic[VerdictT]):
    """A verdict, and where it comes from. `model`: as the server names it, with its snapshot; `cached`: it was asked before and cost nothing now."""

    verdict: VerdictT
    model: str
    usage: Usage
    cached: bool = False


class Unanswered(Exception):
    """The judge was asked and gave no verdict that can be used: the case's failure, never a zero.

    `code`: `refused`, `truncated` (the answer was cut off), `empty`, `no_json`, `wrong_tool` (it called another function), `wrong_form` (each of the last
    four: twice), `too_long` (the case does not fit the model), `rejected` (the server took the request for a mistake) or `failing` (the server fails at
    this case while it answers others). The exception never carries text of the case or the answer.
    """

    def __init__(self, code: str, usage: Usage) -> None:
        super().__init__(code)
        self.code = code
        self.usage = usage


class OverBudget(Exception):
    """Nothing more was asked, because what it may cost is more than what is left of the budget. `resets_in_s`: until the next period; None where there is none.

    `usage`: of requests before, as of one whose answer had another form.
    """

    def __init__(self, resets_in_s: float | None, usage: Usage | None = None) -> None:
        super().__init__("budget")
        self.resets_in_s = resets_in_s
        self.usage = usage or Usage()


class NoAnswer(Unavailable):
    """The server did not answer in the time of the case. `usage`: what was spent in vain."""

    def __init__(self, code: str, usage: Usage) -> None:
        super().__init__(code)
        self.usage = usage


class Judge(Protocol):
    """Answers questions about a case. It owns its limits, retries, breaker, cache and budget; a scorer only asks."""

    async def ask(self, prompt: Prompt, fields: Mapping[str, str], verdict: type[VerdictT]) -> Answer[VerdictT]:
        """The verdict on a case, in the form of a pydantic model.

        `fields`: name → text, one for each place of the prompt; what they hold is data for the judge, whatever it says. Raises `Unanswered`, `OverBudget`, and
        `Unavailable` while the server does not answer.
        """
        ...

    def readings(self) -> Iterable[Reading]:
        """What it counts: calls by outcome, tokens, cost, what is left of the budget, and the state of its breaker."""
        ...

    async def close(self) -> None:
        """Finish what is in flight and release the connections."""
        ...
