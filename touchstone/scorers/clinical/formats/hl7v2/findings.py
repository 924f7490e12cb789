"""Collects the findings of one message: cheaply, bounded, and without the payload."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from touchstone.schemas.result import Finding, NotChecked, Severity
from touchstone.scorers.clinical.report import FINDINGS_MAX, Context, Report

#: Codes of findings that follow from one version's tables; another version may allow the same.
BY_TABLES = frozenset({
    "structure.cardinality", "structure.message-structure", "structure.misplaced-segment", "structure.missing-segment", "structure.required-field",
    "structure.unexpected-segment", "structure.unknown-segment", "data_types.datatype", "valuesets.code",
})  # fmt: skip


class Problem(NamedTuple):
    """A finding before it is added: its path is relative to a field or a message."""

    severity: Severity
    code: str
    path: str
    message: str
    suggestion: str | None = None
    value: str | None = None


@lru_cache(maxsize=8_192)
def _finding(severity: Severity, code: str, path: str, message: str, suggestion: str | None) -> Finding:
    """One finding without a value of the payload. Remembered, because many messages have the same few."""
    return Finding(severity=severity, code=code, path=path, message=message, suggestion=suggestion)


class Findings:
    """The findings of one message.

    `prefix` names the message if a document holds several. `read_as`: the version whose tables replace those of the declared version, which are
    not at hand; what only they forbid is then minor. `lacks_end`: the structure requires something after the last segment.
    """

    __slots__ = ("context", "lacks_end", "prefix", "read_as", "report")

    def __init__(self, context: Context, report: Report, prefix: str = "") -> None:
        self.context = context
        self.report = report
        self.prefix = prefix
        self.read_as = ""
        self.lacks_end = False

    def add(self, severity: Severity, code: str, path: str, message: str, *, suggestion: str | None = None, value: object = None) -> None:
        """Add one finding. Beyond the bound it is counted, unless it may take the place of a milder one."""
        report = self.report
        if self.read_as and severity == "major" and code in BY_TABLES and (code, path[:4]) != ("structure.required-field", "MSH-"):
            severity, message = "minor", f"{message} (by the tables of {self.read_as}, because those of the declared version are not at hand)"
        if len(report.findings) >= FINDINGS_MAX:
            if report.may_keep(code, severity):
                report.add(self.context.finding(severity, code, self.prefix + path, message, suggestion=suggestion, value=value))
            else:
                report.drop(code, severity)
        elif value is not None and self.context.quote:
            report.findings.append(self.context.finding(severity, code, self.prefix + path, message, suggestion=suggestion, value=value))
        else:
            report.findings.append(_finding(severity, code, self.prefix + path, message, suggestion))

    def not_checked(self, rule: NotChecked) -> None:
        """Name a rule that was not applied, once."""
        for known in self.report.not_checked:
            if known is rule or (known.reason == rule.reason and known.check == rule.check):
                return
        self.report.not_checked.append(rule)

    def add_problems(self, problems: tuple[Problem, ...] | list[Problem]) -> None:
        """Add what the lexer, or an earlier look at the same value, found."""
        for problem in problems:
            self.add(problem.severity, problem.code, problem.path, problem.message, suggestion=problem.suggestion, value=problem.value)

    def add_all(self, findings: list[Finding]) -> None:
        """Add findings of the shared checks, whose paths were given to them."""
        for finding in findings:
            self.report.add(finding.model_copy(update={"path": self.prefix + finding.path}) if self.prefix else finding)


class Unlasting(Exception):
    """What was found depends on more than the value, for example on the clock."""


class Recorder(Findings):
    """Records the findings of one value, with paths relative to its field, so that they can be added again for the same value.

    `is_lasting`: the shared checks that are called do not depend on the clock, so that their findings can be recorded too.
    """

    __slots__ = ("is_lasting", "problems")

    def __init__(self, *, is_lasting: bool = False) -> None:
        super().__init__(Context(), Report())
        self.is_lasting = is_lasting
        self.problems: list[Problem] = []

    def add(self, severity: Severity, code: str, path: str, message: str, *, suggestion: str | None = None, value: object = None) -> None:
        """Record one finding."""
        self.problems.append(Problem(severity, code, path, message, suggestion, None if value is None else str(value)))

    def add_all(self, findings: list[Finding]) -> None:
        """Record findings of the shared checks. Raises `Unlasting` if they may depend on the clock."""
        if not self.is_lasting:
            raise Unlasting
        self.problems.extend(Problem(finding.severity, finding.code, finding.path, finding.message, finding.suggestion) for finding in findings)
