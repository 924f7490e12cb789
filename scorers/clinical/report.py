"""What a check or a validator says: findings, how many rules fired, and what was not checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from schemas.result import Finding, NotChecked, Severity

#: A document with more findings than this is told about the first ones and how many there were.
FINDINGS_MAX = 500


def now_utc() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Context:
    """What checks may know of their surroundings. `now`: the clock, injectable. `quote`: findings may show the value they are about."""

    now: Callable[[], datetime] = now_utc
    quote: bool = False

    def finding(self, severity: Severity, code: str, path: str, message: str, *, suggestion: str | None = None, value: object = None) -> Finding:
        """One finding. `message` and `suggestion` are ours and hold nothing of the payload; `value` is shown only where the settings ask for it."""
        shown = f"{message}: {str(value)[:200]!r}" if self.quote and value is not None else message
        return Finding(severity=severity, code=code, path=path, message=shown, suggestion=suggestion)


@dataclass(slots=True)
class Report:
    """What one validator found in one document.

    `rules_fired`: group of rules → how many times one of them was evaluated; all zero means that nothing was validated, which is
    never a pass. `dropped`: findings beyond FINDINGS_MAX.
    """

    findings: list[Finding] = field(default_factory=list)
    rules_fired: Counter[str] = field(default_factory=Counter)
    not_checked: list[NotChecked] = field(default_factory=list)
    dropped: int = 0

    def add(self, *found: Finding) -> None:
        """Keep findings, up to the bound."""
        for finding in found:
            if len(self.findings) < FINDINGS_MAX:
                self.findings.append(finding)
            else:
                self.dropped += 1

    def fired(self, group: str, times: int = 1) -> None:
        """Count evaluated rules."""
        self.rules_fired[group] += times

    def skip(self, check: str, reason: str) -> None:
        """Name a rule that was not applied, once."""
        skipped = NotChecked(check=check, reason=reason)
        if skipped not in self.not_checked:
            self.not_checked.append(skipped)
