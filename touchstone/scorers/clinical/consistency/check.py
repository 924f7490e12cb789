"""One trace: its documents and its persona as records, compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.clinical.consistency.ccda_record import parse, read_ccda
from touchstone.scorers.clinical.consistency.compare_entries import compare_entries
from touchstone.scorers.clinical.consistency.compare_patients import compare_patients, same_patient
from touchstone.scorers.clinical.consistency.comparison import GROUP, Comparing
from touchstone.scorers.clinical.consistency.fhir_record import read_fhir
from touchstone.scorers.clinical.consistency.hl7v2_record import read_hl7v2
from touchstone.scorers.clinical.consistency.persona_record import read_persona
from touchstone.scorers.clinical.consistency.record import Record, Source
from touchstone.scorers.clinical.report import Context, Report

#: Documents of one trace that are compared.
DOCUMENTS_MAX: Final = 100
#: The format with which the others are compared: the first of these that the trace has.
_REFERENCES: Final[tuple[Source, ...]] = ("fhir", "ccda", "hl7v2")


@dataclass(frozen=True, slots=True)
class Given:
    """One document of a trace: its place in it, its format, and its content as it came or as bytes."""

    place: str
    form: ClinicalFormat
    content: str | bytes | dict[str, Any]


def check_consistency(documents: Sequence[Given], persona: Any, context: Context, *, at: datetime | None = None) -> Report:
    """What the documents of a trace, and its persona, say differently of one patient.

    The report has no rule fired where nothing could be compared: one format alone, or documents that cannot be read. Never raises for what they hold.
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
    others = [source for source in _REFERENCES if source in records and source != reference]
    every = [(source, records[source]) for source in others]
    if isinstance(persona, dict) and persona:
        every.append(("persona", [read_persona(persona)]))
    for _, theirs in every:
        _compare(records[reference], theirs, context, at, report)
    return report


def read_document(given: Given) -> Record | None:
    """The record of one document; None where it cannot be read."""
    content = given.content
    if given.form == "fhir":
        return read_fhir(content, given.place)
    if isinstance(content, dict):
        return None
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return read_hl7v2(data, given.place) if given.form == "hl7v2" else read_ccda(parse(data), given.place)


def _compare(ours: list[Record], theirs: list[Record], context: Context, at: datetime | None, report: Report) -> None:
    """Compare all documents of one format with all of another, and add what is found."""
    comparing = Comparing(_joined(ours), _joined(theirs), context, at)
    mine, yours = same_patient(ours), same_patient(theirs)
    if mine and yours:
        is_one = compare_patients(comparing, mine, yours)
    else:
        side = comparing.theirs if mine else comparing.ours
        comparing.skip("patient", f"{side.place} is about no patient, or about several")
        is_one = not (comparing.ours.patients and comparing.theirs.patients)
    if is_one:
        compare_entries(comparing)
    else:
        comparing.skip("entries", "they are not about one patient")
    report.add(*comparing.report.findings)
    report.beyond.update(comparing.report.beyond)
    report.rules_fired.update(comparing.report.rules_fired)
    for skipped in comparing.report.not_checked:
        report.skip(skipped.check, skipped.reason)


def _joined(records: list[Record]) -> Record:
    """All documents of one format as one record; one document is its own."""
    first, *rest = records
    if not rest:
        return first
    place = first.place.partition("[")[0]
    joined = Record(first.source, place, first.title, [patient for record in records for patient in record.patients])
    for record in records:
        joined.join(record)
    return joined
