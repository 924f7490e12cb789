"""The clinical suite over many results: an entry per file, their summary, verdict, view and JSON document."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from touchstone.schemas.reports.clinical import ClinicalEntry, ClinicalSummary, JudgedFile, Outcome
from touchstone.schemas.reports.fields import utc_text
from touchstone.schemas.result import ScoreResult, SourceRef
from touchstone.scorers.clinical.file_entries import Entry, judged_files
from touchstone.scorers.clinical.must_support import CoverageCounts
from touchstone.scorers.clinical.settings import ClinicalSettings
from touchstone.scorers.clinical.suppression import SuppressionCounts, SuppressList
from touchstone.scorers.clinical.words import counts_of_entry, counts_text, format_text, reason_text, scores_text, suppressed_lines, valid_text
from touchstone.scorers.reporting import (
    EXIT_ERROR,
    EXIT_FAIL,
    EXIT_PASS,
    EXIT_REVIEW,
    CaseView,
    Column,
    Distribution,
    Figure,
    Gate,
    Group,
    Interval,
    LabelCounts,
    LayoutOptions,
    Rate,
    RunFacts,
    Table,
    Verdict,
    View,
    counted,
    mean_interval,
    mean_intervals,
)
from touchstone.scorers.reporting.folding import CodeCounts
from touchstone.scorers.reporting.report import shared_name
from touchstone.scorers.reporting.verdict import verdict_by_rate
from touchstone.scorers.reporting.view import STATUSES, Reiterable, Status
from touchstone.scorers.reporting.words import score_text

COLUMNS = (Column("overall", "Overall", places=1), Column("format", "Format", places=1), Column("terminology", "Terminology", places=1))
#: How many files that count and were not validated the report names.
NOT_VALIDATED_MAX: Final = 20
#: Rows of the table of findings.
CODES_MAX: Final = 50
_BINS: Final = 20
_SCORE_MAX: Final = 100.0
#: A file that was not validated keeps the run from passing, as a Warn does; only a file that could not be read is an error.
_OUTCOMES: Final[Mapping[Outcome, Status]] = {"unvalidated": "review", "problem": "error", "passed_over": "passed_over"}


@dataclass(frozen=True, slots=True)
class ClinicalReport:
    """The report on files or traces. `noun`: the word for them. `labels`, `means`: of the results, so that they are the same from files and from a topic.

    `mean_intervals`: the 95 % intervals of the means.

    `not_validated`: the first files that count and were not validated, with the reason; `not_validated_more`: how many more there are.
    """

    facts: RunFacts
    noun: str
    summary: ClinicalSummary
    labels: LabelCounts
    means: Mapping[str, float]
    distributions: tuple[Distribution, ...]
    not_validated: tuple[str, ...]
    not_validated_more: int
    latest: datetime | None
    concern_id: str
    batch_id: str
    entries: Iterable[Entry]
    mean_intervals: Mapping[str, Interval] = field(default_factory=dict)
    code_counts: CodeCounts = field(default_factory=CodeCounts)
    must_support: CoverageCounts = field(default_factory=CoverageCounts)
    suppressed: SuppressionCounts = field(default_factory=lambda: SuppressionCounts(SuppressList(), {}))

    def codes(self, most: int) -> Table | None:
        """How many findings there are of each code, and in how many files; None without any."""
        return self.code_counts.table(most)

    @property
    def files(self) -> Iterator[JudgedFile]:
        """An entry per file, or per trace of a topic, made as it is read."""
        return judged_files(self.entries, _settings(self.facts))


def report(entries: Iterable[Entry], facts: RunFacts) -> ClinicalReport:
    """Count files. `entries` are read again later, so they must be re-iterable; none of them is held."""
    tally = FileCounts()
    for judged in judged_files(tally.watched(entries, facts), _settings(facts)):
        tally.add(judged)
    return ClinicalReport(
        facts=facts,
        noun="trace" if tally.from_topic else "file",
        summary=tally.summary(facts.duration_s),
        labels=tally.results,
        means=tally.means(facts.suite.metrics),
        distributions=tuple(Distribution(name, 0.0, _SCORE_MAX, tuple(counts)) for name, counts in sorted(tally.bins.items())),
        not_validated=tuple(tally.not_validated),
        not_validated_more=tally.not_validated_more,
        latest=tally.latest,
        concern_id=shared_name(tally.concerns, facts.asked.get("concern_id")),
        batch_id=shared_name(tally.batches, facts.asked.get("batch_id")),
        entries=entries,
        mean_intervals=tally.mean_intervals(facts.suite.metrics),
        code_counts=tally.codes,
        must_support=tally.must_support,
        suppressed=SuppressionCounts(_settings(facts).suppressions, dict(tally.suppressed)),
    )


def _settings(facts: RunFacts) -> ClinicalSettings:
    return facts.settings if isinstance(facts.settings, ClinicalSettings) else ClinicalSettings()


class FileCounts:
    """Counts results and files one by one; memory is bounded but for eight bytes a score."""

    def __init__(self) -> None:
        self.results = LabelCounts()
        self._labels: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._invalid = 0
        self._overall = array("d")
        self._values: dict[str, array[float]] = {}
        self.bins: dict[str, list[int]] = {}
        self.concerns: set[str] = set()
        self.batches: set[str] = set()
        self.latest: datetime | None = None
        self.from_topic = False
        self.not_validated: list[str] = []
        self.not_validated_more = 0
        self.codes = CodeCounts()
        self.must_support = CoverageCounts()
        self.suppressed: Counter[str] = Counter()

    def watched(self, entries: Iterable[Entry], facts: RunFacts) -> Iterator[Entry]:
        """The same entries, each counted as it is read."""
        for entry in entries:
            self.from_topic = self.from_topic or isinstance(entry.source, SourceRef)
            if isinstance(entry, ScoreResult):
                self.results.add(entry.label)
                for name, value in entry.values.items():
                    self._values.setdefault(name, array("d")).append(value)
                self.latest = entry.scored_at if self.latest is None else max(self.latest, entry.scored_at)
                if (named := facts.suite.group_of(entry)) is not None:
                    # Two names show that there is not just one.
                    for names, name in ((self.concerns, named.concern_id), (self.batches, named.batch_id)):
                        if len(names) < 2:
                            names.add(name)
            yield entry

    def add(self, judged: JudgedFile) -> None:
        """Count one file."""
        entry = judged.entry
        if judged.outcome == "validated":
            self._labels[entry.label] += 1
        else:
            self._outcomes[judged.outcome] += 1
            self._complain(judged)
        self._invalid += entry.valid is False
        self.codes.add(counts_of_entry(entry))
        self.must_support.add(entry.must_support)
        self.suppressed.update(entry.suppressed)
        if (overall := entry.scores.get("overall")) is not None:
            self._overall.append(overall)
        for name in ("overall", "format", "terminology"):
            if (score := entry.scores.get(name)) is not None:
                self.bins.setdefault(name, [0] * _BINS)[min(_BINS - 1, int(max(score, 0.0) / _SCORE_MAX * _BINS))] += 1

    def _complain(self, judged: JudgedFile) -> None:
        if judged.outcome == "passed_over":
            return
        if len(self.not_validated) < NOT_VALIDATED_MAX:
            prefix = "not validated: " if judged.outcome == "unvalidated" else ""
            self.not_validated.append(f"{judged.entry.file}: {prefix}{reason_text(judged.entry)}")
        else:
            self.not_validated_more += 1

    def means(self, ordered: Iterable[str]) -> dict[str, float]:
        """The mean of each value, in the order of the suite's metrics."""
        return {name: _mean(self._values[name]) for name in ordered if name in self._values}

    def mean_intervals(self, ordered: Iterable[str]) -> dict[str, Interval]:
        """The interval of each of these means that has one."""
        return mean_intervals({name: self._values[name] for name in ordered if name in self._values})

    def summary(self, duration_s: float) -> ClinicalSummary:
        """The summary of all files. `duration_s`: of the run."""
        labels, outcomes = self._labels, self._outcomes
        return ClinicalSummary(
            total=labels.total() + outcomes["unvalidated"] + outcomes["problem"],
            passed=labels["Pass"],
            warned=labels["Warn"] + labels["Review"],
            failed=labels["Fail"],
            unvalidated=outcomes["unvalidated"],
            problems=outcomes["problem"],
            passed_over=outcomes["passed_over"],
            invalid=self._invalid,
            scored=len(self._overall),
            average_score=_mean(self._overall) if self._overall else None,
            duration_s=duration_s,
            average_score_interval=mean_interval(self._overall),
        )


