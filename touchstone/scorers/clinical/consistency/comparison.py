"""Two records being compared: what is said of them, always of both sides."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from touchstone.schemas.result import Severity
from touchstone.scorers.clinical.consistency.record import Record
from touchstone.scorers.clinical.report import Context, Report

GROUP = "consistency"


@dataclass(slots=True)
class Comparing:
    """One comparison. `ours` is where findings stand, `theirs` what they are compared with. `at`: the moment to which ages are reckoned."""

    ours: Record
    theirs: Record
    context: Context
    at: datetime | None = None
    report: Report = field(default_factory=Report)

    def fired(self) -> None:
        """Count one comparison."""
        self.report.fired(GROUP)

    def differs(self, severity: Severity, code: str, what: str, ours: str, theirs: str, *, values: tuple[object, object] | None = None) -> None:
        """Tell that something is one thing at `ours` and another at `theirs`, both whole paths."""
        message = f"{what} differs from {theirs} ({self.theirs.title})"
        value = None if values is None else " / ".join(str(one) for one in values)
        self.report.add(self.context.finding(severity, f"{GROUP}.{code}", ours, message, value=value))

    def lacks(self, severity: Severity, code: str, what: str, ours: str, theirs: Record, *, why: str = "") -> None:
        """Tell that what stands at `ours` is not in another record."""
        message = f"{what} is not in {theirs.place} ({theirs.title})" + (f": {why}" if why else "")
        self.report.add(self.context.finding(severity, f"{GROUP}.{code}", ours, message))

    def skip(self, what: str, reason: str) -> None:
        """Name what was not compared."""
        self.report.skip(f"{GROUP}.{what}", f"{self.ours.place} and {self.theirs.place}: {reason}")
