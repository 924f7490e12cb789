"""One clinical file → one entry: read, told apart, validated, scored. What `touchstone eval validate` does with each file."""

import time
from typing import Final

from touchstone.ops.batch.clinical_files import ClinicalFile, TooLargeError, UnreadableError, read_file
from touchstone.ops.batch.clinical_traces import gravest, in_order, looks_like_traces, traces_entry
from touchstone.schemas.reports.clinical import ClinicalEntry, FileFormat, JudgedFile, Outcome
from touchstone.schemas.result import NotChecked
from touchstone.scorers.clinical.documents import SNIFFED_BYTES, DocumentValidator, Validated, sniff
from touchstone.scorers.clinical.settings import ClinicalSettings

NOTHING_SCORED: Final = ("format", "terminology", "clinical")
_UNKNOWN: Final = "recognised neither as FHIR, nor as HL7 v2, nor as C-CDA, nor as a trace"
#: How compressed files and archives begin.
_PACKED: Final = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7z",
}


def judge_file(file: ClinicalFile, validator: DocumentValidator, settings: ClinicalSettings) -> JudgedFile:
    """Validate one file. Never raises for what it holds; blocks where a terminology server is configured."""
    begun = time.perf_counter()
    try:
        judged = _judged(file, validator, settings)
    except Exception as error:  # noqa: BLE001  # a defect of ours costs one file, and its message may quote the file
        judged = failed(file, f"the validator failed ({type(error).__name__})")
    return judged.model_copy(update={"duration_s": time.perf_counter() - begun})


def failed(file: ClinicalFile, reason: str) -> JudgedFile:
    """A file of which nothing can be said, through no fault of its content."""
    return _unscored(file, None, "problem", "file", reason)


def _judged(file: ClinicalFile, validator: DocumentValidator, settings: ClinicalSettings) -> JudgedFile:
    if file.problem is not None:
        return failed(file, file.problem)
    if file.passed_over is not None:
        return _unscored(file, None, "passed_over", "file", file.passed_over)
    try:
        data = read_file(file, head_bytes=SNIFFED_BYTES)
    except UnreadableError as error:
        return failed(file, str(error))
    except TooLargeError as error:
        form = sniff(error.head)
        return _unscored(file, form, "unvalidated" if file.named or form else "passed_over", "file", str(error))
    if not data or (not data[:SNIFFED_BYTES].strip() and data.isspace()):
        return _unscored(file, None, "unvalidated", "file", "empty")
    if looks_like_traces(data):
        return traces_entry(file.name, data, validator, settings)
    form = sniff(data)
    if form is None:
        packed = next((name for start, name in _PACKED.items() if data.startswith(start)), None)
        reason = _UNKNOWN if packed is None else f"compressed ({packed}): unpack it, and validate what it holds"
        return _unscored(file, None, "unvalidated" if file.named else "passed_over", "format", reason)
    if form not in settings.formats:
        return _unscored(file, form, "passed_over", form, f"not among the formats asked for ({', '.join(settings.formats)})")
    return _of_document(file, validator.validate(data, form), settings)


def _of_document(file: ClinicalFile, validated: Validated, settings: ClinicalSettings) -> JudgedFile:
    """The entry of a validated document, within the settings' limits."""
    report, scores, limits = validated.report, validated.scores, settings.limits
    entry = ClinicalEntry(
        file=file.name,
        format=validated.format,
        label=scores.label,
        valid=validated.valid,
        scores=scores.values,
        components_missing=scores.components_missing,
        findings=tuple(gravest(report.findings)[: limits.findings_max]),
        rules_fired={name: times for name, times in sorted(report.rules_fired.items()) if times},
        not_checked=in_order(report.not_checked)[: limits.not_checked_max],
        checks={check.name: check.score for check in scores.checks},
        findings_dropped=report.dropped + max(0, len(report.findings) - limits.findings_max),
    )
    return JudgedFile(entry=entry, outcome="unvalidated" if entry.label == "unscored" else "validated")


def _unscored(file: ClinicalFile, form: FileFormat | None, outcome: Outcome, check: str, reason: str) -> JudgedFile:
    """A file that was not validated, and why."""
    skipped = NotChecked(check=check, reason=reason)
    entry = ClinicalEntry(file=file.name, format=form, label="unscored", valid=None, components_missing=NOTHING_SCORED, not_checked=(skipped,))
    return JudgedFile(entry=entry, outcome=outcome)