def _mean(values: Sequence[float]) -> float:
    """The mean by an exact sum: the same in any order."""
    return math.fsum(values) / len(values)


def verdict(report: ClinicalReport, gate: Gate | None = None) -> Verdict:
    """The verdict on a run.

    Exit code 3: a file could not be read, or there was nothing to validate. With `gate.min_pass_rate`: 0 if the pass rate reaches it, 1 if not.
    Otherwise 1 with a Fail, 2 with a Warn or a file that was not validated, 0 if all pass.
    """
    summary, noun = report.summary, report.noun
    judged = _judged(summary, noun, gate or Gate())
    passed_over = f"; {counted(summary.passed_over, noun)} of no known or wanted format passed over" if summary.passed_over else ""
    suppressed = f"; {short}" if (short := report.suppressed.in_short) else ""
    return replace(judged, reason=f"{judged.reason}{passed_over}{suppressed}")


def _judged(summary: ClinicalSummary, noun: str, gate: Gate) -> Verdict:
    files = counted(summary.total, noun)
    if summary.problems:
        return Verdict("ERROR", f"{summary.problems} of {files} could not be read", EXIT_ERROR)
    if not summary.total:
        return Verdict("ERROR", "nothing to validate", EXIT_ERROR)
    if gate.min_pass_rate is not None:
        return verdict_by_rate(Rate(summary.passed, summary.total), gate.min_pass_rate, noun)
    if summary.failed:
        return Verdict("FAIL", f"{summary.failed} of {files} failed", EXIT_FAIL)
    if summary.warned or summary.unvalidated:
        parts = [f"{summary.warned} warned"] if summary.warned else []
        parts += [f"{summary.unvalidated} not validated"] if summary.unvalidated else []
        return Verdict("WARN", f"{', '.join(parts)} of {files}, none failed", EXIT_REVIEW)
    return Verdict("PASS", f"{files} passed", EXIT_PASS)


