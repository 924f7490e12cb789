"""Takes the findings of one profile in one message, once each, and what could not be decided."""

from __future__ import annotations

from typing import Final

from touchstone.schemas.result import NotChecked, Severity
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.nist.model import Profile

#: Codes of the base standard that say the same as a profile's finding at the same path: one fault is one finding.
SAME: Final = {
    "profile.required-segment": frozenset({"structure.missing-segment"}),
    "profile.required-field": frozenset({"structure.required-field", "structure.required-null", "structure.encoding-characters"}),
    "profile.cardinality": frozenset({"structure.cardinality"}),
    "profile.unexpected-segment": frozenset({
        "structure.unexpected-segment", "structure.misplaced-segment", "structure.unknown-segment", "structure.segment-name",
    }),
    "profile.value-set": frozenset({"valuesets.code"}),
    "profile.constant": frozenset({"valuesets.code"}),
    "profile.length": frozenset({"data_types.length"}),
}  # fmt: skip
#: Names listed in one entry of `not_checked`.
NAMES_MAX: Final = 8
CHECK: Final = "hl7v2.profile"
TEXT_MAX: Final = 300


def listed(names: set[str]) -> str:
    """Some names, and how many more there are."""
    some = sorted(names)
    return ", ".join(some[:NAMES_MAX]) + (f" and {len(some) - NAMES_MAX} more" if len(some) > NAMES_MAX else "")


class Sink:
    """Takes the findings of one profile in one message, and what could not be decided."""

    def __init__(self, profile: Profile, findings: Findings) -> None:
        self.profile, self._findings = profile, findings
        self.title = profile.title
        self.fired = 0
        self.undecided: set[str] = set()
        self.sets: set[str] = set()
        self._missing: set[str] = set()
        self._known: dict[str, set[str]] = {}
        prefix = findings.prefix
        for found in findings.report.findings:
            # A milder finding says less than the profile's, except for lengths, which are minor in both.
            if (found.severity in {"critical", "major"} or found.code == "data_types.length") and found.path.startswith(prefix):
                self._known.setdefault(found.code, set()).add(found.path[len(prefix) :])

    def add(self, severity: Severity, code: str, path: str, text: str, *, suggestion: str | None = None) -> None:
        """Add a finding, unless the base standard's check has reported the same fault at the same place.

        A statement about an element that is required and missing is the same fault too.
        """
        if code == "profile.statement" and any(path == gap or path.startswith((f"{gap}.", f"{gap}-")) for gap in self._missing):
            return
        if code.startswith("profile.required"):
            self._missing.add(path)
        if any(path in self._known.get(base, ()) for base in SAME.get(code, ())):
            return
        if severity == "major":
            self._drop_milder(code, path)
        self._findings.add(severity, code, path, text[:TEXT_MAX], suggestion=suggestion)

    def _drop_milder(self, code: str, path: str) -> None:
        """Take out what the base standard's check says milder of the same fault at the same place."""
        same, place = SAME.get(code, frozenset()), f"{self._findings.prefix}{path}"
        found = self._findings.report.findings
        milder = [one for one in found if one.path == place and one.code in same]
        if milder:
            found[:] = [one for one in found if one not in milder]

    def close(self) -> None:
        """Report what was not decided, and how many rules were applied."""
        self._findings.report.fired("profile", self.fired)
        if self.profile.unknown:
            named = {f"{name} ({count})" if count > 1 else name for name, count in self.profile.unknown.items()}
            self._skip(f"constructs that this reader does not know: {listed(named)}")
        if self.profile.without_predicate:
            self._skip(f"conditional elements without a predicate: {self.profile.without_predicate}")
        if self.undecided:
            self._skip(f"rules that could not be decided on this message: {listed(self.undecided)}")
        if self.sets:
            self._skip(f"codes of value sets that the profile excludes or does not list: {listed(self.sets)}")

    def _skip(self, reason: str) -> None:
        self._findings.not_checked(NotChecked(check=CHECK, reason=f"{self.title}: {reason}"))
