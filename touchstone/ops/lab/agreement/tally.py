"""Counts of verdicts that agree with labelled files and that do not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from touchstone.scorers.clinical.formats.fhir import is_valid
from touchstone.scorers.clinical.report import Report


@dataclass(slots=True)
class Tally:
    """Agreement over labelled files. A false alarm is a valid file called invalid; missed, an invalid one called valid."""

    cases: int = 0
    agree: int = 0
    valid: int = 0
    false_alarms: int = 0
    missed: int = 0
    disagreements: list[dict[str, Any]] = field(default_factory=list)

    def count(self, name: str, expected: bool, report: Report, official: str = "", ours: bool | None = None) -> None:
        """Count one file. `ours`: Touchstone's verdict, if it is not the validity of the whole."""
        ours = is_valid(report) if ours is None else ours
        self.cases += 1
        self.valid += expected
        if ours == expected:
            self.agree += 1
            return
        self.false_alarms += expected
        self.missed += not expected
        codes = sorted({finding.code for finding in report.findings if finding.severity in {"critical", "major"}})
        self.disagreements.append({"case": name, "expected": "valid" if expected else "invalid", "ours": codes, "official": official})

    def as_json(self) -> dict[str, Any]:
        """The tally with its rates, and the disagreements."""
        return {**self.counts(), "disagreements": self.disagreements}

    def counts(self) -> dict[str, Any]:
        """The tally with its rates alone."""
        return {
            "cases": self.cases,
            "agree": self.agree,
            "agreement": round(self.agree / self.cases, 4) if self.cases else None,
            "valid": self.valid,
            "false_alarms": self.false_alarms,
            "false_alarm_rate": round(self.false_alarms / self.valid, 4) if self.valid else None,
            "missed": self.missed,
        }
