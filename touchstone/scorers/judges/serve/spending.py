"""What requests cost: reserved before, settled after, told per case and in all."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from touchstone.scorers.judges.ask.judge import OverBudget
from touchstone.scorers.judges.serve.budget import Budget, Reservation, cost_nano, dearest_nano
from touchstone.scorers.judges.serve.counts import Counts
from touchstone.scorers.judges.serve.faults import Fault
from touchstone.scorers.judges.settings import JudgeSettings

#: More tokens than this no request has: the number is a mistake of the server, or means harm.
_TOKENS_MAX: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and billionths of a USD of one request."""

    tokens_in: int
    tokens_out: int
    nano: int


class Purse:
    """Pays for the requests of one judge. Without a price everything costs 0; without a budget nothing is held back."""

    def __init__(self, settings: JudgeSettings, budget: Budget | None, counts: Counts) -> None:
        self._price = settings.price_of_model
        self._max_tokens = settings.max_tokens
        self._budget = budget
        self._counts = counts
        self._settled = asyncio.Event()

    def exhausted(self, tokens_max: int) -> OverBudget | None:
        """What to tell a case whose request, of at most so many tokens, cannot be paid even once all others are settled."""
        return self.over() if self._budget is not None and self._budget.is_exhausted(self._dearest(tokens_max)) else None

    def over(self) -> OverBudget:
        """What to tell a case for which there is no money."""
        return OverBudget(self._budget.resets_in_s() if self._budget is not None else None)

    async def reserve(self, tokens_max: int) -> Reservation | OverBudget | None:
        """Reserve the most that a request may cost; wait where only requests in flight stand in the way. None without a budget. Raises `Unavailable`."""
        if self._budget is None:
            return None
        while (told := self._budget.reserve(self._dearest(tokens_max))) == "later":
            self._settled.clear()
            await self._settled.wait()
        return told if isinstance(told, Reservation) else self.over()

    def settle(self, reservation: Reservation | None, told: Mapping[str, Any] | Fault | None, tokens_max: int) -> Spent:
        """Count what a request has cost; None: it was cancelled. Where the server does not say, it is the most that it may have cost."""
        spent = self._spent(told, tokens_max)
        self._counts.cost_nano += spent.nano
        if reservation is not None and self._budget is not None:
            self._budget.settle(reservation, spent.nano)
            self._settled.set()
        return spent

    def left_usd(self) -> float | None:
        """What is left of the budget; None without one."""
        return None if self._budget is None else self._budget.left_usd()

    def close(self) -> None:
        """Close the budget's file."""
        if self._budget is not None:
            self._budget.close()

    def _spent(self, told: Mapping[str, Any] | Fault | None, tokens_max: int) -> Spent:
        if isinstance(told, Fault) and not told.billed:
            return Spent(0, 0, 0)
        metered = None if told is None or isinstance(told, Fault) else usage_of(told)
        if metered is None:
            self._counts.unmetered += 1
            return Spent(0, 0, self._dearest(tokens_max))
        tokens_in, tokens_out, cached = metered
        self._counts.tokens["input"].observe(tokens_in)
        self._counts.tokens["output"].observe(tokens_out)
        return Spent(tokens_in, tokens_out, cost_nano(self._price, tokens_in, tokens_out, cached) if self._price is not None else 0)

    def _dearest(self, tokens_max: int) -> int:
        return dearest_nano(self._price, tokens_max, self._max_tokens) if self._price is not None else 0


def usage_of(answer: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Prompt tokens, answer tokens, and those of the prompt that were cached; None where the server does not say, or says what cannot be."""
    usage = answer.get("usage")
    if not isinstance(usage, Mapping):
        return None
    tokens_in, tokens_out, details = usage.get("prompt_tokens"), usage.get("completion_tokens"), usage.get("prompt_tokens_details")
    if type(tokens_in) is not int or type(tokens_out) is not int or not 0 < tokens_in <= _TOKENS_MAX or not 0 <= tokens_out <= _TOKENS_MAX:
        return None
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return tokens_in, tokens_out, cached if type(cached) is int and 0 <= cached <= tokens_in else 0
