"""Words and numbers of clinical reports, for every format that people read."""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from touchstone.schemas.reports.clinical import ClinicalEntry, FileFormat
from touchstone.scorers.reporting.findings import SEVERITIES
from touchstone.scorers.reporting.words import score_text

FORMAT_NAMES: Final[Mapping[FileFormat, str]] = MappingProxyType({"fhir": "FHIR R4", "hl7v2": "HL7 v2", "ccda": "C-CDA", "trace": "trace"})
DIMENSIONS: Final = (("format", "Format"), ("terminology", "Terminology"), ("clinical", "Clinical"))
NO_FORMAT: Final = "not recognised"


def format_text(entry: ClinicalEntry) -> str:
    """The format of the file."""
    return NO_FORMAT if entry.format is None else FORMAT_NAMES[entry.format]


def counts_text(entry: ClinicalEntry) -> str:
    """`1 critical, 2 major`; info findings are not counted."""
    counts = Counter(finding.severity for finding in entry.findings)
    return ", ".join(f"{counts[severity]} {severity}" for severity in SEVERITIES if severity != "info" and counts[severity])


def scores_text(entry: ClinicalEntry) -> str:
    """`overall 82, format 100`; only what there is."""
    named = ("overall", *(name for name, _ in DIMENSIONS))
    return ", ".join(f"{name} {score_text(entry.scores[name])}" for name in named if name in entry.scores)


def reason_text(entry: ClinicalEntry) -> str:
    """Why a file was not validated."""
    return entry.not_checked[0].reason if entry.not_checked else "no rule was applied"
