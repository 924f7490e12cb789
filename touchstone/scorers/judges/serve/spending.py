"""Pays for requests: reserves before, settles after, and counts the cost."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from touchstone.scorers.base import Unavailable
from touchstone.scorers.judges.ask.judge import OverBudget
from touchstone.scorers.judges.serve.budget import Balance, Budget, Reservation, cost_nano, dearest_nano
from touchstone.scorers.judges.serve.counts import Counts
from touchstone.scorers.judges.serve.faults import Fault
from touchstone.scorers.judges.settings import JudgeSettings

#: No request has more tokens than this; a higher number is an error of the server, or malicious.
_TOKENS_MAX: Final = 1_000_000_000
#: How often to look whether another process has settled its requests.
_OTHERS_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and billionths of a USD of one request. `uncertain`: there was no answer, so it may have cost that."""

    tokens_in: int
    tokens_out: int
    nano: int
    uncertain: bool = False


class Purse:
    """Pays for the requests of one judge. Without a price, requests cost 0; without a budget, none is refused."""

    def __init__(self, settings: JudgeSettings, budget: Budget | None, counts: Counts) -> None:
        self._price = settings.price_of_model
        self._max_tokens = settings.max_tokens
        self._budget = budget
        self._counts = counts
        self._tokens_seen = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def exhausted(self, tokens_max: int) -> OverBudget | None:
        """The exception for a request that cannot be paid even after all others are settled; None if it can."""
        return self.over() if self._budget is not None and self._budget.is_exhausted(self._dearest(tokens_max)) else None

    def over(self) -> OverBudget:
        """The exception for a request without money."""
        return OverBudget(self._budget.resets_in_s() if self._budget is not None else None)

    async def reserve(self, tokens_max: int) -> Reservation | OverBudget | None:
        """Reserve the most that a request may cost. Waits if requests in flight only have to settle first. None without a budget. Raises `Unavailable`."""
        if self._budget is None:
            return None
        self._tokens_seen = max(self._tokens_seen, tokens_max)
        while (reserved := self._budget.reserve(self._dearest(tokens_max))) == "later":
            # A future, because an event belongs to the first event loop that waits for it, and a judge may be asked from several in turn.
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.add(turn)
            try:
                await asyncio.wait({turn}, timeout=_OTHERS_S)  # another process may hold the money
            finally:
                self._waiting.discard(turn)
        if reserved == "uncertain":
            raise Unavailable("judge_uncertain")
        return reserved if isinstance(reserved, Reservation) else self.over()

    def settle(self, reservation: Reservation | None, answer: Mapping[str, Any] | Fault | None, tokens_max: int) -> Spent:
        """Count the cost of a request; `answer` None: it was cancelled. If the server does not report it, the most that it may have cost."""
        spent = self._spent(answer, tokens_max)
        if spent.uncertain:
            self._counts.uncertain_nano += spent.nano
        else:
            self._counts.cost_nano += spent.nano
        if reservation is not None and self._budget is not None:
            self._budget.settle(reservation, spent.nano, uncertain=spent.uncertain)
            for turn in self._waiting:
                if not turn.done():
                    turn.set_result(None)
        return spent

    def pace_s(self) -> float:
        """Seconds between two requests while the server does not answer, so that these do not use up the budget."""
        return 0.0 if self._budget is None else self._budget.pace_s(self._dearest(self._tokens_seen))

    def balance(self) -> Balance | None:
        """What is spent, reserved and uncertain in this period; None without a budget."""
        return None if self._budget is None else self._budget.balance()

    def left_usd(self) -> float | None:
        """What is left of the budget; None without one."""
        return None if self._budget is None else self._budget.left_usd()

    def close(self) -> None:
        """Close the budget's file."""
        if self._budget is not None:
            self._budget.close()

    def _spent(self, answer: Mapping[str, Any] | Fault | None, tokens_max: int) -> Spent:
        if isinstance(answer, Fault) and not answer.billed:
            return Spent(0, 0, 0)
        metered = None if answer is None or isinstance(answer, Fault) else usage_of(answer)
        if metered is None:
            self._counts.unmetered += 1
            return Spent(0, 0, self._dearest(tokens_max), uncertain=answer is None or isinstance(answer, Fault))
        tokens_in, tokens_out, cached = metered
        self._counts.tokens["input"].observe(tokens_in)
        self._counts.tokens["output"].observe(tokens_out)
        return Spent(tokens_in, tokens_out, cost_nano(self._price, tokens_in, tokens_out, cached) if self._price is not None else 0)

    def _dearest(self, tokens_max: int) -> int:
        return dearest_nano(self._price, tokens_max, self._max_tokens) if self._price is not None else 0


def usage_of(answer: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Prompt tokens, answer tokens, and cached prompt tokens; None if the server reports none, or impossible ones."""
    usage = answer.get("usage")
    if not isinstance(usage, Mapping):
        return None
    tokens_in, tokens_out, details = usage.get("prompt_tokens"), usage.get("completion_tokens"), usage.get("prompt_tokens_details")
    if type(tokens_in) is not int or type(tokens_out) is not int or not 0 < tokens_in <= _TOKENS_MAX or not 0 <= tokens_out <= _TOKENS_MAX:
        return None
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return tokens_in, tokens_out, cached if type(cached) is int and 0 <= cached <= tokens_in else 0
