"""Any report as JSON: the summary first, then every result as on the results topic."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from typing import Any, Final

import orjson
from pydantic import BaseModel

from touchstone.schemas.reports.fields import utc_text
from touchstone.schemas.reports.intervals import Intervals
from touchstone.scorers.reporting.report import SuiteReport
from touchstone.scorers.reporting.verdict import Verdict
from touchstone.scorers.reporting.view import CaseView, Figure, LayoutOptions, View
from touchstone.scorers.suite import Suite

_CHUNK_CHARS: Final = 1 << 20


def json_pieces(suite: Suite, report: Any, options: LayoutOptions) -> Iterator[str]:
    """Two spaces deep, numbers not rounded. A suite's own report keeps its own fields; results are written one at a time."""
    if isinstance(report, BaseModel):
        text = report.model_dump_json(indent=2) + "\n"
        yield from (text[place : place + _CHUNK_CHARS] for place in range(0, len(text), _CHUNK_CHARS))
    elif isinstance(report, SuiteReport):
        yield from _document(_head(report, options.verdict) | _changes(options), "results", (result.model_dump(mode="json") for result in report.results))
    else:
        view = suite.view(report)
        yield from _document(_view_head(view, options.verdict) | _changes(options), "cases", (_case(case) for case in view.cases))


def _head(report: SuiteReport, verdict: Verdict) -> dict[str, Any]:
    """The report without its results, in its own field names. Everything that differs between two runs over the same results is left out, except the time."""
    facts, labels = report.facts, report.labels
    return {
        "suite": facts.suite.name,
        "suite_version": facts.version,
        "config_digest": facts.config_digest,
        "generated_at": utc_text(facts.generated_at),
        "concern_id": report.concern_id,
        "batch_id": report.batch_id,
        "verdict": _told(verdict),
        "total": labels.scored + labels.unscored,
        "scored": labels.scored,
        "pass_rate": labels.pass_rate,
        "labels": dict(labels.counts),
        "means": dict(report.means),
        "intervals": report.intervals.model_dump(mode="json"),
        "counts": dict(report.counts),
        "codes": dict(report.codes),
        "unscored": dict(report.unscored),
        "models": dict(report.models),
        "distributions": [asdict(distribution) for distribution in report.distributions],
        "passed_over": report.passed_over,
        "problem_count": report.problem_count,
        "problems": [problem.model_dump(mode="json") | {"where": problem.where} for problem in report.problems],
    }


def _view_head(view: View, verdict: Verdict) -> dict[str, Any]:
    """The same for a report of an unknown type, from its view."""
    return {
        "suite": view.suite,
        "suite_version": view.suite_version,
        "config_digest": view.config_digest,
        "generated_at": view.generated_at,
        "title": view.title,
        "verdict": _told(verdict),
        "total": view.total,
        "labels": dict(view.labels),
        "facts": list(view.facts),
        "pass_rate": view.pass_rate.share,
        "intervals": Intervals(pass_rate=view.pass_rate.interval).model_dump(mode="json", exclude={"means"}),
        "figures": [_figure(figure) for figure in view.figures],
        "tables": [{"title": table.title, "header": list(table.header), "rows": [list(row) for row in table.rows]} for table in view.tables],
        "distributions": [asdict(distribution) for distribution in view.distributions],
        "problems": [problem.model_dump(mode="json") | {"where": problem.where} for problem in view.problems],
    }


def _changes(options: LayoutOptions) -> dict[str, Any]:
    """The comparison and the trend; null where there is none."""
    return {name: None if part is None else part.model_dump(mode="json") for name, part in (("comparison", options.comparison), ("trend", options.trend))}


def _figure(figure: Figure) -> dict[str, Any]:
    """A figure as it is shown, and its interval as numbers."""
    interval = None if figure.interval is None else figure.interval.model_dump(mode="json")
    return {"name": figure.name, "text": figure.text, "state": figure.state, "note": figure.note, "interval": interval}


def _case(case: CaseView) -> dict[str, Any]:
    """A case of a view, without its cells: they repeat its other fields."""
    document = {one.name: getattr(case, one.name) for one in fields(case) if one.name != "cells"}
    return {**document, "details": list(case.details), "values": dict(case.values), "findings": [finding.model_dump(mode="json") for finding in case.findings]}


def _document(head: Mapping[str, Any], name: str, items: Iterable[Any]) -> Iterator[str]:
    """An object that ends with a list, written item by item."""
    yield f'{_indented(head, "").removesuffix("}").rstrip()},\n  "{name}": ['
    comma = ""
    for item in items:
        yield f"{comma}\n    {_indented(item, '    ')}"
        comma = ","
    yield "\n  ]\n}\n" if comma else "]\n}\n"


def _indented(value: Any, indent: str) -> str:
    """JSON text set under an indent. Line ends inside strings are escaped, so each one here is the layout's."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode().replace("\n", f"\n{indent}")


def _told(verdict: Verdict) -> dict[str, str | int]:
    """What people and programs act on; that a part failed stands in the reason."""
    return {"word": verdict.word, "reason": verdict.reason, "exit_code": verdict.exit_code}
