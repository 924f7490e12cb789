"""What a judge did for a batch and what that cost, from the details of its results alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from touchstone.scorers.reporting import Table

#: What may become of a case with every suite → its row.
STATES: Final[Mapping[str, str]] = {
    "answered": "judged",
    "unanswered": "no verdict",
    "unavailable": "judge did not answer",
    "shed": "no budget",
    "no_judge": "no judge configured",
    "not_sampled": "not in the sample",
}
#: Those in which a case lacks what the judge was to say.
FAILED: Final = ("unanswered", "unavailable", "shed")


@dataclass(slots=True)
class JudgeTally:
    """Running totals over `details["judge"]`, as `consulting.told` writes it."""

    states: Counter[str] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    _costs: list[float] = field(default_factory=list)

    def add(self, details: Mapping[str, Any]) -> None:
        """Count one result; one that says nothing of a judge is passed over."""
        told = details.get("judge")
        if not isinstance(told, dict):
            return
        self.states[str(told.get("state"))] += 1
        self.spent.update({name: int(_amount(told.get(name))) for name in ("calls", "calls_wasted", "tokens_in", "tokens_out")})
        self.spent["cached"] += bool(told.get("cached"))
        self._costs.append(_amount(told.get("cost_usd")))

    @property
    def cost_usd(self) -> float:
        """What all of it has cost, by exact sums: the same for every order."""
        return math.fsum(self._costs)

    def table(self, noun: str, states: Mapping[str, str] = STATES) -> Table:
        """Cases by what became of them, requests, tokens and dollars. `noun`: of many cases; `states`: state → row, a suite's own among them."""
        rows = [(f"{noun} {words}", str(self.states[state])) for state, words in states.items() if self.states[state]]
        rows += [(f"{noun} answered from the cache", str(self.spent["cached"]))] if self.spent["cached"] else []
        rows += [("requests", str(self.spent["calls"])), ("requests in vain", str(self.spent["calls_wasted"]))]
        rows += [("tokens in", str(self.spent["tokens_in"])), ("tokens out", str(self.spent["tokens_out"])), ("cost, USD", f"{self.cost_usd:.4f}")]
        if cases := self.states.total():
            rows += [
                ("requests per 1,000 cases", f"{1000 * self.spent['calls'] / cases:.0f}"),
                ("cost per 1,000 cases, USD", f"{1000 * self.cost_usd / cases:.4f}"),
            ]
        return Table("Judge", ("What", "Count"), rows, frozenset({1}))


def _amount(value: Any) -> float:
    """A number that is none below zero; 0 for anything else, because results come from files and stores that others may have written."""
    return value if isinstance(value, int | float) and math.isfinite(value) and value > 0 else 0
