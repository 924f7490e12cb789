"""Reports on clinical files, written as the files are judged: one interface for every format, and what the files come to."""

from typing import Protocol

from touchstone.ops.reports.clinical_verdict import clinical_verdict
from touchstone.ops.reports.verdict import Verdict
from touchstone.schemas.reports.clinical import ClinicalSummary, JudgedFile

FORMATS = ("json", "console", "markdown", "junit")


class ClinicalReporter(Protocol):
    """Writes a report piece by piece; the pieces, joined, are the report. Holds no entry longer than it must."""

    def begin(self) -> str:
        """What stands before the first file."""
        ...

    def add(self, judged: JudgedFile) -> str:
        """What is written of one file at once; empty where the format tells it at the end."""
        ...

    def end(self, summary: ClinicalSummary, verdict: Verdict) -> str:
        """What stands after the last file."""
        ...


class Tally:
    """Counts files as they are judged."""

    def __init__(self) -> None:
        self._labels = {"Pass": 0, "Warn": 0, "Fail": 0}
        self._outcomes = {"unvalidated": 0, "problem": 0, "passed_over": 0}
        self._invalid = self._scored = 0
        self._scores = 0.0

    def add(self, judged: JudgedFile) -> None:
        """Count one file."""
        entry = judged.entry
        if judged.outcome == "validated":
            self._labels[entry.label] += 1
        else:
            self._outcomes[judged.outcome] += 1
        self._invalid += entry.valid is False
        if (overall := entry.scores.get("overall")) is not None:
            self._scored += 1
            self._scores += overall

    def summary(self, duration_s: float) -> ClinicalSummary:
        """What they come to. `duration_s`: of the run."""
        outcomes = self._outcomes
        return ClinicalSummary(
            total=sum(self._labels.values()) + outcomes["unvalidated"] + outcomes["problem"],
            passed=self._labels["Pass"],
            warned=self._labels["Warn"],
            failed=self._labels["Fail"],
            unvalidated=outcomes["unvalidated"],
            problems=outcomes["problem"],
            passed_over=outcomes["passed_over"],
            invalid=self._invalid,
            scored=self._scored,
            average_score=self._scores / self._scored if self._scored else None,
            duration_s=duration_s,
        )


def reporter_for(format: str, *, verbose: bool = False, colour: bool = False, width: int | None = None, noun: str = "file") -> ClinicalReporter:
    """The reporter of `json`, `console`, `markdown` or `junit`. Raises `ValueError` for another format.

    `verbose`, `colour`, `width` (cells of a line): of the console. `noun`: what markdown calls that which is reported.
    """
    match format:
        case "json":
            from touchstone.ops.reports.clinical_json import JsonReporter

            return JsonReporter()
        case "console":
            from touchstone.ops.reports.clinical_console import ConsoleReporter

            return ConsoleReporter(verbose=verbose, colour=colour, width=width)
        case "markdown":
            from touchstone.ops.reports.clinical_markdown import MarkdownReporter

            return MarkdownReporter(noun)
        case "junit":
            from touchstone.ops.reports.clinical_junit import JunitReporter

            return JunitReporter()
        case _:
            raise ValueError(f"unknown report format {format!r}; known: {', '.join(FORMATS)}")


__all__ = ["FORMATS", "ClinicalReporter", "Tally", "clinical_verdict", "reporter_for"]
