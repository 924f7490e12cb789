"""How findings are noted: cheaply, bounded, and without the payload."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from touchstone.schemas.result import Finding, NotChecked, Severity
from touchstone.scorers.clinical.report import FINDINGS_MAX, Context, Report

#: What the tables of a version say, and another version may say otherwise.
BY_TABLES = frozenset({
    "structure.cardinality", "structure.message-structure", "structure.misplaced-segment", "structure.missing-segment", "structure.required-field",
    "structure.unexpected-segment", "structure.unknown-segment", "data_types.datatype", "valuesets.code",
})  # fmt: skip


class Problem(NamedTuple):
    """A finding in the making."""

    severity: Severity
    code: str
    path: str
    message: str
    suggestion: str | None = None
    value: str | None = None


@lru_cache(maxsize=8_192)
def _finding(severity: Severity, code: str, path: str, message: str, suggestion: str | None) -> Finding:
    """One finding that shows nothing of the payload: the same few are reported of many messages."""
    return Finding(severity=severity, code=code, path=path, message=message, suggestion=suggestion)


class Notes:
    """Collects what is wrong in one message.

    `prefix` names the message where a document holds several. `read_as`: whose tables stand in where there are none of the declared version; what those
    alone forbid the declared one may allow, so that it is minor. `lacks_end`: the structure requires something after the last segment.
    """

    __slots__ = ("context", "lacks_end", "prefix", "read_as", "report")

    def __init__(self, context: Context, report: Report, prefix: str = "") -> None:
        self.context = context
        self.report = report
        self.prefix = prefix
        self.read_as = ""
        self.lacks_end = False

    def add(self, severity: Severity, code: str, path: str, message: str, *, suggestion: str | None = None, value: object = None) -> None:
        """Note one finding; beyond the bound it is only counted."""
        report = self.report
        if self.read_as and severity == "major" and code in BY_TABLES and (code, path[:4]) != ("structure.required-field", "MSH-"):
            severity, message = "minor", f"{message} (by the tables of {self.read_as}, because those of the declared version are not at hand)"
        if len(report.findings) >= FINDINGS_MAX:
            self._beyond(severity, code, path, message, suggestion, value)
        elif value is not None and self.context.quote:
            self.report.findings.append(self.context.finding(severity, code, self.prefix + path, message, suggestion=suggestion, value=value))
        else:
            report.findings.append(_finding(severity, code, self.prefix + path, message, suggestion))

    def _beyond(self, severity: Severity, code: str, path: str, message: str, suggestion: str | None, value: object) -> None:
        """Count a finding beyond the bound; one that may take a milder one's place is made."""
        if self.report.may_keep(code, severity):
            self.report.add(self.context.finding(severity, code, self.prefix + path, message, suggestion=suggestion, value=value))
        else:
            self.report.drop(code, severity)

    def not_checked(self, rule: NotChecked) -> None:
        """Name a rule that was not applied, once; made beforehand, since most messages name the same ones."""
        for known in self.report.not_checked:
            if known is rule or (known.reason == rule.reason and known.check == rule.check):
                return
        self.report.not_checked.append(rule)

    def take(self, problems: tuple[Problem, ...] | list[Problem]) -> None:
        """Note what a reader found on its way."""
        for problem in problems:
            self.add(problem.severity, problem.code, problem.path, problem.message, suggestion=problem.suggestion, value=problem.value)

    def shared(self, findings: list[Finding]) -> None:
        """Keep findings of the shared checks, whose paths are those we gave them."""
        for finding in findings:
            self.report.add(finding.model_copy(update={"path": self.prefix + finding.path}) if self.prefix else finding)


class Unlasting(Exception):
    """What was found depends on more than the value."""


class Recorder(Notes):
    """Writes down what is noted of a value, with paths relative to the field, so that it can be said again of its like.

    `is_lasting`: the shared checks that are asked look at no clock. What they say is written down as it is where nothing is quoted.
    """

    __slots__ = ("is_lasting", "problems")

    def __init__(self, *, is_lasting: bool = False) -> None:
        super().__init__(Context(), Report())
        self.is_lasting = is_lasting
        self.problems: list[Problem] = []

    def add(self, severity: Severity, code: str, path: str, message: str, *, suggestion: str | None = None, value: object = None) -> None:
        """Write down one finding."""
        self.problems.append(Problem(severity, code, path, message, suggestion, None if value is None else str(value)))

    def shared(self, findings: list[Finding]) -> None:
        """Findings of the shared checks, save where they may depend on the clock."""
        if not self.is_lasting:
            raise Unlasting
        self.problems.extend(Problem(finding.severity, finding.code, finding.path, finding.message, finding.suggestion) for finding in findings)
