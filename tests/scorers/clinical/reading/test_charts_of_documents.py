"""The chart of a trace with neither persona nor FHIR: from the segments of HL7 v2 or the sections of C-CDA, in the words of the document."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scorers.clinical.consistency.patient import ADT, CCDA, ORU
from tests.scorers.clinical.reading.test_case_reading import ids, links, read, section, trace
from touchstone.schemas.reading import CaseReading
from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.reading.described import described
from touchstone.scorers.clinical.settings import ClinicalSettings

HEAD = "MSH|^~\\&|A|F|A|F|20260302081500-0500||{kind}|1|P|2.5.1\rPID|1||M-1^^^H^MR||Doe^Jo^Q||19610409|F|||1 Main St^^Springfield^IL^62701"


@pytest.fixture(scope="module")
def validator() -> DocumentValidator:
    return DocumentValidator(ClinicalSettings())


def message(kind: str, *segments: str) -> str:
    return "\r".join((HEAD.format(kind=kind), *segments))


def persona(content: Any, form: Any = "hl7v2") -> dict[str, Any]:
    return described([(f"outputs.{form}", form, content)], ()).persona


def table(reading: CaseReading, name: str) -> list[dict[str, str]]:
    one = section(reading, name)
    return [{heading: cell for heading, cell in zip(one.columns, row.cells, strict=True) if cell} for row in one.rows]


def test_an_admission_alone_has_a_chart_and_a_timeline(validator: DocumentValidator) -> None:
    reading, _ = read(trace(None, hl7v2=ADT), validator)
    patient = section(reading, "patient")
    assert {pair.key: pair.value for pair in patient.pairs} == {
        "Name": "ZOE M SAMPLE-ORTEGA", "Gender": "female", "Birth date": "1961-04-09", "Record number": "MRN-4711",
        "Address": "Springfield, IL, 62701-1234", "Marital status": "M",
    }  # fmt: skip
    assert patient.note == "the trace has no persona: read from outputs.hl7v2"
    assert table(reading, "conditions")[0] == {"Condition": "Type 2 diabetes", "Code": "E119", "Onset": "2015-06-01", "More": "type: admitting"}
    assert table(reading, "allergies") == [{"Allergy": "penicillin G", "Code": "7980", "Reaction": "hives", "Severity": "severe", "Onset": "2001-02-03"}]
    assert table(reading, "labs")[0] == {
        "Test": "Body weight", "Code": "29463-7", "Value": "181.7", "Unit": "[lb_av]", "Status": "final", "Date": "2026-03-02T09:30:00-05:00",
    }  # fmt: skip
    assert table(reading, "encounters") == [{"Encounter": "Inpatient", "Start": "2026-03-02T14:00:00+01:00", "End": "2026-03-04T16:00:00+00:00"}]
    assert section(reading, "timeline").lanes == ("Conditions", "Allergies", "Labs and vital signs", "Encounters")
    assert set(links(reading)) <= set(ids(reading))


def test_a_c_cda_document_alone_has_a_chart(validator: DocumentValidator) -> None:
    reading, _ = read(trace(None, ccda=CCDA), validator)
    assert [row["Condition"] for row in table(reading, "conditions")] == ["Diabetes mellitus type 2", "Essential hypertension (disorder)"]
    assert table(reading, "conditions")[0] == {"Condition": "Diabetes mellitus type 2", "Code": "44054006", "Status": "Active", "Onset": "2015-06-01"}
    assert table(reading, "medications") == [{"Medication": "metformin", "Code": "860975", "Dose": "0.5 g", "Start": "2026-03-02"}]
    assert section(reading, "encounters").note == "the trace has no persona: read from outputs.ccda" or section(reading, "patient").note


@pytest.mark.parametrize(
    ("kind", "segments", "key", "entry"),
    [
        (
            "RDE^O11^RDE_O11",
            ("ORC|NW|1", "RXE||860975^metformin 500 MG^RXNORM|500|1000|mg|TAB|take with food", "TQ1|1||BID", "RXR|PO^oral"),
            "medications",
            {"name": "metformin 500 MG", "code": "860975", "dose": "500 to 1000 mg", "frequency": "BID", "route": "oral", "notes": "take with food"},
        ),
        (
            "OMP^O09^OMP_O09",
            ("ORC|NW|1|||||||20260302", "RXO|1191^aspirin^RXNORM|81||mg", "RXR|PO"),
            "medications",
            {"name": "aspirin", "code": "1191", "dose": "81 mg", "route": "PO", "authoredOn": "2026-03-02"},
        ),
        (
            "RAS^O17^RAS_O17",
            ("ORC|RE|1", "RXA|0|1|20260302|20260302|1191^aspirin^RXNORM|81|mg", "RXR|PO"),
            "medications",
            {"name": "aspirin", "code": "1191", "dose": "81 mg", "route": "PO", "date": "2026-03-02"},
        ),
        (
            "VXU^V04^VXU_V04",
            ("ORC|RE||1", "RXA|0|1|20251011||140^Influenza^CVX|0.5|mL||||||||LOT7|||||CP"),
            "immunizations",
            {"name": "Influenza", "code": "140", "dose": "0.5 mL", "lot": "LOT7", "status": "complete", "date": "2025-10-11"},
        ),
        ("ADT^A08^ADT_A01", ("DG1|1||^^|fracture of the wrist|20260301|F",), "conditions", None),
        (
            "ORU^R01^ORU_R01",
            ("OBR|1|||1^Culture^L|||20260302", "OBX|1|CWE|600-7^Culture^LN||112283007^E. coli^SCT||none|A|||P"),
            "labs",
            {"name": "Culture", "code": "600-7", "value": "E. coli", "range": "none", "flag": "A", "status": "preliminary", "date": "2026-03-02"},
        ),
        (
            "ORU^R01^ORU_R01",
            ("OBR|1|||1^Titre^L|||20260302", "OBX|1|SN|5-5^Titre^LN||^1^:^128||||||F"),
            "labs",
            {"name": "Titre", "code": "5-5", "value": "1:128", "status": "final", "date": "2026-03-02"},
        ),
        ("ADT^A01^ADT_A01", ("PV1|1|E|ER^2^B^F||||7^Good^Ann",), "encounters", {"name": "Emergency", "location": "ER 2 B F", "provider": "Ann Good"}),
        ("ADT^A01^ADT_A01", ("AL1|1||^No known allergies",), "allergies", {"name": "none, the document says"}),
    ],
    ids=["RXE", "RXO", "RXA in an administration", "RXA of a vaccine", "DG1-4", "coded result", "SN", "PV1 without a time", "no known allergies"],
)
def test_a_segment_reads_in_its_own_words(kind: str, segments: tuple[str, ...], key: str, entry: dict[str, Any] | None) -> None:
    found = persona(message(kind, *segments))
    if entry is None:
        assert found[key][0]["name"] == "fracture of the wrist"
    else:
        assert [{name: value for name, value in one.items() if name != "@"} for one in found[key]] == [entry]


def test_a_deleted_diagnosis_and_a_refused_vaccine_are_not_in_the_chart() -> None:
    found = persona(message("ADT^A01^ADT_A01", "DG1|1||I10^Hypertension^I10C||||||||||||||||||D", "RXA|0|1|20251011||140^Influenza^CVX|999||||||||||||||RE"))
    assert "conditions" not in found
    assert "immunizations" not in found


def test_several_messages_of_one_patient_make_one_chart() -> None:
    one = described([("outputs.hl7v2[0]", "hl7v2", ADT), ("outputs.hl7v2[1]", "hl7v2", ORU)], ())
    assert [entry["name"] for entry in one.persona["labs"]] == ["Body weight", "Systolic", "Diastolic", "HbA1c", "Glucose"]
    assert one.at == "outputs.hl7v2[0], outputs.hl7v2[1]"


def test_entries_of_another_patient_are_never_in_the_chart() -> None:
    other = ORU.replace("MRN-4711", "MRN-9").replace("Sample-Ortega^Zoë", "Roe^Max").replace("19610409", "19990101")
    one = described([("outputs.hl7v2[0]", "hl7v2", ADT), ("outputs.hl7v2[1]", "hl7v2", other)], ())
    assert [entry["name"] for entry in one.persona["labs"]] == ["Body weight", "Systolic", "Diastolic"]
    assert one.at == "outputs.hl7v2[0]; 1 document about other patients, or several, left out"
    assert described([("outputs.hl7v2", "hl7v2", f"{ADT}\r{other}")], ()).persona == {}


def test_an_entry_is_marked_with_the_gravest_finding_about_it(validator: DocumentValidator) -> None:
    path = "outputs.ccda/ClinicalDocument/component/structuredBody/component[3]/section/entry/substanceAdministration"
    findings = [
        Finding(severity="minor", code="a", path=f"{path}/statusCode", message=""),
        Finding(severity="major", code="b", path=f"{path}/consumable/@x", message=""),
        Finding(severity="major", code="c", path="outputs.ccda/ClinicalDocument/title", message=""),
    ]
    assert [one[0] for one in described([("outputs.ccda", "ccda", CCDA)], findings).findings] == [1, 0]
    reading, result = read(trace(None, hl7v2=ADT.replace("DG1|1||E119^Type 2 diabetes^I10C", "DG1|1||E11999^Type 2 diabetes^I10C")), validator)
    row = section(reading, "conditions").rows[0]
    assert row.state in {"bad", "unsure"}
    assert row.finding is not None
    assert result.findings[row.finding].path.startswith("outputs.hl7v2/DG1[1]")


def test_the_chart_of_a_document_hides_its_texts_without_the_right_to_them(validator: DocumentValidator) -> None:
    shown = read(trace(None, hl7v2=ADT), validator)[0].without_text().model_dump_json()
    for text in ("ORTEGA", "MRN-4711", "penicillin", "diabetes", "1961", "2015-06"):
        assert text not in shown


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(0, len(ADT)), junk=st.text(max_size=20))
def test_a_message_that_was_cut_or_spoilt_never_fails(cut: int, junk: str) -> None:
    described([("outputs.hl7v2", "hl7v2", ADT[:cut] + junk + ADT[cut:]), ("outputs.ccda", "ccda", CCDA[:cut] + junk)], ())
