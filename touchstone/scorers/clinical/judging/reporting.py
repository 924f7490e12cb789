"""The report on judged traces: the usual one, and a table of what the judge was asked and what that cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from touchstone.scorers.judges.ask.tally import STATES, JudgeTally
from touchstone.scorers.reporting import Column, Table, View
from touchstone.scorers.reporting.report import SuiteReport, suite_view

COLUMNS = (
    Column("overall", "Overall", places=1),
    Column("format", "Format", places=1),
    Column("terminology", "Terminology", places=1),
    Column("clinical", "Clinical", places=1),
)
#: State of a trace in the details of its result → its row.
_STATES: Final = {**STATES, "fail": "failed already", "unreadable": "not readable", "invalid": "not valid", "not_validated": "not validated"}


def view(report: SuiteReport) -> View:
    """The usual view, and what the judge did."""
    usual = suite_view(report)
    return replace(usual, tables=(_judge(report), *usual.tables))


def _judge(report: SuiteReport) -> Table:
    """Traces by what became of them, requests, tokens and dollars."""
    tally = JudgeTally()
    for result in report.results:
        tally.add(result.details)
    return tally.table("traces", _STATES)
