"""Totals of a judge over a batch: states, requests, tokens and cost, from the details of the results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from touchstone.scorers.reporting import Table

#: State of a case, as every suite may have it → its row in reports.
STATES: Final[Mapping[str, str]] = {
    "answered": "judged",
    "unanswered": "no verdict",
    "incomplete": "without a whole verdict",
    "unavailable": "judge did not answer",
    "shed": "no budget",
    "no_judge": "no judge configured",
    "not_sampled": "not in the sample",
}
#: States of cases whose verdict, or a part of it, is missing.
FAILED: Final = ("unanswered", "incomplete", "unavailable", "shed")


@dataclass(slots=True)
class JudgeTally:
    """Running totals over `details["judge"]`, which `judge_details` writes."""

    states: Counter[str] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    _costs: list[float] = field(default_factory=list)
    _uncertain: list[float] = field(default_factory=list)

    def add(self, details: Mapping[str, Any]) -> None:
        """Count one result, unless it has no entry of a judge."""
        entry = details.get("judge")
        if not isinstance(entry, dict):
            return
        self.states[str(entry.get("state"))] += 1
        self.spent.update({name: int(_amount(entry.get(name))) for name in ("calls", "calls_wasted", "tokens_in", "tokens_out")})
        self.spent["cached"] += bool(entry.get("cached"))
        self._costs.append(_amount(entry.get("cost_usd")))
        self._uncertain.append(_amount(entry.get("uncertain_usd")))

    @property
    def cost_usd(self) -> float:
        """The whole cost, summed exactly, so that the order of results does not matter."""
        return math.fsum(self._costs)

    def table(self, noun: str, states: Mapping[str, str] = STATES) -> Table:
        """The table of reports: cases by state, requests, tokens and dollars. `noun`: plural of the cases; `states`: state → row."""
        rows = [(f"{noun} {words}", str(self.states[state])) for state, words in states.items() if self.states[state]]
        rows += [(f"{noun} answered from the cache", str(self.spent["cached"]))] if self.spent["cached"] else []
        rows += [("requests", str(self.spent["calls"])), ("requests in vain", str(self.spent["calls_wasted"]))]
        rows += [("tokens in", str(self.spent["tokens_in"])), ("tokens out", str(self.spent["tokens_out"])), ("cost, USD", f"{self.cost_usd:.4f}")]
        if uncertain := math.fsum(self._uncertain):
            rows.append(("cost of requests without an answer, at most, USD", f"{uncertain:.4f}"))
        if cases := self.states.total():
            rows += [
                ("requests per 1,000 cases", f"{1000 * self.spent['calls'] / cases:.0f}"),
                ("cost per 1,000 cases, USD", f"{1000 * self.cost_usd / cases:.4f}"),
            ]
        return Table("Judge", ("What", "Count"), rows, frozenset({1}))


def _amount(value: Any) -> float:
    """A positive number; 0 for anything else, because others may have written the files and stores that results come from."""
    return value if isinstance(value, int | float) and math.isfinite(value) and value > 0 else 0
