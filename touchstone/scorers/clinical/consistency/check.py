"""Compares the documents of one trace, and its persona, as records of one patient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.clinical.consistency.ccda_record import parse, read_ccda
from touchstone.scorers.clinical.consistency.compare_entries import compare_entries
from touchstone.scorers.clinical.consistency.compare_patients import compare_patients, same_patient
from touchstone.scorers.clinical.consistency.comparison import GROUP, Comparison
from touchstone.scorers.clinical.consistency.fhir_record import read_fhir
from touchstone.scorers.clinical.consistency.hl7v2_record import read_hl7v2
from touchstone.scorers.clinical.consistency.persona_record import read_persona
from touchstone.scorers.clinical.consistency.record import Record, Source
from touchstone.scorers.clinical.report import Context, Report

#: Documents of one trace that are compared.
DOCUMENTS_MAX: Final = 100
#: The first of these formats in a trace is the one that the others are compared with.
_REFERENCES: Final[tuple[Source, ...]] = ("fhir", "ccda", "hl7v2")


@dataclass(frozen=True, slots=True)
class Given:
    """One document of a trace: its place, its format, and its content."""

    place: str
    form: ClinicalFormat
    content: str | bytes | dict[str, Any]


def check_consistency(documents: Sequence[Given], persona: Any, context: Context, *, at: datetime | None = None) -> Report:
    """Report where the documents of a trace and its persona contradict each other.

    If nothing could be compared (one format alone, or documents that cannot be read), no rule fires. Never raises for what documents hold.
    """
    report = Report()
    records: dict[Source, list[Record]] = {}
    for given in documents[:DOCUMENTS_MAX]:
        record = read_document(given)
        if record is None:
            report.skip(GROUP, f"{given.place} could not be read for it")
        else:
            records.setdefault(record.source, []).append(record)
    if len(documents) > DOCUMENTS_MAX:
        report.skip(GROUP, f"only the first {DOCUMENTS_MAX} documents are compared")
    reference = next((source for source in _REFERENCES if source in records), None)
    if reference is None:
        return report
    others = [records[source] for source in _REFERENCES if source in records and source != reference]
    if isinstance(persona, dict) and persona:
        others.append([read_persona(persona)])
    for theirs in others:
        _compare(records[reference], theirs, context, at, report)
    return report


def read_document(given: Given) -> Record | None:
    """The record of one document; None if it cannot be read."""
    content = given.content
    if given.form == "fhir":
        return read_fhir(content, given.place)
    if isinstance(content, dict):
        return None
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return read_hl7v2(data, given.place) if given.form == "hl7v2" else read_ccda(parse(data), given.place)


def _compare(ours: list[Record], theirs: list[Record], context: Context, at: datetime | None, report: Report) -> None:
    """Compare all documents of one format with all of another, and add the findings to the report."""
    comparison = Comparison(_joined(ours), _joined(theirs), context, at)
    mine, yours = same_patient(ours), same_patient(theirs)
    if mine and yours:
        is_one = compare_patients(comparison, mine, yours)
    else:
        side = comparison.theirs if mine else comparison.ours
        comparison.skip("patient", f"{side.place} is about no patient, or about several")
        is_one = not (comparison.ours.patients and comparison.theirs.patients)
    if is_one:
        compare_entries(comparison)
    else:
        comparison.skip("entries", "they are not about one patient")
    report.add(*comparison.report.findings)
    report.beyond.update(comparison.report.beyond)
    report.rules_fired.update(comparison.report.rules_fired)
    for skipped in comparison.report.not_checked:
        report.skip(skipped.check, skipped.reason)


def _joined(records: list[Record]) -> Record:
    first, *rest = records
    if not rest:
        return first
    place = first.place.partition("[")[0]
    joined = Record(first.source, place, first.title, [patient for record in records for patient in record.patients])
    for record in records:
        joined.join(record)
    return joined
