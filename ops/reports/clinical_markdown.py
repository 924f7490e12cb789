"""Clinical files as markdown, fit for a pull request or a job summary: bounded, the verdict first."""

from collections.abc import Sequence

from touchstone.ops.reports.clinical_text import counts_text, format_text, reason_text, score_text
from touchstone.ops.reports.safe_markdown import escaped
from touchstone.ops.reports.text import counted, percent
from touchstone.ops.reports.verdict import Verdict
from touchstone.schemas.reports.clinical import ClinicalEntry, ClinicalSummary, JudgedFile

#: A job summary has a size limit: so many rows of files, so many files with their findings, so many findings of each.
FILES_MAX = 1_000
FILES_DETAILED_MAX = 50
FINDINGS_MAX = 20
PASSED_OVER_MAX = 100


class MarkdownReporter:
    """Collects bounded tables while files are judged, and writes them at the end. `noun`: what they are called."""

    def __init__(self, noun: str = "file") -> None:
        self._noun = noun
        self._files: list[tuple[str, ...]] = []
        self._not_passed: list[tuple[str, ...]] = []
        self._details: list[str] = []
        self._detailed = 0
        self._passed_over: list[tuple[str, ...]] = []

    def begin(self) -> str:
        """Nothing: the verdict comes first."""
        return ""

    def add(self, judged: JudgedFile) -> str:
        """Nothing yet."""
        entry = judged.entry
        if judged.outcome == "passed_over":
            if len(self._passed_over) < PASSED_OVER_MAX:
                self._passed_over.append((entry.file, reason_text(entry)))
            return ""
        row = _row(judged)
        if len(self._files) < FILES_MAX:
            self._files.append(row)
        if entry.label != "Pass" and len(self._not_passed) < FILES_MAX:
            self._not_passed.append(row)
        if self._detailed < FILES_DETAILED_MAX and (details := _details(entry)):
            self._detailed += 1
            self._details += details
        return ""

    def end(self, summary: ClinicalSummary, verdict: Verdict) -> str:
        """The whole report."""
        counts = f"{summary.passed} passed, {summary.warned} warned, {summary.failed} failed"
        counts += f", {summary.unvalidated} not validated" if summary.unvalidated else ""
        counts += f", {summary.problems} not read" if summary.problems else ""
        average = f"average score {score_text(summary.average_score)}"
        invalid = f" {counted(summary.invalid, self._noun)} not valid by the standard." if summary.invalid else ""
        is_all = summary.total <= FILES_MAX
        plural = f"{self._noun.capitalize()}s"
        title = plural if is_all else f"{plural} that did not pass (at most {FILES_MAX}; all are in the JSON report)"
        parts = [
            "# Clinical validation",
            "",
            f"**{verdict.word}**: {escaped(verdict.reason)}.",
            "",
            f"{counted(summary.total, self._noun)}: {counts}. Pass rate {percent(summary.pass_rate)}, {average}, {summary.duration_s:.1f} s.{invalid}",
            *_section(
                title,
                (self._noun.capitalize(), "Type", "Label", "Valid", "Overall", "Format", "Terminology", "Findings"),
                self._files if is_all else self._not_passed,
            ),
            *self._findings(),
            *_section(f"Passed over: {summary.passed_over}", ("File", "Why"), self._passed_over),
        ]
        return "\n".join(parts) + "\n"

    def _findings(self) -> list[str]:
        if not self._details:
            return []
        more = "" if self._detailed < FILES_DETAILED_MAX else f" (the first {FILES_DETAILED_MAX} {self._noun}s that have any; all are in the JSON report)"
        return ["", f"## Findings{more}", *self._details]


def _row(judged: JudgedFile) -> tuple[str, ...]:
    entry = judged.entry
    valid = {True: "yes", False: "no", None: ""}[entry.valid]
    scores = (score_text(entry.scores.get(name)) for name in ("overall", "format", "terminology"))
    why = counts_text(entry) if judged.outcome == "validated" else reason_text(entry)
    return (entry.file, format_text(entry), entry.label, valid, *scores, why)


def _details(entry: ClinicalEntry) -> list[str]:
    """The findings of one file, the gravest first; nothing where it has none above info."""
    grave = [finding for finding in entry.findings if finding.severity != "info"]
    if not grave:
        return []
    lines = ["", f"### {escaped(entry.file)}", ""]
    for finding in grave[:FINDINGS_MAX]:
        suggestion = f" *{escaped(finding.suggestion)}*" if finding.suggestion else ""
        lines.append(f"- **{finding.severity}** {escaped(finding.path)}: {escaped(finding.message)}{suggestion}")
    if rest := len(grave) + entry.findings_dropped - len(grave[:FINDINGS_MAX]):
        lines.append(f"- and {rest} more")
    return lines


def _section(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A titled table; nothing where it has no rows."""
    if not rows:
        return []
    table = [f"| {' | '.join(header)} |", "|" + " --- |" * len(header)]
    return ["", f"## {title}", "", *table, *(f"| {' | '.join(escaped(cell) for cell in row)} |" for row in rows)]
