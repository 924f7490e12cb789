"""The report of a check or validator: findings, how many rules fired, and what was not checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from touchstone.schemas.result import Finding, NotChecked, Severity

#: Findings that are kept for one document; further ones are counted.
FINDINGS_MAX = 500
GRAVE: frozenset[Severity] = frozenset({"critical", "major"})


def now_utc() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Context:
    """The surroundings of a check. `now`: the clock, injectable. `quote`: findings may show the value they are about."""

    now: Callable[[], datetime] = now_utc
    quote: bool = False

    def finding(self, severity: Severity, code: str, path: str, message: str, *, suggestion: str | None = None, value: object = None) -> Finding:
        """One finding. `message` and `suggestion` contain nothing of the payload; `value` is shown only if the settings say `quote`."""
        shown = f"{message}: {str(value)[:200]!r}" if self.quote and value is not None else message
        return Finding(severity=severity, code=code, path=path, message=shown, suggestion=suggestion)


@dataclass(slots=True)
class Report:
    """The findings of one validator in one document.

    `rules_fired`: group of rules → how many times one of them was evaluated; all zero means that nothing was validated, which is
    never a pass. `beyond`: findings that were counted and not kept, by code and severity; scores and verdicts use `counts`, which
    includes them, so that a bound on the findings kept never changes the verdict. `findings_max`: how many are kept. `must_support`: profile → must-support
    element → whether the document populates it (see `must_support`). `suppressed`: entry of the list of known issues → findings that it took out.
    """

    findings: list[Finding] = field(default_factory=list)
    rules_fired: Counter[str] = field(default_factory=Counter)
    not_checked: list[NotChecked] = field(default_factory=list)
    beyond: Counter[tuple[str, Severity]] = field(default_factory=Counter)
    findings_max: int = FINDINGS_MAX
    must_support: dict[str, dict[str, bool | None]] = field(default_factory=dict)
    suppressed: Counter[str] = field(default_factory=Counter)
    _codes: Counter[str] | None = field(default=None, compare=False, repr=False)
    _settled: bool = field(default=False, compare=False, repr=False)
    _seen: set[tuple[str, str, str, str]] = field(default_factory=set, compare=False, repr=False)

    @property
    def dropped(self) -> int:
        """How many findings were not kept."""
        return self.beyond.total()

    @property
    def total(self) -> int:
        """How many findings were made."""
        return len(self.findings) + (self.beyond.total() if self.beyond else 0)

    def counts(self) -> dict[tuple[str, Severity], int]:
        """How many findings were made of each code and severity, kept or not."""
        counted = dict(self.beyond)
        for finding in self.findings:
            which = finding.code, finding.severity
            counted[which] = counted.get(which, 0) + 1
        return counted

    def add(self, *found: Finding) -> None:
        """Keep findings, up to the bound. Equal findings of two rules count once.

        Once the bound is reached, a finding with a new code, and then a severe finding, replaces a milder one whose code occurs elsewhere: the bound never
        hides a check that failed.
        """
        for finding in found:
            key = (finding.severity, finding.code, finding.path, finding.message)
            # A name that cannot be shown is `?` in a path, so equal paths may be different places.
            if key in self._seen and "?" not in finding.path:
                continue
            if len(self.findings) < self.findings_max:
                self.findings.append(finding)
                self._seen.add(key)
            elif self.may_keep(finding.code, finding.severity) and (place := self._place_for(finding)) is not None:
                self._replace(place, finding)
                self._seen.add(key)
            else:
                self.drop(finding.code, finding.severity)

    def drop(self, code: str, severity: Severity) -> None:
        """Count a finding that is not kept."""
        self.beyond[code, severity] += 1

    def may_keep(self, code: str, severity: Severity) -> bool:
        """True if a finding could still be kept; if not, it need not be made."""
        if len(self.findings) < self.findings_max:
            return True
        return code not in self._kept_codes() or (severity in GRAVE and not self._settled)

    def _kept_codes(self) -> Counter[str]:
        """How many findings of each code are kept. Only needed once the report is full; from then on findings are only replaced."""
        if self._codes is None:
            self._codes = Counter(finding.code for finding in self.findings)
        return self._codes

    def _place_for(self, finding: Finding) -> int | None:
        """The place that a new finding may take: the last of the mildest findings whose code occurs elsewhere. A severe one gives way only to a new code."""
        codes = self._kept_codes()
        places = {one.severity: place for place, one in enumerate(self.findings) if codes[one.code] > 1}
        mild = places.get("info", places.get("minor"))
        if finding.code not in codes:
            return mild if mild is not None else places.get("major", places.get("critical"))
        # Severe findings keep their places, so that this answer stays the same.
        self._settled = mild is None
        return mild

    def _replace(self, place: int, finding: Finding) -> None:
        """Replace a finding by another, and count it."""
        codes, old = self._kept_codes(), self.findings[place]
        self.drop(old.code, old.severity)
        codes[old.code] -= 1
        codes[finding.code] += 1
        self.findings[place] = finding

    def fired(self, group: str, times: int = 1) -> None:
        """Count evaluated rules."""
        self.rules_fired[group] += times

    def skip(self, check: str, reason: str) -> None:
        """Name a rule that was not applied, once."""
        skipped = NotChecked(check=check, reason=reason)
        if skipped not in self.not_checked:
            self.not_checked.append(skipped)
