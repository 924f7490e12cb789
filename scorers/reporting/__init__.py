"""Reports on many results, neutral views of them, verdicts, and the texts that they share."""

from touchstone.schemas.reports.intervals import Interval
from touchstone.scorers.reporting.intervals import Rate, mean_interval, mean_intervals, wilson
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
    "Interval",
    "LabelCounts",
    "LayoutOptions",
    "Rate",
    "RunFacts",
    "SuiteReport",
    "Table",
    "Tally",
    "Verdict",
    "View",
    "counted",
    "mean_interval",
    "mean_intervals",
    "percent",
    "suite_event",
    "suite_report",
    "suite_view",
    "verdict_by_labels",
    "visible",
    "wilson",
]
