"""Clinical files for a terminal: a block per file as in the specification's sample output, and a summary."""

import re
from collections.abc import Iterator
from typing import Final

from touchstone.schemas.reports.clinical import ClinicalEntry, ClinicalSummary, JudgedFile
from touchstone.schemas.result import Finding, Label
from touchstone.schemas.trace import CLINICAL_FORMATS
from touchstone.scorers.clinical.batch import ClinicalReport
from touchstone.scorers.clinical.must_support import TITLE, CoverageCounts
from touchstone.scorers.clinical.suppression import TITLE as SUPPRESSED_TITLE
from touchstone.scorers.clinical.suppression import SuppressionCounts
from touchstone.scorers.clinical.words import DIMENSIONS, FORMAT_NAMES, format_text, reason_text, validity_text
from touchstone.scorers.reporting.drawing import RULE_CELLS, findings_block, result_lines
from touchstone.scorers.reporting.findings import (
    BOLD,
    DIM,
    GREEN,
    RED,
    SEVERITY_COLOURS,
    YELLOW,
    painted,
    place_and_message,
)
from touchstone.scorers.reporting.folding import folded
from touchstone.scorers.reporting.intervals import wilson
from touchstone.scorers.reporting.view import LayoutOptions, Table
from touchstone.scorers.reporting.words import counted, number_span, percent_span, score_text, visible

#: Findings of one file that are shown without --verbose.
FINDINGS_SHOWN_MAX: Final = 20
#: Up to this many passing files are shown one by one; more are folded into one line.
PASSED_SHOWN_MAX: Final = 10
#: Rows of the list of codes in all files.
CODES_SHOWN_MAX: Final = 20
_MARKS: Final[dict[Label, str]] = {"Pass": "✓", "Warn": "!", "Review": "!", "Fail": "✗", "unscored": "-"}
#: Unavailable profiles (claimed or asked for) that are named without --verbose.
_PROFILES_SHOWN_MAX: Final = 5
_PAINTED: Final = re.compile(r"\x1b\[[0-9;]*m")
#: Said once below the findings of a trace, whose documents have lines of their own.
OF_DOCUMENT: Final = "Lines of a document are those that `touchstone show` prints: a FHIR object in a trace is indented by two spaces."
#: Narrower terminals break lines themselves.
WIDTH_MIN: Final = 40
_LABEL_COLOURS: Final[dict[Label, str]] = {"Pass": GREEN, "Warn": YELLOW, "Review": YELLOW, "Fail": RED, "unscored": DIM}


def console_pieces(report: ClinicalReport, options: LayoutOptions) -> Iterator[str]:
    """A block per file, and the summary. Many passing files are folded into one line, because people look for those that did not pass."""
    console = _Console(options)
    passed = report.summary.passed
    fold = passed > PASSED_SHOWN_MAX and not options.verbose
    for judged in report.files:
        if not (fold and judged.outcome == "validated" and judged.entry.label == "Pass"):
            yield console.block(judged)
    if fold:
        yield console.passed(counted(passed, report.noun))
    if report.summary.total > 1:
        yield console.codes(report.codes(CODES_SHOWN_MAX))
    yield console.suppressed(report.suppressed)
    yield console.must_support(report.must_support, report.noun)
    yield console.end(report.summary)


