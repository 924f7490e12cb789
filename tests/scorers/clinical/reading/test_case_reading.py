"""A clinical case beside its result: every finding at its place, the patient's chart, and nothing of the text without the right to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scorers.clinical.consistency.patient import ADT, CCDA, PERSONA, fhir
from touchstone.schemas.case import Case
from touchstone.schemas.conformance import ConformanceRequest
from touchstone.schemas.judging import JudgeRequest
from touchstone.schemas.reading import CaseReading, CodeSection, PairsSection, TableSection, TimelineSection
from touchstone.schemas.result import FileRef, Finding, NotChecked, Scorecard, ScoreResult
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical import SUITE, conformance, judging, samples
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.reading import case_reading, displayed
from touchstone.scorers.clinical.settings import ClinicalSettings
from touchstone.scorers.clinical.trace_scoring import score_trace

SETTINGS = ClinicalSettings()
SAMPLES = sorted(path for folder in samples.samples().paths for path in Path(folder).rglob("*.json"))


@pytest.fixture(scope="module")
def validator() -> DocumentValidator:
    return DocumentValidator(SETTINGS)


def result_of(case: Case, card: Scorecard) -> ScoreResult:
    return ScoreResult(
        **dict(card), result_id="r", event_id="e", case_id=case.case_id, kind="trace", suite="clinical", suite_version="1", config_digest="d",
        source=FileRef(file="t.json"), scored_at=datetime(2026, 3, 5, tzinfo=UTC),
    )  # fmt: skip


def trace(persona: Any = None, prompt: str | None = "A patient", **outputs: Any) -> ProductionTrace:
    document = {"traceId": "t", "timestamp": "2026-03-05T00:00:00Z", "prompt": prompt, "persona": persona}
    return ProductionTrace.model_validate(document | {"outputs": {form: {"content": content} for form, content in outputs.items()}})


def read(case: ProductionTrace, validator: DocumentValidator) -> tuple[CaseReading, ScoreResult]:
    result = result_of(case, score_trace(case, validator, SETTINGS))
    return SUITE.reading_of(case, result), result


def section(reading: CaseReading, name: str) -> Any:
    return next(one for one in reading.sections if one.id == name)


def ids(reading: CaseReading) -> Iterator[str]:
    for one in reading.sections:
        yield one.id
        for part in (*getattr(one, "items", ()), *getattr(one, "rows", ()), *getattr(one, "entries", ())):
            yield part.id


def links(reading: CaseReading) -> Iterator[str]:
    for one in reading.sections:
        for name in ("items", "rows", "entries", "marks", "pairs"):
            for part in getattr(one, name, ()):
                yield from part.to


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_finding_of_the_samples_has_a_place_or_says_why_not(path: Path, validator: DocumentValidator) -> None:
    case = ProductionTrace.model_validate(json.loads(path.read_bytes()))
    reading, result = read(case, validator)
    items = section(reading, "findings").items
    assert all(item.note for item in items if item.finding is not None)
    marked = {mark.finding for one in reading.sections if isinstance(one, CodeSection) for mark in one.marks}
    unmarked = {index for index in range(len(result.findings)) if index not in marked}
    # What is about the scores, or about all resources of a type, is about no one place.
    assert all(result.findings[index].path == "overall" or result.findings[index].code == "fhir.profiles.must-support" for index in unmarked)
    names = list(ids(reading))
    assert len(names) == len(set(names))
    assert set(links(reading)) <= set(names)


def test_a_finding_is_at_its_line_and_column_of_the_text_that_is_shown(validator: DocumentValidator) -> None:
    document = fhir()
    document["entry"][0]["resource"]["gender"] = "woman"
    reading, result = read(trace(fhir=json.dumps(document)), validator)
    index = next(number for number, one in enumerate(result.findings) if one.code == "fhir.bindings.required")
    shown = section(reading, "document-fhir")
    mark = next(one for one in shown.marks if one.finding == index)
    assert shown.text[mark.start : mark.end] == '"gender": "woman"'
    assert shown.text.splitlines()[mark.line - 1][mark.column - 1 :].startswith('"gender"')
    assert mark.to == (f"finding-{index}",)
    item = next(one for one in section(reading, "findings").items if one.finding == index)
    assert (item.note, item.to) == (f"FHIR: line {mark.line}, column {mark.column}", ("document-fhir",))


def test_a_document_that_cannot_be_read_is_marked_where_it_stops(validator: DocumentValidator) -> None:
    text = '{"resourceType": "Patient",\n "gender": male}'
    reading, _ = read(trace(fhir=text), validator)
    mark = section(reading, "document-fhir").marks[0]
    assert (mark.line, mark.state) == (2, "bad")


def test_the_persona_is_a_chart_with_what_a_document_contradicts_marked(validator: DocumentValidator) -> None:
    persona = PERSONA | {
        "conditions": [*PERSONA["conditions"], "Asthma"],
        "labs": [{"name": "HbA1c", "value": 7.2, "unit": "%", "date": "2026-03-02", "lab": "North"}],
        "favouriteColour": "blue",
    }
    reading, _ = read(trace(persona, fhir=fhir(), ccda=CCDA, hl7v2=ADT), validator)
    titles = [one.title for one in reading.sections]
    assert titles[0] == "Prompt"
    assert titles[-3:] == ["FHIR", "HL7 v2", "C-CDA"]
    conditions = section(reading, "conditions")
    assert [row.state for row in conditions.rows] == [None] * (len(conditions.rows) - 1) + ["bad"]
    labs = section(reading, "labs")
    assert labs.columns == ("Test", "Value", "Unit", "Date", "More")
    assert labs.rows[0].cells == ("HbA1c", "7.2", "%", "2026-03-02", "lab: North")
    assert "favouriteColour" in section(reading, "persona-more").text
    entry = next(one for one in section(reading, "timeline").entries if one.lane == "Labs and vital signs")
    assert (entry.text, entry.begin) == ("HbA1c: 7.2 %", "2026-03-02")
    assert section(reading, "encounters").note == "not in the persona: read from outputs.fhir"


def test_without_a_persona_the_chart_is_that_of_the_fhir_document_and_says_so(validator: DocumentValidator) -> None:
    reading, _ = read(trace(hl7v2=ADT, fhir=fhir()), validator)
    patient = section(reading, "patient")
    assert isinstance(patient, PairsSection)
    assert patient.note == "the trace has no persona: read from outputs.fhir"
    assert ("Name", "Zoë Maria Sample-Ortega") in [(pair.key, pair.value) for pair in patient.pairs]
    assert {one.id for one in reading.sections if isinstance(one, TableSection)} == {
        "conditions", "medications", "allergies", "labs", "encounters", "immunizations"
    }  # fmt: skip
    assert isinstance(section(reading, "timeline"), TimelineSection)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "code", "date", "start", "value", "coding", "text", "x y"]), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = ["name", "age", "demographics", "patient", "conditions", "medications", "labs", "vitals", "encounters", "allergies", "procedures", "other"]


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(KEYS), JUNK), st.dictionaries(st.sampled_from(["entry", "resourceType", "name", "gender"]), JUNK), st.text(max_size=20))
def test_no_persona_or_document_breaks_the_reading(persona: dict[str, Any], document: dict[str, Any], text: str) -> None:
    bundle = {"resourceType": "Bundle", "entry": [{"resource": {"resourceType": kind, **document}} for kind in ("Patient", "Observation", "Encounter")]}
    case = trace(persona, fhir=bundle, hl7v2=text, ccda=text)
    findings = tuple(
        Finding(severity="major", code="c", path=path, message="m at line 9, column 4")
        for path in (
            *(f"persona/{key}" for key in persona),
            "outputs.fhir/Patient.name[0].x",
            "outputs.hl7v2/PID-3",
            "outputs.ccda/ClinicalDocument/id/@root",
            "outputs.fhir",
            "x",
        )
    )
    reading = SUITE.reading_of(case, result_of(case, Scorecard(label="Fail", values={}, findings=findings)))
    for one in reading.sections:
        if isinstance(one, CodeSection):
            assert all(0 <= (mark.start or 0) < (mark.end or 0) <= len(one.text) for mark in one.marks)
    assert CaseReading.model_validate_json(reading.model_dump_json()) == reading


def test_without_the_right_to_text_no_word_of_the_patient_is_in_the_reading(validator: DocumentValidator) -> None:
    canary = "Quillfeather"
    persona = {"name": canary, "conditions": [{"name": canary, "onset": "2020-01-01", canary: canary}], canary: canary, "demographics": {canary: canary}}
    document = fhir()
    document["entry"][0]["resource"] |= {"name": [{"family": canary}], "gender": canary}
    case = trace(persona, canary, fhir=document, hl7v2=ADT.replace("SAMPLE-ORTEGA", canary), ccda=CCDA.replace("Zoe", canary))
    reading, _ = read(case, validator)
    assert canary in reading.model_dump_json()
    assert canary not in reading.without_text().model_dump_json()


def test_only_the_result_at_hand_gives_scores_and_findings(validator: DocumentValidator) -> None:
    case = trace(fhir=fhir())
    result = result_of(case, score_trace(case, validator, SETTINGS))
    reading = SUITE.reading_of(None, result)
    assert [one.id for one in reading.sections] == ["values", "findings"]
    assert not reading.has_text


def test_the_judges_ratings_and_reasons_are_shown_beside_what_it_read() -> None:
    asked = {
        "prompt": {"place": "prompt", "text": "A man", "shown": 5, "chars": 5},
        "persona": {"place": "persona", "text": '{"age":59}', "shown": 10, "chars": 10},
        "outputs": [{"place": "outputs.hl7v2", "text": ADT.replace("\r", "\n"), "shown": 1, "chars": 1}],
    }
    validated = {"suite_version": "1", "config_digest": "d", "label": "Pass", "values": {}}
    case = JudgeRequest.model_validate({"trace_id": "t", "asked": asked, "validated": validated})
    card = Scorecard(
        label="Warn",
        values={"clinical": 75.0, "clinical_temporal_consistency": 75.0},
        findings=(Finding(severity="major", code="coherence.temporal_consistency", path="outputs.hl7v2 of Walter", message="Walter was ill before"),),
        details={
            "weights": {"temporal_consistency": 1.0},
            "dimensions": {
                "temporal_consistency": {"score": 4, "rationale": "Walter's dates agree", "findings": 1},
                "narrative_coherence": {"score": None, "rationale": "withheld:9a3c", "findings": 0},
            },
        },
    )
    reading = judging.SUITE.reading_of(case, result_of(case, card))
    assert [one.id for one in reading.sections] == [
        "prompt", "values", "judge", "findings", "patient", "conditions", "allergies", "labs", "encounters", "timeline", "document-hl7v2",
    ]  # fmt: skip
    assert [bar.share for bar in section(reading, "values").bars] == [None, 1.0]
    first, second = section(reading, "judge").items
    assert (first.state, first.text, first.note) == ("good", "Walter's dates agree", "rated 4 of 5")
    assert (second.text, second.note) == ("", "not rated; the reason is withheld: quoting is off")
    assert section(reading, "findings").items[0].to == ("document-hl7v2",)
    assert "Walter" not in reading.without_text().model_dump_json()


def test_issues_of_external_validators_have_places_too() -> None:
    content = json.dumps(fhir(), indent=2)
    documents = [{"place": "outputs.fhir", "format": "fhir", "content": content, "chars": len(content)}]
    case = ConformanceRequest.model_validate({"trace_id": "t", "documents": documents})
    found = Finding(severity="major", code="conformance.fhir.x", path="outputs.fhir/Bundle.entry[0].resource.gender", message="m")
    reading = conformance.SUITE.reading_of(case, result_of(case, Scorecard(label="Fail", values={"conformant": 0.0}, findings=(found,))))
    shown = section(reading, "document-fhir")
    assert shown.text[shown.marks[0].start : shown.marks[0].end] == '"gender": "female"'


def test_a_finding_about_every_resource_of_a_type_says_why_it_has_no_place() -> None:
    found = Finding(severity="info", code="fhir.profiles.must-support", path="outputs.fhir/Observation.component", message="m")
    case = trace(fhir=fhir())
    reading = SUITE.reading_of(case, result_of(case, Scorecard(label="Pass", values={}, findings=(found,))))
    assert section(reading, "findings").items[0].note == "FHIR: about every resource of this type, so about no one place"


def test_documents_beyond_the_bounds_are_cut_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(displayed, "CHARS_MAX", 100)
    monkeypatch.setattr(case_reading, "ALL_CHARS_MAX", 100)
    found = tuple(
        Finding(severity="major", code="c", path=f"outputs.{form}/{path}", message="m") for form, path in (("fhir", "Observation[2].code"), ("hl7v2", "PID-3"))
    )
    case = trace(fhir=json.dumps(fhir(), indent=1), hl7v2=ADT)
    reading = SUITE.reading_of(case, result_of(case, Scorecard(label="Fail", values={}, findings=found)))
    first, second = section(reading, "document-fhir"), section(reading, "document-hl7v2")
    assert (len(first.text), first.note.startswith("the first 100 of ")) == (100, True)
    assert (second.text, second.note) == ("", "not shown: the documents before it are too long")
    assert all(not one.marks or one.marks[-1].end <= len(one.text) for one in (first, second))
    assert all(item.note for item in section(reading, "findings").items)


def test_a_missing_segment_is_marked_beside_its_neighbour(validator: DocumentValidator) -> None:
    text = "MSH|^~\\&|A|B|C|D|20260302120000-0500||ORU^R01^ORU_R01|2|P|2.5.1\rPID|1||4711^^^H^MR||Sample^Zoe\rOBX|1|NM|4548-4^HbA1c^LN||7.20|%|||||F\r"
    reading, result = read(trace(hl7v2=text), validator)
    index = next(number for number, one in enumerate(result.findings) if one.code == "structure.missing-segment")
    mark = next(one for one in section(reading, "document-hl7v2").marks if one.finding == index)
    assert (mark.line, mark.state) == (3, "missing")


def test_what_is_wrong_comes_before_what_deserves_a_look() -> None:
    found = tuple(Finding(severity=severity, code="c", path="outputs.fhir/Patient", message="m") for severity in ("info", "major", "minor", "critical"))
    card = Scorecard(label="Fail", values={}, findings=found, not_checked=(NotChecked(check="x", reason="y"),))
    case = trace(fhir=fhir())
    items = section(SUITE.reading_of(case, result_of(case, card)), "findings").items
    assert [item.finding for item in items] == [1, 3, 2, 0, None]


def test_an_entry_that_is_read_from_a_resource_is_marked_by_the_gravest_finding_about_it() -> None:
    found = tuple(
        Finding(severity=severity, code="c", path=f"outputs.fhir/Observation[1].{member}", message="m")
        for severity, member in (("info", "status"), ("critical", "valueQuantity"), ("major", "code"))
    )
    case = trace(fhir=fhir())
    reading = SUITE.reading_of(case, result_of(case, Scorecard(label="Fail", values={}, findings=found)))
    labs = section(reading, "labs")
    assert [(row.state, row.finding) for row in labs.rows] == [(None, None), ("bad", 1), (None, None), (None, None)]
    assert "@" not in "".join(cell for row in labs.rows for cell in row.cells)
    assert section(reading, "findings").items[0].note.startswith("FHIR: line ")


def test_what_is_absent_from_an_object_of_a_list_names_the_object(validator: DocumentValidator) -> None:
    document = {"resourceType": "Patient", "contact": [{"name": {"family": "A"}}, {"gender": "female", "telecom": [{"value": "1"}]}]}
    reading, result = read(trace(fhir=json.dumps(document)), validator)
    notes = {result.findings[item.finding].path: item.note for item in section(reading, "findings").items if item.finding is not None}
    path = next(path for path in notes if path.startswith("outputs.fhir/Patient.contact[1].telecom[0]"))
    assert notes[path].startswith("FHIR: line ")
    assert notes[path].endswith("telecom[0], the element around it)") or notes[path].endswith("(in telecom[0])")
