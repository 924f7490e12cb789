"""A report as notebooks show it: the figures, tables and first cases of its view. Texts of cases appear only if the suite quotes them."""

from itertools import islice

from touchstone.schemas.html import ROWS_MAX, table, titled
from touchstone.scorers.reporting.view import View


def html_of(view: View) -> str:
    """A view as HTML."""
    labels = ", ".join(f"{label} {count}" for label, count in view.labels.items())
    figures = [(figure.name, figure.text, figure.note) for figure in view.figures]
    problems = [(problem.where, problem.what) for problem in islice(view.problems, ROWS_MAX)]
    return "".join([
        titled(view.title, f"{view.counts}: {labels}", *view.facts),
        table(("Figure", "Value", ""), figures) if figures else "",
        *(titled(one.title) + table(one.header, one.rows) for one in view.tables),
        titled("Cases") + table(view.case_columns, (case.cells for case in view.cases), view.total),
        titled("Not read") + table(("Where", "What"), problems) if problems else "",
    ])  # fmt: skip
