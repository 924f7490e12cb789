"""Words and numbers of clinical reports, for every format that people read."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from touchstone.schemas.reports.clinical import ClinicalEntry, FileFormat
from touchstone.scorers.reporting.folding import Counts, counts_by_code, severities_text
from touchstone.scorers.reporting.words import counted, score_text

FORMAT_NAMES: Final[Mapping[FileFormat, str]] = MappingProxyType({"fhir": "FHIR R4", "hl7v2": "HL7 v2", "ccda": "C-CDA", "trace": "trace"})
DIMENSIONS: Final = (("format", "Format"), ("terminology", "Terminology"), ("clinical", "Clinical"))
NO_FORMAT: Final = "not recognised"


def format_text(entry: ClinicalEntry) -> str:
    """The format of the file."""
    return NO_FORMAT if entry.format is None else FORMAT_NAMES[entry.format]


def counts_text(entry: ClinicalEntry) -> str:
    """`1 critical, 2 major`, including findings beyond the bound, without info findings."""
    return severities_text(counts_of_entry(entry))


def counts_of_entry(entry: ClinicalEntry) -> Counts:
    """Code → severity → findings; for an entry of an older version, counted from the findings that it lists."""
    return entry.finding_counts or counts_by_code(entry.findings)


def valid_text(entry: ClinicalEntry) -> str:
    """`yes`, `no`, or `yes, but for 4 suppressed findings`; empty if not checked. Suppressed findings count nowhere, so a bare `yes` would claim too much."""
    if entry.valid is None:
        return ""
    return "no" if not entry.valid else f"yes, but for {counted(times, 'suppressed finding')}" if (times := sum(entry.suppressed.values())) else "yes"


def validity_text(entry: ClinicalEntry) -> str:
    """`Valid: no; 1 critical, 2 major`: shown before the score, because a few faults among many values hardly change the score."""
    times = sum(entry.suppressed.values())
    found = counts_text(entry) or f"no {'other ' if times else ''}findings"
    if entry.valid:
        return f"Valid: {valid_text(entry)}; {found}"
    valid = "not checked" if entry.valid is None else "no, a rule of the standard is broken"
    suppressed = f"; {counted(times, 'finding')} suppressed" if times else ""
    return f"Valid: {valid}; {found}{suppressed}"


def suppressed_lines(entry: ClinicalEntry) -> tuple[str, ...]:
    """How many findings each entry of the list of known issues suppressed."""
    return tuple(f"suppressed by {name}: {times}" for name, times in sorted(entry.suppressed.items()))


def scores_text(entry: ClinicalEntry) -> str:
    """`overall 82, format 100`: the scores that the entry has."""
    named = ("overall", *(name for name, _ in DIMENSIONS))
    return ", ".join(f"{name} {score_text(entry.scores[name])}" for name in named if name in entry.scores)


def reason_text(entry: ClinicalEntry) -> str:
    """Why a file was not validated."""
    return entry.not_checked[0].reason if entry.not_checked else "no rule was applied"
