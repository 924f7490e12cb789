"""SAFE v0 over many results: report, verdict, view, and the JSON document of §5.1."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from touchstone.schemas.reports.fields import utc_text
from touchstone.schemas.reports.safe import (
    SafeV0BatchReport,
    SafeV0CaseError,
    SafeV0FailureAnalysis,
    SafeV0Intervals,
    SafeV0JsonReport,
    SafeV0Result,
)
from touchstone.schemas.result import Finding, Problem, ScoreResult, place_of
from touchstone.scorers.base import ConfigError
from touchstone.scorers.judges.ask.tally import FAILED
from touchstone.scorers.reporting import (
    CaseView,
    Column,
    Figure,
    Gate,
    LayoutOptions,
    RunFacts,
    Table,
    Verdict,
    View,
    counted,
    percent,
    verdict_by_labels,
)
from touchstone.scorers.reporting.report import distribution, unread
from touchstone.scorers.reporting.view import STATUSES
from touchstone.scorers.reporting.words import number, percent_span, some
from touchstone.scorers.safe.batch import JudgedBatch, build_report, by_test, intervals_of, result_of, summary_of
from touchstone.scorers.safe.names import NO_NAMES, Names
from touchstone.scorers.safe.settings import METRICS, SafeSettings

COLUMNS = tuple(Column(name, name) for name in (*METRICS, "composite"))
#: Codes of the findings of each metric, in their order.
CODES = ("cr_missing", "ah_violation", "ac_missing")
ISSUES_MAX = 10
_NAMES_SHOWN_MAX = 8


@dataclass(frozen=True, slots=True)
class SafeReport:
    """The specification's batch report, and the entries and facts behind it. Equal batches are equal reports, whenever they were made.

    `judged`: what a judge did, if one was to be asked. `names`: of expectations that the results may not quote.
    """

    batch: SafeV0BatchReport
    facts: RunFacts
    judged: JudgedBatch = field(default_factory=JudgedBatch, compare=False)  # batch.judge says the same
    names: Names = field(default_factory=Names, compare=False)


def report(entries: Iterable[ScoreResult | Problem], facts: RunFacts) -> SafeReport:
    """Aggregate one concern's cases. A case that could not be scored is listed in `errors`, and is in no count and no mean.

    The batch has the name that its cases share, otherwise the requested one. Raises `ConfigError` if the entries mix concerns,
    if there are none, and if results miss values that a SAFE report needs.
    """
    results: list[SafeV0Result] = []
    errors: list[SafeV0CaseError] = []
    unfit: list[str] = []
    judged, names = JudgedBatch(), Names()
    concern: str | None = None
    batches: set[str] = set()
    for entry in entries:
        if isinstance(entry, Problem):
            errors.append(SafeV0CaseError(where=entry.where, what=entry.what))
            continue
        named = entry.attributes.get("concern_id")
        if isinstance(named, str):
            concern = concern or named
            if named != concern:
                raise ConfigError(f"{place_of(entry.source)}: a second concern, {named}, beside {concern}; choose one with --concern")
        batches.add(str(entry.attributes.get("batch_id")))
        if entry.label == "unscored":
            codes = ", ".join(sorted({f"{failure.component}: {failure.code}" for failure in entry.failures})) or "no reason given"
            errors.append(SafeV0CaseError(where=place_of(entry.source), what=f"could not be scored ({codes})"))
            continue
        try:
            results.append(result := result_of(entry))
        except (ValidationError, KeyError):
            unfit.append(entry.result_id)
            continue
        judged.add(result.test_id, entry)
        names.add(result, entry.findings)
    asked = facts.asked
    if unfit:
        raise ConfigError(f"stored results lack what a SAFE v0 report needs (CR, AH, AC, composite, details, test_id): {some(sorted(unfit), _NAMES_SHOWN_MAX)}")
    if not results and not errors:
        if asked.get("concern_id") is None and asked.get("batch_id", "*") == "*":
            raise ConfigError("no case to score: the files hold none; check the paths")
        wanted = f"concern {asked.get('concern_id') or 'any'}, batch {asked.get('batch_id', '*')!r}"
        raise ConfigError(f"no case to score ({wanted}; {counted(asked.get('passed_over', 0), 'other case')} passed over); check --concern and --batch")
    settings = facts.settings if isinstance(facts.settings, SafeSettings) else SafeSettings()
    batch_id = next(iter(batches)) if len(batches) == 1 else str(asked.get("batch_id", "*"))
    named = concern or asked.get("concern_id") or ""
    batch = build_report(results, concern_id=named, batch_id=batch_id, settings=settings, errors=errors, judge=judged.summary())
    return SafeReport(batch, facts, judged, names)


def verdict(report: SafeReport, gate: Gate | None = None) -> Verdict:
    """The verdict on a batch (§7.3). A judge that failed bounds the labels already; `incomplete` reports it for a gate on findings."""
    labels, judge = report.batch.label_distribution, report.batch.judge
    verdict = verdict_by_labels(passed=labels.Pass, review=labels.Review, failed=labels.Fail, problems=len(report.batch.errors), gate=gate)
    return replace(verdict, incomplete=judge is not None and any(judge.states.get(state) for state in FAILED))


def json_pieces(report: SafeReport, options: LayoutOptions) -> Iterator[str]:
    """The document of §5.1, indented by two spaces, fields in the specification's order, numbers not rounded."""
    batch = report.batch
    shared = {name: getattr(batch, name) for name in SafeV0JsonReport.model_fields if name in SafeV0BatchReport.model_fields}
    document = SafeV0JsonReport(
        **shared,
        generated_at=report.facts.generated_at,
        summary=summary_of(batch),
        failure_analysis=SafeV0FailureAnalysis(**{name: getattr(batch, name) for name in SafeV0FailureAnalysis.model_fields}),
        intervals=intervals_of(batch),
        suite_version=report.facts.version,
        config_digest=report.facts.config_digest,
        comparison=options.comparison,
        trend=options.trend,
    )
    # Two pieces, because adding the newline would copy a large text.
    yield document.model_dump_json(indent=2)
    yield "\n"


