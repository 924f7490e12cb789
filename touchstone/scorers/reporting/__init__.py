"""Reports on many results, neutral views of them, verdicts, and the texts that they share."""

from touchstone.schemas.reports.intervals import Interval
from touchstone.scorers.reporting.intervals import Pairs, Rate, mean_difference, mean_interval, mean_intervals, rate_difference, wilson
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
    "Pairs",
    "Rate",
    "RunFacts",
    "SuiteReport",
    "Table",
    "Tally",
    "Verdict",
    "View",
    "counted",
    "mean_difference",
    "mean_interval",
    "mean_intervals",
    "percent",
    "rate_difference",
    "suite_event",
    "suite_report",
    "suite_view",
    "verdict_by_labels",
    "visible",
    "wilson",
]
