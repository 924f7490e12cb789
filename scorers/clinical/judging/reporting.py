"""The report on judged traces: the usual one, and a table of what the judge was asked and what that cost."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Final

from touchstone.scorers.reporting import Column, Table, View
from touchstone.scorers.reporting.report import SuiteReport, suite_view

COLUMNS = (
    Column("overall", "Overall", places=1),
    Column("format", "Format", places=1),
    Column("terminology", "Terminology", places=1),
    Column("clinical", "Clinical", places=1),
)
#: State of a trace in the details of its result → its row.
_STATES: Final = {
    "answered": "judged",
    "unanswered": "no verdict",
    "unavailable": "judge did not answer",
    "shed": "no budget",
    "no_judge": "no judge configured",
    "not_sampled": "not in the sample",
    "fail": "failed already",
    "unreadable": "not readable",
    "invalid": "not valid",
    "not_validated": "not validated",
}


def view(report: SuiteReport) -> View:
    """The usual view, and what the judge did."""
    usual = suite_view(report)
    return replace(usual, tables=(_judge(report), *usual.tables))


def _judge(report: SuiteReport) -> Table:
    """Traces by what became of them, requests, tokens and dollars."""
    states: Counter[str] = Counter()
    spent: Counter[str] = Counter()
    costs: list[float] = []
    for result in report.results:
        told = result.details.get("judge")
        if not isinstance(told, dict):
            continue
        states[str(told.get("state"))] += 1
        spent.update({name: int(told.get(name, 0)) for name in ("calls", "calls_wasted", "tokens_in", "tokens_out")})
        spent["cached"] += bool(told.get("cached"))
        costs.append(float(told.get("cost_usd", 0.0)))
    rows = [(f"traces {words}", str(states[state])) for state, words in _STATES.items() if states[state]]
    rows += [("traces answered from the cache", str(spent["cached"]))] if spent["cached"] else []
    rows += [("requests", str(spent["calls"])), ("requests in vain", str(spent["calls_wasted"]))]
    rows += [("tokens in", str(spent["tokens_in"])), ("tokens out", str(spent["tokens_out"])), ("cost, USD", f"{math.fsum(costs):.4f}")]
    return Table("Judge", ("What", "Count"), rows, frozenset({1}))
