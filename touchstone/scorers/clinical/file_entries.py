"""Makes one entry per file from the results and problems of a run; a result from a topic is an entry of its own.

A file of several traces has the means of their scores and the worst of their labels, which bounds the overall score. A trace that cannot be read has 0. The
paths of its findings begin with the trace (`trace[2]/outputs.fhir/Patient.gender`, from 0). A loose document is shown as a document, not as the trace that
it was scored as.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from touchstone.schemas.reports.clinical import ClinicalEntry, FileFormat, JudgedFile, Outcome
from touchstone.schemas.result import FileRef, Finding, Label, NotChecked, Problem, ScoreResult, Severity, Source, place_of
from touchstone.schemas.trace import CLINICAL_FORMATS
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.checks.scores import bound_finding, bounded_score, worst
from touchstone.scorers.clinical.must_support import Coverage, merge
from touchstone.scorers.clinical.report import Report
from touchstone.scorers.clinical.settings import ClinicalSettings
from touchstone.scorers.clinical.trace_files import ONLY, UNRECOGNISED, trace_id_of

#: Findings of one file that are listed; others are counted.
FINDINGS_MAX: Final = 1_000
#: In the details: code → severity → number of findings, listed or not.
FINDING_COUNTS: Final = "finding_counts"
#: In the details: the score of the comparison of formats and persona, and how much was compared; absent if nothing was.
CONSISTENCY: Final = "consistency"
#: In the details: which must-support elements of the claimed profiles the documents populate; absent if no profile at hand was claimed.
MUST_SUPPORT: Final = "must_support"
#: In the details: entry of the list of known issues → findings that it suppressed; absent if none did.
SUPPRESSED: Final = "suppressed"
NOTHING_SCORED: Final = ("format", "terminology", "clinical")
_GRAVEST_FIRST: Final = {"critical": 0, "major": 1, "minor": 2, "info": 3}
_OUTCOMES: Final[Mapping[str, Outcome]] = {"unreadable": "problem", "passed_over": "passed_over", "unknown": "unvalidated", "invalid": "unvalidated"}
_NUMBERS: Final = re.compile(r"\d+")
Entry = ScoreResult | Problem


def judged_files(entries: Iterable[Entry], settings: ClinicalSettings) -> Iterator[JudgedFile]:
    """Yield one entry per file, in order. Results and problems of one file are adjacent."""
    merged: _Merged | None = None
    for entry in entries:
        is_part = isinstance(entry.source, FileRef) and not _is_file(entry)
        if merged is not None and not (is_part and merged.goes_on(entry)):
            yield merged.judged()
            merged = None
        if is_part:
            merged = merged or _Merged(entry.source.file, settings)  # type: ignore[union-attr]  # a part of a file
        if isinstance(entry, Problem):
            if merged is not None:
                merged.add_unread(entry)
            else:
                yield _of_problem(entry)
            continue
        try:
            if merged is None:
                yield _of_document(entry) if isinstance(entry.source, FileRef) else of_event(entry)
            else:
                merged.add(entry)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ConfigError(f"result {entry.result_id} cannot be reported: it is damaged, or another program wrote it") from None
    if merged is not None:
        yield merged.judged()


def of_event(result: ScoreResult) -> JudgedFile:
    """One result from a topic as an entry, with the reasons if it was not scored."""
    documents: list[dict[str, Any]] = result.details.get("documents", [])
    failures = tuple(NotChecked(check=failure.component, reason=f"could not be scored ({failure.code})") for failure in result.failures)
    entry = ClinicalEntry(
        file=result.case_id or place_of(result.source),
        format="trace",
        label=result.label,
        valid=result.details.get("valid"),
        scores=dict(result.values),
        components_missing=result.components_missing,
        findings=tuple(gravest_first(result.findings)),
        rules_fired=_compared(result, "compared") | {f"{one['path']}/{name}": times for one in documents for name, times in one["rules_fired"].items()},
        not_checked=failures + in_order(result.not_checked),
        checks=_compared(result, "score") | {f"{one['path']}/{name}": score for one in documents for name, score in one["checks"].items()},
        findings_dropped=result.details.get("findings_dropped", 0),
        finding_counts=_counts_of(result),
        must_support=result.details.get(MUST_SUPPORT, {}),
        suppressed=result.details.get(SUPPRESSED, {}),
    )
    return JudgedFile(entry=entry, outcome="unvalidated" if result.label == "unscored" else "validated", duration_s=_seconds(result))


def by_code(counts: Mapping[tuple[str, Severity], int]) -> dict[str, dict[Severity, int]]:
    """Code → severity → number of findings, sorted by code."""
    found: dict[str, dict[Severity, int]] = {}
    for (code, severity), times in sorted(counts.items()):
        found.setdefault(code, {})[severity] = times
    return found


def _compared(result: ScoreResult, name: str) -> dict[str, Any]:
    """One of the figures of the comparison of formats and persona, under the name of the check."""
    compared = result.details.get(CONSISTENCY)
    return {} if compared is None else {CONSISTENCY: compared[name]}


def _counts_of(result: ScoreResult) -> dict[str, dict[Severity, int]]:
    """The counts of all findings of a result; an old result without them has those of its listed findings."""
    counts: dict[str, dict[Severity, int]] | None = result.details.get(FINDING_COUNTS)
    return by_code(Counter((finding.code, finding.severity) for finding in result.findings)) if counts is None else counts


def in_order(skipped: Iterable[NotChecked]) -> tuple[NotChecked, ...]:
    """What was not checked, sorted: the order in which a validator meets it depends on its caches."""
    return tuple(sorted(skipped, key=lambda one: (one.check, one.reason)))


def gravest_first(findings: Iterable[Finding]) -> list[Finding]:
    """Findings sorted by severity, the most severe first."""
    return sorted(findings, key=lambda finding: _GRAVEST_FIRST[finding.severity])


def _is_file(entry: Entry) -> bool:
    """True if an entry is a whole file: a loose document, or a problem of the file itself."""
    source = entry.source
    assert isinstance(source, FileRef)
    return source.place == "" and (isinstance(entry, Problem) or entry.case_id == trace_id_of(source.file))


def _of_document(result: ScoreResult) -> JudgedFile:
    """The entry of a loose document, without its place in the trace."""
    assert isinstance(result.source, FileRef)
    if (defect := _defect(result)) is not None or not result.details.get("documents"):
        return _unscored(result.source.file, None, "problem", "file", defect or "no rule was applied")
    (one,) = result.details["documents"]
    entry = ClinicalEntry(
        file=result.source.file,
        format=one["format"],
        label=one["label"],
        valid=one["valid"],
        scores=one["scores"],
        components_missing=result.components_missing,
        findings=tuple(_inside(finding, one["path"]) for finding in result.findings),
        rules_fired=one["rules_fired"],
        not_checked=in_order(result.not_checked),
        checks=one["checks"],
        findings_dropped=one["findings_dropped"],
        finding_counts=_counts_of(result),
        must_support=result.details.get(MUST_SUPPORT, {}),
        suppressed=result.details.get(SUPPRESSED, {}),
    )
    return JudgedFile(entry=entry, outcome="unvalidated" if entry.label == "unscored" else "validated", duration_s=_seconds(result))


def _of_problem(problem: Problem) -> JudgedFile:
    """The entry of a file that was not validated, with the reason."""
    assert isinstance(problem.source, FileRef)
    of_format = problem.kind == "passed_over" and problem.format is not None
    check = str(problem.format) if of_format else "format" if problem.what.startswith(UNRECOGNISED) else "file"
    return _unscored(problem.source.file, problem.format, _OUTCOMES[problem.kind], check, problem.what)


def _unscored(file: str, form: Any, outcome: Outcome, check: str, reason: str) -> JudgedFile:
    known: FileFormat | None = form
    skipped = NotChecked(check=check, reason=reason)
    entry = ClinicalEntry(file=file, format=known, label="unscored", valid=None, components_missing=NOTHING_SCORED, not_checked=(skipped,))
    return JudgedFile(entry=entry, outcome=outcome)


def _inside(finding: Finding, place: str) -> Finding:
    """A finding with its path inside the document."""
    return finding_at(finding, finding.path.removeprefix(place).removeprefix("/"))


def finding_at(finding: Finding, path: str) -> Finding:
    """The same finding at another path."""
    return Finding.of_valid({**finding.__dict__, "path": path})


def _defect(result: ScoreResult) -> str | None:
    """The message for a result with a defect of the validator; None for any other."""
    return next((f"the validator failed ({failure.code})" for failure in result.failures if failure.kind == "scorer_error"), None)


def _seconds(result: ScoreResult) -> float:
    return sum(result.duration_ms.values()) / 1000


class _Merged:
    """The merged entry of the traces of one file."""

    def __init__(self, file: str, settings: ClinicalSettings) -> None:
        self._file, self._settings = file, settings
        self._numbers: list[int] | None = None
        self._labels: set[Label] = set()
        self._values: dict[str, list[float]] = {}
        self._checks: dict[str, list[float]] = {}
        self._rules: Counter[str] = Counter()
        self._missing: dict[str, None] = {}
        self._report = Report(findings_max=FINDINGS_MAX)
        self._counts: Counter[tuple[str, Severity]] = Counter()
        self._beyond = 0
        self._must_support: Coverage = {}
        self._suppressed: Counter[str] = Counter()
        self._not_checked: dict[NotChecked, None] = {}
        self._valid: set[bool | None] = set()
        self._only_others = True
        self._defect: str | None = None
        self._duration_s = 0.0

    def goes_on(self, entry: Entry) -> bool:
        """True if an entry is a later part of the same reading of the file, which may be read twice."""
        assert isinstance(entry.source, FileRef)
        return entry.source.file == self._file and self._numbers is not None and _numbers(entry.source.place) > self._numbers

    def _at(self, source: Source) -> str:
        """Go to the place of the next trace; returns the beginning of its paths."""
        assert isinstance(source, FileRef)
        self._numbers = _numbers(source.place)
        return "" if source.place in {ONLY, ""} else f"{source.place}/"

    def add(self, result: ScoreResult) -> None:
        """Count one scored trace."""
        prefix = self._at(result.source)
        self._defect = self._defect or _defect(result)
        self._labels.add(result.label)
        self._missing |= dict.fromkeys(result.components_missing)
        _append(self._values, result.values)
        self._add_findings(prefix, result.findings)
        self._add_not_checked(result.not_checked)
        if result.failures:
            self._add_not_checked([NotChecked(check="outputs", reason=self._why_nothing(result))])
        # A trace that has only documents of formats that nobody asked for.
        others = any(skipped.check in CLINICAL_FORMATS and skipped.check not in self._settings.formats for skipped in result.not_checked)
        self._only_others = self._only_others and bool(result.failures) and others
        self._valid.add(result.details.get("valid"))
        self._beyond += result.details.get("findings_dropped", 0)
        self._counts.update({(code, severity): times for code, counts in _counts_of(result).items() for severity, times in counts.items()})
        self._suppressed.update(result.details.get(SUPPRESSED, {}))
        merge(self._must_support, result.details.get(MUST_SUPPORT, {}))
        _append(self._checks, _compared(result, "score"))
        self._rules.update(_compared(result, "compared"))
        for one in result.details.get("documents", ()):
            _append(self._checks, {f"{one['path']}/{name}": score for name, score in one["checks"].items()})
            self._rules.update({f"{one['path']}/{name}": times for name, times in one["rules_fired"].items()})
        self._duration_s += _seconds(result)

    def add_unread(self, problem: Problem) -> None:
        """Count one trace that could not be read."""
        prefix = self._at(problem.source)
        self._labels.add("Fail")
        _append(self._values, {"overall": 0.0, "format": 0.0})
        self._valid.add(None)
        self._missing |= dict.fromkeys(NOTHING_SCORED)
        self._only_others = False
        findings = problem.findings or (Finding(severity="critical", code="trace.field", path="trace", message=problem.what),)
        self._add_findings(prefix, findings)
        self._counts.update((finding.code, finding.severity) for finding in findings)

    def judged(self) -> JudgedFile:
        """The entry of the file."""
        if self._defect is not None:
            return _unscored(self._file, None, "problem", "file", self._defect)
        label = worst(*self._labels) if self._labels else "unscored"
        scores = _means(self._values)
        bound = bound_finding(scores.get("overall"), label, f"a trace of the file is {label}")
        if (overall := bounded_score(scores.pop("overall", None), label)[0]) is not None:
            scores = {"overall": overall, **scores}
        entry = ClinicalEntry(
            file=self._file,
            format="trace",
            label=label,
            valid=False if False in self._valid else None if None in self._valid or not self._valid else True,
            scores=scores,
            components_missing=tuple(self._missing),
            findings=tuple(gravest_first([*self._report.findings, *bound])),
            rules_fired=dict(self._rules),
            not_checked=in_order(self._not_checked),
            checks=_means(self._checks),
            findings_dropped=self._beyond + self._report.dropped,
            finding_counts=by_code(self._counts + Counter((finding.code, finding.severity) for finding in bound)),
            must_support=self._must_support,
            suppressed=dict(self._suppressed),
        )
        outcome: Outcome = "passed_over" if self._only_others else "unvalidated" if label == "unscored" else "validated"
        return JudgedFile(entry=entry, outcome=outcome, duration_s=self._duration_s)

    def _why_nothing(self, result: ScoreResult) -> str:
        """The reason why no document of a trace was validated."""
        if not result.not_checked:
            return f"the trace has no document: outputs has none of {', '.join(CLINICAL_FORMATS)}"
        if set(self._settings.formats) >= set(CLINICAL_FORMATS):
            return "the trace has no document"
        return "the trace has no document in a format that was asked for"

    def _add_findings(self, prefix: str, findings: Iterable[Finding]) -> None:
        self._report.add(*(finding_at(finding, f"{prefix}{finding.path}") if prefix else finding for finding in findings))

    def _add_not_checked(self, skipped: Iterable[NotChecked]) -> None:
        for one in skipped:
            if len(self._not_checked) < self._settings.limits.not_checked_max:
                self._not_checked[one] = None


def _numbers(place: str) -> list[int]:
    """The numbers in a place, by which the places of one file are sorted."""
    return [int(number) for number in _NUMBERS.findall(place)]


def _append(into: dict[str, list[float]], values: Mapping[str, float]) -> None:
    for name, value in values.items():
        into.setdefault(name, []).append(value)


def _means(values: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: sum(known) / len(known) for name, known in values.items()}
