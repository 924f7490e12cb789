"""Any report as JSON: the summary first, then every result as on the results topic."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

import orjson
from pydantic import BaseModel

from touchstone.schemas.reports.fields import utc_text
from touchstone.scorers.base import ConfigError
from touchstone.scorers.reporting.report import SuiteReport
from touchstone.scorers.reporting.verdict import Verdict
from touchstone.scorers.reporting.view import LayoutOptions
from touchstone.scorers.suite import Suite

_CHUNK_CHARS: Final = 1 << 20


def json_pieces(suite: Suite, report: Any, options: LayoutOptions) -> Iterator[str]:
    """Two spaces deep, numbers not rounded, results written one at a time. A report that is a pydantic model keeps its own fields.

    Raises `ConfigError` for a report of any other type.
    """
    if isinstance(report, BaseModel):
        text = report.model_dump_json(indent=2) + "\n"
        yield from (text[place : place + _CHUNK_CHARS] for place in range(0, len(text), _CHUNK_CHARS))
    elif isinstance(report, SuiteReport):
        yield from _document(_head(report, options.verdict) | _changes(options), "results", (result.model_dump(mode="json") for result in report.results))
    else:
        raise ConfigError(f"--format json: {suite.name} makes a report of its own type and no JSON of it; choose another format")


def _head(report: SuiteReport, verdict: Verdict) -> dict[str, Any]:
    """The report without its results, in its own field names. It leaves out whatever differs between two runs over the same results, except the time."""
    facts, labels = report.facts, report.labels
    return {
        "suite": facts.suite.name,
        "suite_version": facts.version,
        "config_digest": facts.config_digest,
        "generated_at": utc_text(facts.generated_at),
        "concern_id": report.concern_id,
        "batch_id": report.batch_id,
        "verdict": _verdict(verdict),
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
        "distributions": [{name: value for name, value in asdict(one).items() if name != "median"} for one in report.distributions],
        "passed_over": report.passed_over,
        "problem_count": report.problem_count,
        "problems": [problem.model_dump(mode="json") | {"where": problem.where} for problem in report.problems],
    }


def _changes(options: LayoutOptions) -> dict[str, Any]:
    """The comparison and the trend; null if there is none."""
    return {name: None if part is None else part.model_dump(mode="json") for name, part in (("comparison", options.comparison), ("trend", options.trend))}


def _document(head: Mapping[str, Any], name: str, items: Iterable[Any]) -> Iterator[str]:
    """An object that ends with a list, written item by item."""
    yield f'{_indented(head, "").removesuffix("}").rstrip()},\n  "{name}": ['
    comma = ""
    for item in items:
        yield f"{comma}\n    {_indented(item, '    ')}"
        comma = ","
    yield "\n  ]\n}\n" if comma else "]\n}\n"


def _indented(value: Any, indent: str) -> str:
    """Indented JSON text. Line ends inside strings are escaped, so every line end here belongs to the layout."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode().replace("\n", f"\n{indent}")


def _verdict(verdict: Verdict) -> dict[str, str | int]:
    """The verdict. A part that failed is named in the reason."""
    return {"word": verdict.word, "reason": verdict.reason, "exit_code": verdict.exit_code}
