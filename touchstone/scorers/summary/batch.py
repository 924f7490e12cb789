"""Loss V3 over many summaries: report, verdict and view."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC

from touchstone.schemas.reports.fields import utc_text
from touchstone.schemas.reports.intervals import Intervals
from touchstone.schemas.reports.summary import OMISSIONS, LossCase, LossComponent, LossError, LossLabels, LossReport, LossResult, LossSpread
from touchstone.schemas.result import Problem, ScoreResult, place_of
from touchstone.scorers.judges.ask.tally import STATES, JudgeTally
from touchstone.scorers.reporting import (
    EXIT_FAIL,
    EXIT_PASS,
    CaseView,
    Column,
    Figure,
    Gate,
    Group,
    LayoutOptions,
    Rate,
    RunFacts,
    Table,
    Verdict,
    View,
    counted,
    mean_intervals,
    verdict_by_labels,
    wilson,
)
from touchstone.scorers.reporting.report import distribution, unread
from touchstone.scorers.reporting.view import STATUSES
from touchstone.scorers.reporting.words import beside_bound, number, number_span, some
from touchstone.scorers.summary.case_names import name_of

LOSS = "loss"
COLUMNS = (
    Column(LOSS, "Loss", "lower"),
    Column("facts_loss", "Facts", "lower"),
    Column("entities_loss", "Entities", "lower"),
    Column("flow_loss", "Flow", "lower"),
    Column("semantic_loss", "Semantic", "lower"),
    Column("length_loss", "Length", "lower"),
)
#: Values for which higher is better, unlike a loss.
HIGHER_IS_BETTER = frozenset({"recall", "precision", "coverage", "order", "cosine"})
#: Rounding error of a mean; a smaller excess still meets the gate.
ROUNDING = 1e-9
#: How many of the highest losses are listed by default.
WORST = 5
REASONS_SHOWN_MAX = 3
#: Summaries of which a report names what they leave out, and findings of each.
OMITTING_CASES_MAX, OMISSIONS_MAX = 5, 10
NO_CATEGORY = "uncategorised"


def report(entries: Iterable[ScoreResult | Problem], facts: RunFacts) -> LossReport:
    """The report of a batch, cases in the order of the entries; ties among the worst keep that order."""
    results: list[LossResult] = []
    errors: list[LossError] = []
    by_name: defaultdict[str, list[float]] = defaultdict(list)
    models: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, Problem):
            errors.append(LossError(where=entry.where, what=entry.what))
            continue
        results.append(_result(entry))
        models.update(entry.models)
        for name, value in entry.values.items():
            by_name[name].append(value)
    rated = [result for result in results if LOSS in result.values]
    names = [name for name in facts.suite.metrics if name in by_name and name != LOSS]
    names += sorted(by_name.keys() - {*names, LOSS})
    labels = Counter(result.label for result in results)
    worst = sorted(rated, key=lambda result: -result.values[LOSS])[: int(facts.asked.get("worst", WORST))]
    return LossReport(
        generated_at=facts.generated_at,
        suite_version=facts.version,
        config_digest=facts.config_digest,
        configuration=dict(facts.configuration),
        models=models,
        total_cases=len(results),
        scored_cases=len(rated),
        repeated_cases=facts.repeated,
        label_distribution=LossLabels(**{name: labels[name] for name in LossLabels.model_fields}),  # type: ignore[index]  # the fields are labels
        loss=spread(by_name[LOSS]),
        components={name: LossComponent(cases=len(by_name[name]), mean=_mean(by_name[name])) for name in names},
        hard_fails=_counts(code for result in rated for code in result.rules),
        conflicts=_counts(code for result in rated for code in result.conflicts),
        doubts=_counts(code for result in rated for code in result.doubts),
        omissions=_counts(code for result in rated for code in result.omissions),
        unscored=_counts(code for result in results if result.label == "unscored" for code in result.codes),
        worst=tuple(LossCase(**{name: getattr(result, name) for name in LossCase.model_fields}) for result in worst),
        results=tuple(results),
        errors=tuple(errors),
        intervals=Intervals(pass_rate=wilson(labels["Pass"], len(rated)), means=mean_intervals({name: by_name[name] for name in (LOSS, *names)})),
    )


def group(result: ScoreResult) -> Group | None:
    """The batch that the producer names; otherwise the model's summaries of one day."""
    given, attributes = result.correlation, result.attributes
    day = str(attributes["generated_at"])[:10] if attributes.get("generated_at") else None
    concern = given.get("concern_id") or attributes.get("model") or "summaries"
    return Group.of(concern, given.get("batch_id", day), given.get("batch_size"))


