"""Every report in every format: in the layout that a suite's specification fixes, otherwise in the generic one."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from touchstone.scorers.reporting.view import LayoutOptions
from touchstone.scorers.suite import Suite

#: Format → ending of its file.
SUFFIXES: Final = {"console": ".txt", "json": ".json", "markdown": ".md", "junit": ".xml", "html": ".html"}
FORMATS: Final = tuple(SUFFIXES)


def lay_out(suite: Suite, report: Any, format: str, options: LayoutOptions) -> Iterator[str]:
    """The report as pieces of text; joined, they end with a newline. Raises `ValueError` for an unknown format.

    `report`: what `suite.report` returned. A comparison and a trend follow a console or Markdown layout of the suite's own.
    Memory does not grow with the number of cases, unless the suite's own layout makes it.
    """
    if format not in SUFFIXES:
        raise ValueError(f"unknown report format {format!r}; known: {', '.join(FORMATS)}")
    if (own := suite.layouts.get(format)) is not None:
        return chain(own(report, options), _changes(format, options))
    return _generic(suite, report, format, options)


def shows_changes(suite: Suite, format: str) -> bool:
    """True if the format has a place for a comparison; a layout of the suite's own may have none."""
    if format not in suite.layouts or format in {"console", "markdown"}:
        return True
    return format == "json" and "comparison" in getattr(suite.report_model, "model_fields", {})


def _changes(format: str, options: LayoutOptions) -> Iterator[str]:
    """The comparison and the trend below a layout of the suite's own. Nothing can follow the end of JSON, JUnit or HTML."""
    if options.comparison is None and options.trend is None:
        return
    if format == "console":
        from touchstone.ops.reports.console import change_pieces

        yield from change_pieces(options)
    elif format == "markdown":
        from touchstone.ops.reports.markdown import changes

        yield from changes(options)


def _generic(suite: Suite, report: Any, format: str, options: LayoutOptions) -> Iterator[str]:
    """The generic layout. A format's module is imported only when needed: importing rich alone takes longer than most reports."""
    match format:
        case "console":
            from touchstone.ops.reports.console import console_pieces

            return console_pieces(suite.view(report), options)
        case "markdown":
            from touchstone.ops.reports.markdown import markdown_pieces

            return markdown_pieces(suite.view(report), options)
        case "junit":
            from touchstone.ops.reports.junit import junit_pieces

            return junit_pieces(suite.view(report), options)
        case "html":
            from touchstone.ops.reports.html import html_pieces

            return html_pieces(suite.view(report), options)
        case _:
            from touchstone.ops.reports.json import json_pieces

            return json_pieces(suite, report, options)