class _Console:
    """Writes plain text; with `colour`, what matters is coloured. `verbose`: every finding by its check, rules fired, what was not checked.

    `width`: the cells of a terminal, to break lines between words; None breaks no line.
    """

    def __init__(self, options: LayoutOptions) -> None:
        self._verbose, self._colour, self._width = options.verbose, options.colour, options.width

    def block(self, judged: JudgedFile) -> str:
        """The block of one file."""
        entry = judged.entry
        lines = [self._head(judged)]
        if not entry.scores and not entry.findings:
            return self._joined([*lines, f"  {visible(reason_text(entry))}", "", ""])
        lines += self._scores(entry)
        lines += self._details(entry) if self._verbose else self._findings(entry)
        return self._joined([*lines, "", ""])

    def passed(self, files: str) -> str:
        """One line for all files that pass."""
        return f"{self._paint('✓ PASS', GREEN)}  {self._paint(files, BOLD)}; --verbose lists each\n\n"

    def codes(self, table: Table | None) -> str:
        """How many findings there are of each code in all files."""
        if table is None:
            return ""
        lines = ["Findings by code, and in how many files:"]
        for severity, code, findings, files in table.rows:
            lines.append(f"  {findings:>7} {severity:<8} {code}{f' ({files})' if files else ''}")
        return self._joined([*lines, "", ""])

    def suppressed(self, counts: SuppressionCounts) -> str:
        """The entries of the list of known issues, and how many findings each suppressed."""
        lines = [f"  {visible(line)}" for line in counts.lines()]
        return self._joined([f"{SUPPRESSED_TITLE}:", *lines, "", ""]) if lines else ""

    def must_support(self, counts: CoverageCounts, noun: str) -> str:
        """Which must-support elements of the claimed profiles were populated in any file; a line per profile."""
        lines = list(counts.lines(noun))
        return self._joined([f"{TITLE} of the profiles that are claimed, populated at least once:", *lines, "", ""]) if lines else ""

    def end(self, summary: ClinicalSummary) -> str:
        """The summary."""
        others = (("Not validated", summary.unvalidated), ("Not read", summary.problems))
        notes = [f"  Passed over: {summary.passed_over} (not among the total)"] if summary.passed_over else []
        notes += [f"  Break a rule of their standard: {summary.invalid}"] if summary.invalid else []
        counts = (summary.total, summary.passed, summary.warned, summary.failed)
        lines = result_lines(self._paint, counts, others, notes, (summary.average_score, summary.scored))
        # The specification draws the two lines above, so the intervals get their own line, with --verbose only.
        lines += [f"  95% Intervals: {', '.join(spans)}"] if self._verbose and (spans := _spans(summary)) else []
        # Results that were scored earlier have no duration.
        lines += ["", *([f"  Duration: {summary.duration_s:.1f}s", ""] if summary.duration_s else []), "─" * RULE_CELLS]
        return "\n".join(lines) + "\n"

    def _joined(self, lines: list[str]) -> str:
        return "\n".join(wrapped(line, self._width) for line in lines)

    def _head(self, judged: JudgedFile) -> str:
        entry = judged.entry
        words: dict[str, str] = {"problem": "NOT READ", "passed_over": "passed over", "unvalidated": "NOT VALIDATED"}
        word = words.get(judged.outcome, entry.label.upper())
        kind = f" ({format_text(entry)})" if entry.format is not None or judged.outcome != "problem" else ""
        mark = self._paint(f"{_MARKS[entry.label]} {word}", _LABEL_COLOURS[entry.label])
        return f"{mark}  {self._paint(visible(entry.file), BOLD)}{kind}"

    def _scores(self, entry: ClinicalEntry) -> Iterator[str]:
        overall = entry.scores.get("overall")
        if entry.valid is not None or entry.findings:
            yield self._paint(validity_text(entry), YELLOW if entry.valid is False else "")
        yield f"Overall: {score_text(overall)}{' (not validated)' if overall is None else ''}"
        for name, heading in DIMENSIONS:
            if name in entry.scores:
                yield f"  {heading}: {score_text(entry.scores[name])}"
        for form in CLINICAL_FORMATS:
            if (score := entry.scores.get(f"{form}_overall")) is not None:
                yield f"  {FORMAT_NAMES[form]}: {score_text(score)}"
        if self._verbose and entry.components_missing:
            yield f"  Without: {', '.join(entry.components_missing)}"

    def _findings(self, entry: ClinicalEntry) -> Iterator[str]:
        """Findings by severity, equal ones as one; the most severe ones only, and at least one of each code."""
        yield from findings_block(
            folded(entry.findings, entry.finding_counts, file=_file_of(entry)),
            FINDINGS_SHOWN_MAX,
            self._paint,
            not_listed=0 if entry.finding_counts else entry.findings_dropped,
            hint="--verbose and the JSON report show them, up to the bound of one file",
        )
        if entry.format == "trace" and any(finding.line is not None for finding in entry.findings):
            yield OF_DOCUMENT
        # A gate must show a profile that could not be checked.
        profiles = [skipped for skipped in entry.not_checked if skipped.check.startswith("profile ")]
        for skipped in profiles[:_PROFILES_SHOWN_MAX]:
            yield f"Not checked: {visible(skipped.check)}: {visible(skipped.reason)}"
        if others := len(entry.not_checked) - min(len(profiles), _PROFILES_SHOWN_MAX):
            yield f"Not checked: {others}{' more' if profiles else ''}; --verbose lists what, and why"

    def _details(self, entry: ClinicalEntry) -> Iterator[str]:
        """Every check with its findings, then the rules that fired and what was not checked."""
        from touchstone.scorers.clinical.checks.scores import WARN_MIN

        listed: set[int] = set()
        for name, score in entry.checks.items():
            found = [finding for finding in entry.findings if _belongs(finding, name)]
            listed |= {id(finding) for finding in found}
            yield ""
            yield f"{visible(name)}: {'PASSED' if score >= WARN_MIN and _was_read(entry, name) else 'FAILED'} (score: {score_text(score)})"
            yield from self._listed(found, _file_of(entry))
        others = [finding for finding in entry.findings if id(finding) not in listed]
        if others:
            yield ""
        yield from self._listed(others, _file_of(entry))
        if entry.findings_dropped:
            yield f"  and {entry.findings_dropped} more findings, beyond the bound of one file"
        if entry.rules_fired:
            yield from ("", "Rules fired: " + ", ".join(f"{visible(name)} {times}" for name, times in entry.rules_fired.items()))
        if entry.not_checked:
            yield from ("", "Not checked:", *(f"  {visible(skipped.check)}: {visible(skipped.reason)}" for skipped in entry.not_checked))

    def _listed(self, findings: list[Finding], file: str) -> Iterator[str]:
        if findings:
            yield "Findings:"
        for finding in findings:
            severity = self._paint(f"[{finding.severity}]", SEVERITY_COLOURS[finding.severity])
            yield f"  {severity} {place_and_message(finding, file)}"
            if finding.suggestion:
                yield f"          Suggestion: {visible(finding.suggestion)}"

    def _paint(self, text: str, colour: str) -> str:
        return painted(text, colour if self._colour else "")


