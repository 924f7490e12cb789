"""The error analysis: how frequent each kind of failure is, and whether reviewing more would find new ones (specification, steps 3 and 4)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from touchstone.ops.reviews.cycles import Cycle
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.counting import about, of_each_reviewer
from touchstone.scorers.calibration.agreement import agreement
from touchstone.scorers.calibration.failure_analysis import Analysis, analysed
from touchstone.scorers.calibration.failure_coding import Categories, FailureKind
from touchstone.scorers.calibration.saturation import STEP
from touchstone.scorers.reporting import Figure, LayoutOptions, Rate, Table, View, counted
from touchstone.scorers.reporting.words import score_text

EXAMPLES_MAX: Final = 5
TITLE: Final = "Error analysis"
_NUMERIC: Final = frozenset({1, 2})
#: Failure of what → what step 4 of the specification makes of it.
_NEXT: Final[Mapping[FailureKind | None, str]] = {
    "specification": "mend the prompt; build no judge",
    "generalization": "build a judge, code first",
    None: "say what it is a failure of",
}


def error_view(records: Sequence[AnnotationRecord], categories: Categories, at: datetime, place: str, cycles: Sequence[Cycle] = ()) -> View:
    """The report on annotations. It names traces by id, and quotes no note."""
    found = analysed(records, categories.categories)
    failed, reviewed = len(found.failures), len(found.reviewed)
    known = found.saturation
    tables = [_frequencies(found), *_described(found), _saturation(known.new_kinds, reviewed), _passes(found), *_cycles(cycles)]
    if (between := _between(of_each_reviewer(records))) is not None:
        tables.append(between)
    figures = [
        Figure("Traces reviewed", str(reviewed)),
        Figure("Failed", str(failed)),
        Figure("Share that failed", _share(found.failed)),
        Figure("Reviewers disagree", str(found.disagreed)),
        Figure("Kinds of failure", str(known.kinds)),
        Figure("Kinds not seen yet, at least", score_text(known.unseen)),
        Figure("Review passes", str(max((one.number for one in found.passes), default=0))),
        Figure("Cycles", str(len(cycles))),
    ]
    return View(
        title=TITLE,
        suite="",
        suite_version="",
        config_digest="",
        generated_at=at.isoformat(timespec="seconds"),
        cases=(),
        total=reviewed,
        noun="trace",
        counts=f"{counted(reviewed, 'trace')} with a verdict, {failed} failed, {found.without_verdict} without a verdict",
        facts=(f"annotations of {place}", base_told(found)),
        figures=figures,
        tables=tables,
        labels={"Pass": reviewed - failed, "Fail": failed},
        rate=Rate(found.failed.total - found.failed.count, found.failed.total) if found.failed is not None else None,
    )


def base_told(found: Analysis) -> str:
    """What the shares are of."""
    match found.base:
        case "random":
            return f"shares are of the {counted(found.base_total, 'trace')} that queues drew at random; the others are examples and count in no share"
        case "outside":
            return f"shares are of the {counted(found.base_total, 'trace')} of no queue's filter; those that a filter chose are examples and count in no share"
        case "none":
            return "no shares: a filter chose every reviewed trace, and none was drawn at random"
        case _:
            count = "the 1 trace" if found.base_total == 1 else f"all {found.base_total} traces"
            return f"shares are of {count} with a verdict, as if they had been drawn at random"


def _share(rate: Rate | None) -> str:
    if rate is None or rate.interval is None:
        return "–"
    return f"{rate.share:.0%} ({rate.interval.low:.0%} to {rate.interval.high:.0%})"


def _frequencies(found: Analysis) -> Table:
    """Each kind with its share and examples, most frequent first."""
    rows = [
        (one.name, str(len(one.traces)), _share(one.rate), (one.category.kind or "") if one.category else "", ", ".join(one.traces[:EXAMPLES_MAX]))
        for one in found.kinds
    ]
    return Table("Kinds of failure", ("Kind", "Traces", "Share (95% interval)", "Failure of", "Examples"), rows, _NUMERIC)


def _described(found: Analysis) -> list[Table]:
    """What each kind is, and what is to be done about it."""
    rows = [
        (one.name, one.category.description or "–", _NEXT[one.category.kind])
        for one in found.kinds
        if one.category is not None and (one.category.description or one.category.kind)
    ]
    return [Table("What they are", ("Kind", "A trace has it when", "Next"), rows)] if rows else []


def _passes(found: Analysis) -> Table:
    rows = [(str(one.number), str(one.traces), str(one.annotations), str(one.coded), str(one.modes)) for one in found.passes]
    return Table("Review passes", ("Pass", "Traces", "Annotations", "Coded", "Kinds"), rows, frozenset({0, 1, 2, 3, 4}))


def _cycles(cycles: Sequence[Cycle]) -> list[Table]:
    """Each cycle with the numbers that went into it."""
    header = ("Cycle", "Day", "Review pass", "Reviewed", "Failed", "Kinds", "Cases", "New cases")
    rows = []
    for one in cycles:
        numbers = (one.review_pass, one.reviewed, one.failed, len(one.categories), one.cases, one.added)
        rows.append((str(one.cycle), one.at.date().isoformat(), *map(str, numbers)))
    return [Table("Cycles", header, rows, frozenset({0, 2, 3, 4, 5, 6, 7}))] if rows else []


def _saturation(new: Sequence[int], reviewed: int) -> Table:
    """New kinds in each ten traces."""
    rows = [(f"{place * STEP + 1} to {min(reviewed, (place + 1) * STEP)}", str(count)) for place, count in enumerate(new)]
    return Table("New kinds, by ten traces", ("Traces", "New kinds"), rows, frozenset({1}))


def _between(own: Sequence[AnnotationRecord]) -> Table | None:
    """Agreement of each pair of reviewers on the traces that both judged."""
    verdicts: dict[str, dict[tuple[str, str | None], str]] = {}
    for one in own:
        if one.verdict is not None:
            verdicts.setdefault(one.reviewer, {})[about(one)] = one.verdict
    names = sorted(verdicts)
    rows: list[tuple[str, ...]] = []
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