def _result(result: ScoreResult) -> LossResult:
    """One case as the report has it."""
    return LossResult(
        where=place_of(result.source),
        event_id=result.event_id,
        case_id=result.case_id,
        category=_text(result.attributes.get("category")),
        model=_text(result.attributes.get("model")),
        label=result.label,
        values=result.values,
        findings=result.findings,
        failures=result.failures,
        components_missing=result.components_missing,
        not_checked=result.not_checked,
        details=result.details,
    )


def _text(value: object) -> str | None:
    """An attribute that is a text."""
    return value if isinstance(value, str) else None


def spread(losses: Sequence[float]) -> LossSpread | None:
    """Mean, bounds and percentiles; None without a loss."""
    if not losses:
        return None
    ordered = sorted(losses)
    p50, p90, p99 = (percentile(ordered, share) for share in (0.5, 0.9, 0.99))
    return LossSpread(mean=_mean(ordered), min=ordered[0], p50=p50, p90=p90, p99=p99, max=ordered[-1])


def percentile(ordered: Sequence[float], share: float) -> float:
    """The percentile of ascending values at a share (0 to 1), interpolated linearly."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _counts(codes: Iterable[str]) -> dict[str, int]:
    """Code → count, the most frequent first."""
    counts = Counter(codes)
    return {code: counts[code] for code in sorted(counts, key=lambda code: (-counts[code], code))}


def verdict(report: LossReport, gate: Gate | None = None) -> Verdict:
    """The verdict on a batch. With `max_mean` of the loss: exit code 0 if the mean of the scored cases is at most that, 1 if not."""
    labels, scored = report.label_distribution, report.scored_cases
    judged = verdict_by_labels(
        passed=labels.Pass,
        review=scored - labels.Pass - labels.Fail,
        failed=labels.Fail,
        unscored=report.total_cases - scored,
        problems=len(report.errors),
        gate=gate,
        unscored_why=", ".join(f"{code} {count}" for code, count in report.unscored.items()),
        incomplete=_counts(failure.code for result in report.results if result.label != "unscored" for failure in result.failures),
    )
    limit = dict(gate.max_mean).get(LOSS) if gate is not None else None
    if limit is None or judged.word == "ERROR" or report.loss is None:
        return judged
    reason = f"mean loss {beside_bound(report.loss.mean, limit, 4)} of {counted(scored, 'case')}, at most {limit:.10g} asked"
    return Verdict("PASS", reason, EXIT_PASS) if report.loss.mean <= limit + ROUNDING else Verdict("FAIL", reason, EXIT_FAIL)


def json_pieces(report: LossReport, options: LayoutOptions) -> Iterable[str]:
    """The report, indented by two spaces, numbers not rounded."""
    whole = report.model_copy(update={"comparison": options.comparison, "trend": options.trend})
    yield whole.model_dump_json(indent=2) + "\n"


def cases_of(document: LossReport) -> Iterable[CaseView]:
    """The cases of an earlier JSON report."""
    return (_case(result) for result in document.results)


def view(report: LossReport) -> View:
    """The report as every other format shows it."""
    labels = {name: getattr(report.label_distribution, name) for name in LossLabels.model_fields}
    spans = {} if report.intervals is None else report.intervals.means
    components = [
        (name, number(part.mean), number_span(spans[name]) if name in spans else "", str(part.cases), "higher" if name in HIGHER_IS_BETTER else "lower")
        for name, part in report.components.items()
    ]
    tables = (
        *_judge(report),
        Table("Components", ("Component", "Mean", "95% interval", "Cases", "Better"), components, frozenset({1, 2, 3})),
        Table("Hard fails", ("Rule", "Cases"), [(code, str(count)) for code, count in report.hard_fails.items()], frozenset({1})),
        Table("Conflicts", ("Code", "Cases"), [(code, str(count)) for code, count in report.conflicts.items()], frozenset({1})),
        Table("In doubt", ("Code", "Cases"), [(code, str(count)) for code, count in report.doubts.items()], frozenset({1})),
        Table("Left out", ("Code", "Cases"), [(code, str(count)) for code, count in report.omissions.items()], frozenset({1})),
        Table("Unscored", ("Reason", "Cases"), [(code, str(count)) for code, count in report.unscored.items()], frozenset({1})),
        Table(f"Worst {len(report.worst)}", _HEADER, [_row(case) for case in report.worst], _NUMERIC),
        _left_out(report),
    )
    return View(
        title="Loss V3",
        suite="summary_loss",
        suite_version=report.suite_version,
        config_digest=report.config_digest,
        generated_at=utc_text(report.generated_at.astimezone(UTC)),
        total=report.total_cases,
        labels=labels,
        counts=f"{counted(report.total_cases, 'case')}, {report.scored_cases} scored",
        facts=tuple(f"{role}: {model}" for role, model in report.models.items()),
        rate=Rate(report.label_distribution.Pass, report.scored_cases),
        figures=_figures(report),
        tables=tuple(table for table in tables if table.rows),
        distributions=tuple(
            distribution(column.value, values, 1.0)
            for column in COLUMNS
            if (values := [one.values[column.value] for one in report.results if column.value in one.values])
        ),
        case_columns=_HEADER,
        numeric_columns=_NUMERIC,
        cases=[_case(result) for result in report.results],
        problems=tuple(unread(error.where, error.what) for error in report.errors),
    )


#: State of a summary in the details of its result → its row.
_STATES = {**STATES, "certain": "with nothing uncertain", "hard_fail": "that failed hard"}


def _judge(report: LossReport) -> tuple[Table, ...]:
    """The judge's requests and their cost; nothing without `support: judge`."""
    tally = JudgeTally()
    statements: Counter[str] = Counter()
    for result in report.results:
        tally.add(result.details)
        if isinstance(judge := result.details.get("judge"), dict):
            statements.update({f"{name} {kind}": count for kind in _COUNTED for name, count in judge.get(kind, {}).items()})
    if not tally.states:
        return ()
    table = tally.table("summaries", _STATES)
    rows = [(words.format(name), str(statements[f"{name} {kind}"])) for kind, words in _COUNTED.items() for name in ("facts", "sentences")]
    return (replace(table, rows=[*table.rows, *rows]),)