def group(result: ScoreResult) -> Group | None:
    """The batch that the producer names; otherwise the traces of one source and one day."""
    given, attributes = result.correlation, result.attributes
    concern = given.get("concern_id") or attributes.get("source") or "traces"
    return Group.of(concern, given.get("batch_id") or attributes.get("day"), given.get("batch_size"))


def view(report: ClinicalReport) -> View:
    """The report for every generic layout."""
    summary, facts = report.summary, report.facts
    counts = f"{counted(summary.total, report.noun)}, average score {score_text(summary.average_score)}"
    counts += f", {summary.unvalidated} not validated" if summary.unvalidated else ""
    counts += f", {summary.problems} not read" if summary.problems else ""
    counts += f", {summary.invalid} not valid by the standard" if summary.invalid else ""
    tables = (report.codes(CODES_MAX), report.must_support.table(report.noun), report.suppressed.table())
    labels = {"Pass": summary.passed, "Warn": summary.warned, "Fail": summary.failed, "unscored": summary.unvalidated + summary.problems}
    return View(
        title="Clinical validation",
        suite=facts.suite.name,
        suite_version=facts.version,
        config_digest=facts.config_digest,
        generated_at=utc_text(facts.generated_at),
        noun=report.noun,
        total=summary.total,
        labels={label: count for label, count in labels.items() if count or label != "unscored"},
        # Results that were scored earlier have no duration.
        counts=f"{counts}, {summary.duration_s:.1f} s" if summary.duration_s else counts,
        rate=Rate(summary.passed, summary.total),
        figures=tuple(
            Figure(column.heading, score_text(report.means.get(column.value)), interval=report.mean_intervals.get(column.value), places=column.places)
            for column in COLUMNS
        ),
        tables=tuple(table for table in tables if table is not None),
        distributions=report.distributions,
        case_columns=(report.noun.capitalize(), "Type", "Label", "Valid", "Findings", "Overall", "Format", "Terminology"),
        numeric_columns=frozenset({5, 6, 7}),
        properties=tuple(("suppressed", line) for line in report.suppressed.lines()),
        cases=Reiterable(lambda: map(_case, report.files)),
    )


def _case(judged: JudgedFile) -> CaseView:
    entry = judged.entry
    scores = (score_text(entry.scores.get(column.value)) for column in COLUMNS)
    why = counts_text(entry) if judged.outcome == "validated" else reason_text(entry)
    return CaseView(
        name=entry.file,
        label=entry.label,
        status=_OUTCOMES.get(judged.outcome, STATUSES[entry.label]),
        group=format_text(entry),
        class_name=f"clinical.{entry.format or 'unrecognised'}",
        cells=(entry.file, format_text(entry), entry.label, valid_text(entry), why, *scores),
        summary=scores_text(entry),
        why=why,
        ids=(entry.file,),
        values=entry.scores,
        findings=entry.findings,
        findings_dropped=entry.findings_dropped,
        details=suppressed_lines(entry),
        valid=entry.valid,
        finding_counts=counts_of_entry(entry),
        duration_s=judged.duration_s,
    )


def cases_of(document: Iterable[ClinicalEntry]) -> Iterator[CaseView]:
    """The cases of an earlier JSON report. It does not say how a file without a score counted."""
    return (_case(JudgedFile(entry=entry, outcome="unvalidated" if entry.label == "unscored" else "validated")) for entry in document)


def json_pieces(report: ClinicalReport, _: LayoutOptions) -> Iterator[str]:
    """An array with an entry per file, indented by two spaces, numbers not rounded."""
    import orjson

    yield "["
    comma, idle = "", report.suppressed.idle
    for judged in report.files:
        # Line ends inside strings are escaped, so every line end here belongs to the layout.
        text = orjson.dumps(entry_document(judged.entry) | {"suppress_idle": idle}, option=orjson.OPT_INDENT_2).decode().replace("\n", "\n  ")
        yield f"{comma}\n  {text}"
        comma = ","
    yield "\n]\n" if comma else "]\n"


def entry_document(entry: ClinicalEntry) -> dict[str, Any]:
    """An entry as orjson writes it. A finding without a suggestion, line or column has no such key."""
    findings = [{name: value for name, value in finding.__dict__.items() if value is not None} for finding in entry.findings]
    return {**entry.__dict__, "findings": findings, "not_checked": [skipped.__dict__ for skipped in entry.not_checked]}