def _file_of(entry: ClinicalEntry) -> str:
    """The file whose lines the findings name; empty for a trace, because its documents have lines of their own."""
    return "" if entry.format == "trace" else entry.file


def _belongs(finding: Finding, check: str) -> bool:
    """True if a finding belongs to this check; in a trace, also to its document."""
    from touchstone.scorers.clinical.checks.scores import check_of

    place, _, name = check.rpartition("/")
    # In a file of several traces, the path begins with the trace.
    path = finding.path.partition("/")[2] if finding.path.startswith("trace[") else finding.path
    return check_of(finding.code) == name and (not place or path == place or path.startswith(f"{place}/"))


def _was_read(entry: ClinicalEntry, check: str) -> bool:
    """True if any rule was applied to the document of a check. Without one, a check that found few faults has not passed."""
    place = check.rpartition("/")[0]
    return any(name.rpartition("/")[0] == place for name in entry.rules_fired)


def _spans(summary: ClinicalSummary) -> list[str]:
    """The intervals of the pass rate and of the average score."""
    rate = wilson(summary.passed, summary.total)
    spans = [f"pass rate {percent_span(rate)}"] if rate is not None else []
    average = summary.average_score_interval
    return [*spans, f"average score {number_span(average, 1)}"] if average is not None else spans


def wrapped(line: str, width: int | None) -> str:
    """A line broken between words, its continuation indented by two more cells. Longer words stay whole; `width`: None breaks nothing."""
    if width is None or width < WIDTH_MIN or len(line) <= width:
        return line
    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    lines, cells = [""], 0
    for word in line.split(" "):
        long = len(_PAINTED.sub("", word))
        if cells + long > width and lines[-1].strip():
            lines.append(indent + word)
            cells = len(indent) + long + 1
        else:
            lines[-1] += word if cells == 0 else f" {word}"
            cells += long + 1
    return "\n".join(lines)
