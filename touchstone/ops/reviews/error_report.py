"""The error analysis: how frequent each kind of failure is, and whether reviewing more would find new ones (specification, steps 3 and 4)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from touchstone.ops.reviews.coding import Categories, Category
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.counting import current, of_each_reviewer
from touchstone.scorers.calibration.agreement import agreement
from touchstone.scorers.calibration.saturation import STEP, saturation
from touchstone.scorers.reporting import Figure, LayoutOptions, Rate, Table, View, counted
from touchstone.scorers.reporting.words import score_text

EXAMPLES_MAX: Final = 5
UNCODED: Final = "(not coded)"
TITLE: Final = "Error analysis"
_NUMERIC: Final = frozenset({1, 2})


def error_view(records: Sequence[AnnotationRecord], categories: Categories, at: datetime, place: str) -> View:
    """The report on annotations. It names traces by id, and quotes no note."""
    now = current(records)
    traces = list(dict.fromkeys(one.trace_id for one in now))
    judged = [one for one in now if one.verdict is not None]
    reviewed = list(dict.fromkeys(one.trace_id for one in judged))
    kinds_of: dict[str, list[str]] = {trace: [] for trace in reviewed}
    failed: set[str] = set()
    for one in judged:
        if one.verdict == "fail":
            failed.add(one.trace_id)
            kinds_of[one.trace_id].append(one.failure_mode or UNCODED)
    known = saturation([kind for kind in kinds_of[trace] if kind != UNCODED] for trace in reviewed)
    tables = [_frequencies(kinds_of, {one.name: one for one in categories.categories}), _saturation(known.new_kinds, len(reviewed))]
    if (between := _between(of_each_reviewer(records))) is not None:
        tables.append(between)
    rate = Rate(len(reviewed) - len(failed), len(reviewed))
    figures = [
        Figure("Traces reviewed", str(len(reviewed))),
        Figure("Failed", str(len(failed))),
        Figure("Kinds of failure", str(known.kinds)),
        Figure("Kinds not seen yet, at least", score_text(known.unseen)),
        Figure("Review passes", str(max((one.review_pass for one in records), default=0))),
    ]
    return View(
        title=TITLE,
        suite="",
        suite_version="",
        config_digest="",
        generated_at=at.isoformat(timespec="seconds"),
        cases=(),
        total=len(reviewed),
        noun="trace",
        counts=f"{counted(len(reviewed), 'trace')} with a verdict, {len(failed)} failed, {len(traces) - len(reviewed)} without a verdict",
        facts=(f"annotations of {place}",),
        figures=figures,
        tables=tables,
        labels={"Pass": len(reviewed) - len(failed), "Fail": len(failed)},
        rate=rate,
    )


def _frequencies(kinds_of: Mapping[str, Sequence[str]], known: Mapping[str, Category]) -> Table:
    """Each kind with the share of reviewed traces that have it, most frequent first."""
    traces: dict[str, list[str]] = {}
    for trace, kinds in kinds_of.items():
        for kind in dict.fromkeys(kinds):
            traces.setdefault(kind, []).append(trace)
    rows = []
    for kind, having in sorted(traces.items(), key=lambda one: (one[0] == UNCODED, -len(one[1]), one[0])):
        rate = Rate(len(having), len(kinds_of))
        interval = rate.interval
        span = "" if interval is None else f" ({interval.low:.0%} to {interval.high:.0%})"
        category = known.get(kind)
        what = (category.kind or "") if category is not None else ""
        rows.append((kind, str(len(having)), f"{rate.share:.0%}{span}", what, ", ".join(having[:EXAMPLES_MAX])))
    return Table("Kinds of failure", ("Kind", "Traces", "Share (95% interval)", "Failure of", "Examples"), rows, _NUMERIC)


def _saturation(new: Sequence[int], reviewed: int) -> Table:
    """New kinds in each ten traces."""
    rows = [(f"{place * STEP + 1} to {min(reviewed, (place + 1) * STEP)}", str(count)) for place, count in enumerate(new)]
    return Table("New kinds, by ten traces", ("Traces", "New kinds"), rows, frozenset({1}))


def _between(own: Sequence[AnnotationRecord]) -> Table | None:
    """Agreement of each pair of reviewers on the traces that both judged."""
    verdicts: dict[str, dict[str, str]] = {}
    for one in own:
        if one.verdict is not None:
            verdicts.setdefault(one.reviewer, {})[one.trace_id] = one.verdict
    names = sorted(verdicts)
    rows = []
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            both = [(verdicts[first][trace], verdicts[second][trace]) for trace in verdicts[first] if trace in verdicts[second]]
            if not both:
                continue
            found = agreement(both)
            kappa = "–" if found.kappa is None or found.interval is None else f"{found.kappa:.2f} ({found.interval.low:.2f} to {found.interval.high:.2f})"
            rows.append((f"{first} and {second}", str(len(both)), f"{found.same.share:.0%}", kappa))
    header = ("Reviewers", "Traces of both", "Same verdict", "Cohen's kappa (95% interval)")
    return Table("Agreement", header, rows, frozenset({1, 2, 3})) if rows else None


def error_pieces(view: View, form: str, options: LayoutOptions) -> Iterator[str]:
    """The report in a format: console, markdown, html or json."""
    match form:
        case "console":
            from touchstone.ops.reports.console import console_pieces

            return console_pieces(view, options)
        case "markdown":
            from touchstone.ops.reports.markdown import markdown_pieces

            return markdown_pieces(view, options)
        case "html":
            from touchstone.ops.reports.html import html_pieces

            return html_pieces(view, options)
        case _:
            tables = [{"title": one.title, "rows": [dict(zip(one.header, row, strict=True)) for row in one.rows]} for one in view.tables]
            document = {"title": view.title, "generated_at": view.generated_at, "figures": {one.name: one.text for one in view.figures}, "tables": tables}
            return iter([json.dumps(document, ensure_ascii=False, indent=2), "\n"])
