"""Reports on many results, neutral views of them, verdicts, and the texts that they share."""

from touchstone.scorers.reporting.report import LabelCounts, RunFacts, SuiteReport, Tally, suite_event, suite_report, suite_view
from touchstone.scorers.reporting.verdict import EXIT_ERROR, EXIT_FAIL, EXIT_PASS, EXIT_REVIEW, Gate, Verdict, verdict_by_labels
from touchstone.scorers.reporting.view import CaseView, Column, Distribution, Figure, Group, LayoutOptions, Table, View
from touchstone.scorers.reporting.words import counted, percent, visible

__all__ = [
    "EXIT_ERROR",
    "EXIT_FAIL",
    "EXIT_PASS",
    "EXIT_REVIEW",
    "CaseView",
    "Column",
    "Distribution",
    "Figure",
    "Gate",
    "Group",
    "LabelCounts",
    "LayoutOptions",
    "RunFacts",
    "SuiteReport",
    "Table",
    "Tally",
    "Verdict",
    "View",
    "counted",
    "percent",
    "suite_event",
    "suite_report",
    "suite_view",
    "verdict_by_labels",
    "visible",
]