def cases_of(document: SafeV0JsonReport) -> Iterator[CaseView]:
    """The cases of an earlier JSON report, as a view has them."""
    findings = by_test(document.judge)
    return (_case(result, document.concern_id, findings.get(result.test_id, ())) for result in document.results)


def view(report: SafeReport) -> View:
    """The report as every other format shows it."""
    batch, facts = report.batch, report.facts
    labels, intervals = batch.label_distribution, intervals_of(batch)
    problems = tuple(unread(error.where, error.what) for error in batch.errors)
    found = by_test(batch.judge)
    return View(
        title=f"SAFE v0: {batch.concern_id}",
        suite=facts.suite.name,
        suite_version=facts.version,
        config_digest=facts.config_digest,
        generated_at=utc_text(facts.generated_at),
        total=batch.total_cases,
        labels=labels.model_dump(),
        counts=counted(batch.total_cases, "case"),
        facts=(f"Batch {batch.batch_id}",),
        figures=(
            *(_figure(batch, metric, intervals) for metric in METRICS),
            Figure("Composite", number(batch.mean_scores.composite), interval=intervals.means.get("composite")),
        ),
        tables=tuple(table for table in (_metrics(batch), _archetypes(batch), _issues(batch, report.names), *report.judged.tables()) if table.rows),
        distributions=tuple(distribution(name, [getattr(one.scores, name) for one in batch.results], 1.0) for name in (*METRICS, "composite")),
        case_columns=("Test", "Archetype", *(column.heading for column in COLUMNS), "Label"),
        numeric_columns=frozenset(range(2, 2 + len(COLUMNS))),
        cases=[_case(result, batch.concern_id, found.get(result.test_id, ()), report.names) for result in batch.results],
        problems=problems,
    )


def _figure(batch: SafeV0BatchReport, metric: str, intervals: SafeV0Intervals) -> Figure:
    """A metric's mean, and how it compares with its thresholds."""
    span = f" ({percent_span(interval)})" if (interval := intervals.pass_rates.get(metric)) is not None else ""
    note = f"pass rate {percent(getattr(batch.pass_rates, metric))}{span}"
    mean, threshold = getattr(batch.mean_scores, metric), getattr(batch.thresholds, metric)
    state = "good" if mean >= threshold.pass_ else "middling" if mean >= threshold.review else "bad"
    return Figure(metric, number(mean), state if batch.total_cases else None, note, intervals.means.get(metric))  # type: ignore[arg-type]


def _metrics(batch: SafeV0BatchReport) -> Table:
    """Mean, pass rate and thresholds of each metric."""
    rows = []
    for metric in METRICS:
        threshold = getattr(batch.thresholds, metric)
        mean, rate = getattr(batch.mean_scores, metric), getattr(batch.pass_rates, metric)
        rows.append((metric, number(mean), percent(rate), f"{threshold.pass_:g}", f"{threshold.review:g}"))
    return Table("Metrics", ("Metric", "Mean", "Pass rate", "Pass at", "Review at"), rows, frozenset({1, 2, 3, 4}))


def _archetypes(batch: SafeV0BatchReport) -> Table:
    rows = [
        (name, str(group.count), number(group.mean_CR), number(group.mean_AH), number(group.mean_AC), percent(group.pass_rate))
        for name, group in batch.by_archetype.items()
    ]
    return Table("By archetype", ("Archetype", "Cases", "CR", "AH", "AC", "Pass rate"), rows, frozenset({1, 2, 3, 4, 5}))


def _issues(batch: SafeV0BatchReport, names: Names) -> Table:
    """The most frequent issues of each metric."""
    rows = [
        *(("CR", names.shown(entry.signal), str(entry.miss_count)) for entry in batch.common_CR_misses[:ISSUES_MAX]),
        *(("AH", names.shown(entry.term), str(entry.count)) for entry in batch.common_AH_violations[:ISSUES_MAX]),
        *(("AC", names.shown(entry.phrase), str(entry.miss_count)) for entry in batch.common_AC_misses[:ISSUES_MAX]),
    ]
    return Table("Most frequent issues", ("Metric", "Text", "Cases"), rows, frozenset({2}))


def _case(result: SafeV0Result, concern_id: str, judged: Sequence[Finding] = (), names: Names = NO_NAMES) -> CaseView:
    """One case. `judged`: what a judge found in it."""
    scores = [number(getattr(result.scores, column.value)) for column in COLUMNS]
    parts = (
        ("CR missing", result.details.CR.missing),
        ("AH violation", result.details.AH.violations),
        ("AC missing", result.details.AC.missing),
    )
    return CaseView(
        name=result.test_id,
        label=result.label,
        status=STATUSES[result.label],
        group=result.archetype,
        class_name=f"{concern_id}.{result.archetype}",
        cells=(result.test_id, result.archetype, *scores, result.label),
        summary=", ".join(f"{column.heading} {score}" for column, score in zip(COLUMNS, scores, strict=True)),
        ids=(result.test_id,),
        values=result.scores.model_dump(),
        findings=judged,
        codes=(*(code for code, (_, texts) in zip(CODES, parts, strict=True) if texts), *dict.fromkeys(one.code for one in judged)),
        why=", ".join(f"{name} {len(texts)}" for name, texts in parts if texts),
        details=tuple(f"{name}: {names.in_case(result.test_id, text)}" for name, texts in parts for text in texts),
    )
