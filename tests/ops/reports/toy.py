"""A made-up suite, and results of it in any number, to lay out reports of."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from touchstone.schemas.case import Case
from touchstone.schemas.result import Failure, FileRef, Finding, Label, Problem, ScoreResult
from touchstone.scorers.base import NoSettings
from touchstone.scorers.reporting.report import Entry, RunFacts, SuiteReport, suite_report
from touchstone.scorers.reporting.verdict import Verdict
from touchstone.scorers.reporting.view import Column, LayoutOptions
from touchstone.scorers.suite import Suite

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
#: What a producer may call things: markup of every format, control characters, a direction override, an XML non-character, a lone quote.
HOSTILE = "<script>alert(1)</script> ]]> | **b** [l](http://x) @me \x1b[31mred\x07 \u202egnp.exe \ufffe \x00 \"q' &amp; `c` {b} [bold]rich[/bold] :smile:\nnext"


def _never(_: Any) -> Any:
    raise AssertionError("nothing is scored here")


SUITE = Suite(
    name="toy",
    version="1.2.0",
    title="Toy scores",
    topics=("generations",),
    cases={"toy": Case},
    resolve=lambda env, document: NoSettings(),
    build=_never,
    columns=(Column("size", "Size"), Column("weight", "Weight", "lower")),
    metrics=("size", "weight"),
)


def result(
    name: str | None, label: Label = "Pass", *, number: int = 0, findings: tuple[Finding, ...] = (), values: dict[str, float] | None = None, **attributes: str
) -> ScoreResult:
    scored = label != "unscored"
    return ScoreResult(
        result_id=f"r{number}",
        event_id=f"e{number}",
        case_id=name,
        kind="toy",
        suite="toy",
        suite_version="1.2.0",
        config_digest="d41d8cd98f00b204",
        label=label,
        values=values if values is not None else ({"size": 0.5, "weight": 0.25} if scored else {}),
        findings=findings,
        failures=() if scored else (Failure(component="size", kind="toy", code="no_size"),),
        attributes={"concern_id": "C1", "batch_id": "B1", **attributes},
        models={"judge": "tiny-1"},
        source=FileRef(file="cases.jsonl", place=f"line {number + 1}"),
        scored_at=NOW,
        duration_ms={"score": 12.0},
    )


def finding(code: str = "toy.small", *, severity: Any = "major", path: str = "size", message: str = "is small", suggestion: str | None = None) -> Finding:
    return Finding(severity=severity, code=code, path=path, message=message, suggestion=suggestion)


@dataclass(frozen=True)
class Many:
    """So many entries, made anew whenever they are read, as from a file."""

    count: int
    findings: int = 1

    def __iter__(self) -> Iterator[Entry]:
        labels: tuple[Label, ...] = ("Pass", "Pass", "Pass", "Fail", "Review", "unscored")
        for number in range(self.count):
            draw = random.Random(number)
            label = labels[number % len(labels)]
            codes = ("toy.small", "toy.heavy", "toy.shape.not_round")
            found = tuple(
                finding(
                    draw.choice(codes), severity=draw.choice(("critical", "major", "minor", "info")), path=f"parts[{place}].size", suggestion="make it larger"
                )
                for place in range(self.findings)
            )
            values = {"size": min(1.0, draw.betavariate(6, 2)), "weight": draw.betavariate(2, 5)} if label != "unscored" else {}
            yield result(f"case-{number:05}", label, number=number, findings=found if label != "Pass" else (), values=values)


def report_of(entries: Any, suite: Suite = SUITE) -> SuiteReport:
    return suite_report(entries, RunFacts(suite=suite, settings=NoSettings(), config_digest="d41d8cd98f00b204", generated_at=NOW))


def options(report: SuiteReport, **given: Any) -> LayoutOptions:
    return LayoutOptions(verdict=SUITE.verdict(report, None), **given)


def laid_out(entries: Any, format: str, suite: Suite = SUITE, **given: Any) -> str:
    from touchstone.ops.reports.layouts import lay_out

    report = report_of(entries, suite)
    return "".join(lay_out(suite, report, format, options(report, **given)))


def problem(what: str = "is no JSON", *, file: str = "broken.json", kind: Any = "unreadable") -> Problem:
    return Problem(source=FileRef(file=file), what=what, kind=kind)


VERDICT = Verdict("FAIL", "1 of 3 cases failed", 1)