#: Count in the details of a result → its row.
_COUNTED = {
    "certain": "{} that the models were certain of",
    "asked": "{} asked",
    "not_asked": "{} uncertain and beyond what one call asks",
    "differ": "{} of which the judge says otherwise than the models",
}


def _figures(report: LossReport) -> tuple[Figure, ...]:
    """The distribution of the losses; the mean has an interval."""
    if report.loss is None:
        return ()
    spans = {} if report.intervals is None else {"mean": report.intervals.means.get(LOSS)}
    return tuple(Figure(name, f"{getattr(report.loss, name):.3f}", interval=spans.get(name), places=3) for name in LossSpread.model_fields)


def _left_out(report: LossReport) -> Table:
    """What the worst summaries leave out, a row a finding, the worst of each kind first; the words of facts only where the results quote."""
    worst = sorted((result for result in report.results if result.label != "Pass" and LOSS in result.values), key=lambda result: -result.values[LOSS])
    rows = [
        (name_of(result.event_id, result.case_id), result.case_id or "", finding.message, finding.suggestion or "")
        for result in worst[:OMITTING_CASES_MAX]
        for finding in [finding for finding in result.findings if finding.code in OMISSIONS][:OMISSIONS_MAX]
    ]
    return Table("Left out by the worst", ("Case", "Gold", "What", "What to do"), rows)


_HEADER = ("Case", "Model", "Label", *(column.heading for column in COLUMNS), "Why")
_NUMERIC = frozenset(range(3, 3 + len(COLUMNS)))


def _why(case: LossCase) -> str:
    """Why a case did not pass: the rules of a hard fail, otherwise the codes of its failures and findings. Of one that passed, not what it leaves out."""
    omitted = [] if case.label == "Pass" else [f"{code} ({count})" for code, count in case.omissions.items()]
    return some(case.rules or (*case.codes, *case.conflicts, *case.doubts, *case.others, *omitted), REASONS_SHOWN_MAX)


def _row(case: LossCase) -> tuple[str, ...]:
    """Case, model, label, the losses, and why."""
    losses = (number(case.values.get(column.value)) for column in COLUMNS)
    return (name_of(case.event_id, case.case_id), case.model or "", case.label, *losses, _why(case))


def _case(result: LossResult) -> CaseView:
    """One case. The whole event id is in its name: a gold has many generated summaries."""
    losses = ", ".join(f"{column.heading.lower()} {number(result.values[column.value])}" for column in COLUMNS if column.value in result.values)
    return CaseView(
        name=f"{result.case_id} [{result.event_id}]" if result.case_id else result.event_id,
        label=result.label,
        status=STATUSES[result.label],
        group=result.category or NO_CATEGORY,
        class_name=".".join(filter(None, ("summary_loss", result.category, result.model))),
        cells=_row(result),
        summary=losses,
        why=_why(result),
        ids=tuple(filter(None, (result.case_id, result.event_id))),
        values=result.values,
        findings=result.findings,
    )
