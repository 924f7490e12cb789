"""One comparison of two records, and its findings, which always name both sides."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.consistency.record import Record
from touchstone.scorers.clinical.report import Context, Report

GROUP = "consistency"


@dataclass(slots=True)
class Comparison:
    """One comparison. Paths of findings lead into `ours`, which is compared with `theirs`. `at`: the moment for which ages are computed."""

    ours: Record
    theirs: Record
    context: Context
    at: datetime | None = None
    report: Report = field(default_factory=Report)

    def fired(self) -> None:
        """Count one comparison."""
        self.report.fired(GROUP)

    def differs(self, severity: Severity, code: str, what: str, ours: str, theirs: str, *, values: tuple[object, object] | None = None) -> None:
        """Report that `what` has different values at `ours` and `theirs`, both full paths."""
        message = f"{what} differs from {theirs} ({self.theirs.title})"
        value = None if values is None else " / ".join(str(one) for one in values)
        self.report.add(self.context.finding(severity, f"{GROUP}.{code}", ours, message, value=value))

    def missing(self, severity: Severity, code: str, what: str, ours: str, theirs: Record, *, why: str = "") -> None:
        """Report that `what`, at the path `ours`, is not in another record."""
        message = f"{what} is not in {theirs.place} ({theirs.title})" + (f": {why}" if why else "")
        self.report.add(self.context.finding(severity, f"{GROUP}.{code}", ours, message))

    def skip(self, what: str, reason: str) -> None:
        """Name what was not compared."""
        self.report.skip(f"{GROUP}.{what}", f"{self.ours.place} and {self.theirs.place}: {reason}")
