"""Compares the documents of one trace, and its persona, as records of one patient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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
from touchstone.scorers.clinical.consistency.record import Patient, Record, Source
from touchstone.scorers.clinical.consistency.remaining import remaining_patient, remaining_record
from touchstone.scorers.clinical.report import Context, Report

#: Documents of one trace that are compared.
DOCUMENTS_MAX: Final = 100
#: The first of these formats in a trace is the one that the others are compared with; then each with the next, in what the earlier ones do not have.
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
    sides = [_Side(records[source]) for source in _REFERENCES if source in records]
    if isinstance(persona, dict) and persona:
        sides.append(_Side([read_persona(persona)]))
    for theirs in sides[1:]:
        _compare(sides[0], theirs, context, at, report)
    for number, ours in enumerate(sides[1:], 1):
        for theirs in sides[number + 1 :]:
            _compare_remaining(ours, theirs, sides[:number], context, at, report)
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


@dataclass(slots=True)
class _Side:
    """All documents of one format, or the persona. `same`, `others`: sides that were compared with it, and are about the same patient, or another."""

    records: list[Record]
    joined: Record = field(init=False)
    patients: list[Patient] = field(init=False)
    same: set[Source] = field(default_factory=set)
    others: set[Source] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Join the documents."""
        self.joined, self.patients = _joined(self.records), same_patient(self.records)


def _compare(ours: _Side, theirs: _Side, context: Context, at: datetime | None, report: Report) -> None:
    """Compare all documents of one format with all of another, and add the findings to the report."""
    comparison = Comparison(ours.joined, theirs.joined, context, at)
    if ours.patients and theirs.patients:
        is_one = compare_patients(comparison, ours.patients, theirs.patients)
    else:
        side = comparison.theirs if ours.patients else comparison.ours
        comparison.skip("patient", f"{side.place} is about no patient, or about several")
        is_one = not (comparison.ours.patients and comparison.theirs.patients)
    if is_one:
        compare_entries(comparison)
    else:
        comparison.skip("entries", "they are not about one patient")
    for one, other in ((ours, theirs), (theirs, ours)):
        (one.same if is_one else one.others).add(other.joined.source)
    _add(comparison.report, report)


def _compare_remaining(ours: _Side, theirs: _Side, earlier: Sequence[_Side], context: Context, at: datetime | None, report: Report) -> None:
    """Compare what two formats have and none of the earlier ones has, and add the findings to the report.

    If an earlier one is about the patient of only one of them, the two are about different patients, which was reported.
    """
    sources = {side.joined.source for side in earlier}
    if (ours.same ^ theirs.same) & sources:
        return
    known = [side for side in earlier if side.joined.source in ours.same & theirs.same]
    records = [side.joined for side in known]
    left = [remaining_record(side.joined, records) for side in (ours, theirs)]
    if left[1].source == "persona":
        for one in left:  # what a persona has was sought in the first format
            one.scopes = {}
    comparison = Comparison(left[0], left[1], context, at)
    patients = [[remaining_patient(patient, [one for side in known for one in side.patients]) for patient in side.patients] for side in (ours, theirs)]
    if (all(patients) and compare_patients(comparison, *patients)) or not (ours.joined.patients and theirs.joined.patients):
        compare_entries(comparison)
    _add(comparison.report, report)


def _add(part: Report, report: Report) -> None:
    report.add(*part.findings)
    report.beyond.update(part.beyond)
    report.rules_fired.update(part.rules_fired)
    for skipped in part.not_checked:
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
