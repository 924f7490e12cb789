import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from touchstone.schemas.case import validate_case
from touchstone.schemas.result import Scorecard
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical import SUITE, ClinicalSettings, build, fingerprint, samples, validate_document
from touchstone.scorers.clinical.checks.scores import label_of, worst
from touchstone.scorers.identity import config_digest

PATIENT = {"resourceType": "Patient", "gender": "female", "birthDate": "1980-02-29"}
MESSAGE = (
    "MSH|^~\\&|A|B|C|D|20240101120000+0000||ADT^A01^ADT_A01|1|P|2.5.1\rEVN||20240101120000+0000\rPID|1||1^^^A&1.2.3&ISO^MR||Doe^Jo^^^^^L||19800229|F\rPV1|1|I\r"
)
CDA = '<ClinicalDocument xmlns="urn:hl7-org:v3"/>'
CANARY = "Wisniewska-Kaczka"


def trace(**outputs: Any) -> ProductionTrace:
    return validate_case(ProductionTrace, {"traceId": "t-1", "outputs": {name: {"content": content} for name, content in outputs.items()}})


def scored(case: ProductionTrace, **settings: Any) -> Scorecard:
    return build(ClinicalSettings(**settings)).evaluate(case)


@pytest.mark.parametrize("path", samples.paths(), ids=lambda path: path.stem)
def test_each_sample_gets_what_it_was_written_for(path: Any) -> None:
    wanted = samples.expected()[path.stem]
    card = scored(validate_case(ProductionTrace, json.loads(path.read_text())))
    found = {finding.code for finding in card.findings if finding.severity != "info"}
    assert card.label == wanted["label"]
    assert [document["valid"] for document in card.details["documents"]] == wanted["valid"]
    assert found >= set(wanted["codes"])
    assert wanted["codes"] or not found


def test_every_sample_is_expected_to_be_something() -> None:
    assert {path.stem for path in samples.paths()} == set(samples.expected())


def test_a_trace_is_scored_per_format_and_as_a_whole() -> None:
    card = scored(trace(fhir=PATIENT, hl7v2=MESSAGE))
    assert card.label == "Pass"
    assert card.values["overall"] == 100.0
    assert {"fhir_overall", "fhir_format", "hl7v2_overall", "hl7v2_format"} <= card.values.keys()
    assert "clinical" in card.components_missing
    assert [document["path"] for document in card.details["documents"]] == ["outputs.fhir", "outputs.hl7v2"]
    assert all(sum(document["rules_fired"].values()) > 0 for document in card.details["documents"])


def test_an_object_and_its_text_score_the_same() -> None:
    # The lines of its findings are those of its indented text.
    assert scored(trace(fhir=PATIENT)) == scored(trace(fhir=json.dumps(PATIENT, indent=2)))


def test_several_documents_of_a_format_are_numbered() -> None:
    card = scored(trace(fhir=[PATIENT, PATIENT | {"gender": "x"}]))
    assert any(finding.path.startswith("outputs.fhir[1]/Patient.gender") for finding in card.findings)
    assert card.label == "Warn"


def test_what_is_not_valid_is_never_a_pass_whatever_its_mean() -> None:
    card = scored(trace(fhir=PATIENT | {"birthDate": "1980-02-30"}, hl7v2=MESSAGE))
    assert (card.label, card.values["overall"]) == ("Warn", 79.9)
    assert card.details["overall_weighted"] > 80
    why = "the overall score is at most 79.9, as for every Warn, because a document is not valid or has a critical finding; the weighted mean is"
    assert [one.message.startswith(why) for one in card.findings if one.code == "label.bound"] == [True]


def test_a_document_that_cannot_be_read_fails_its_trace() -> None:
    card = scored(trace(fhir=json.dumps(PATIENT)[:20], hl7v2=MESSAGE))
    assert card.label == "Fail"
    assert (card.values["fhir_overall"], card.values["fhir_format"], card.values["hl7v2_format"]) == (0.0, 0.0, 100.0)
    assert (card.values["format"], card.values["overall"]) == (50.0, 50.0)


def test_a_document_that_cannot_be_read_scores_0_where_the_others_are_compared() -> None:
    card = scored(trace(fhir=[PATIENT, json.dumps(PATIENT)[:20]], hl7v2=MESSAGE))
    assert card.details["consistency"]["compared"] > 0
    assert card.values["format"] == pytest.approx(200 / 3)


DOCUMENTS: dict[str, list[Any]] = {
    "fhir": [PATIENT, PATIENT | {"birthDate": "1980-02-30"}, {}, json.dumps(PATIENT)[:20], "", f"{json.dumps(PATIENT)}\n{json.dumps(PATIENT)[:20]}"],
    "hl7v2": [MESSAGE, MESSAGE.replace("19800229", "19820517"), MESSAGE[:40], MESSAGE[:90], "Sorry, no."],
    "ccda": [CDA, CDA[:30], ""],
}


@settings(max_examples=60, deadline=None)
@given(st.fixed_dictionaries({}, optional={form: st.lists(st.sampled_from(given), min_size=1, max_size=2) for form, given in DOCUMENTS.items()}))
def test_no_number_of_a_trace_reads_better_than_its_label(outputs: dict[str, list[Any]]) -> None:
    card = scored(trace(**outputs))
    documents = card.details.get("documents", [])
    shown = [(card.label, card.values.get("overall")), *((one["label"], one["scores"].get("overall")) for one in documents)]
    shown += [(worst(*(one["label"] for one in documents if one["format"] == form)), card.values.get(f"{form}_overall")) for form in outputs]
    for label, overall in shown:
        agrees = label_of(overall) == label
        assert agrees or (label == "Fail" and overall is not None and overall < 60), (label, overall)


def test_cda_without_templates_is_not_validated_and_never_lets_its_trace_pass() -> None:
    card = scored(trace(fhir=PATIENT, ccda=CDA))
    assert (card.label, card.details["valid"]) == ("unscored", None)
    assert card.values == {name: value for name, value in card.values.items() if not name.startswith("ccda_")}
    assert any(skipped.check == "ccda" for skipped in card.not_checked)
    assert scored(trace(ccda=CDA)).label == "unscored"


def test_a_trace_without_outputs_is_unscored_and_says_why() -> None:
    card = scored(trace())
    assert (card.label, card.values) == ("unscored", {})
    assert [failure.code for failure in card.failures] == ["no_output"]


def test_an_output_without_content_is_named() -> None:
    card = scored(validate_case(ProductionTrace, {"traceId": "t", "outputs": {"fhir": {}, "hl7v2": {"content": MESSAGE}}}))
    assert any(skipped.check == "fhir" for skipped in card.not_checked)
    assert card.label == "Pass"


def test_formats_that_are_not_wanted_are_named_and_not_validated() -> None:
    card = scored(trace(fhir={"resourceType": "X"}, hl7v2=MESSAGE), formats=("hl7v2",))
    assert card.label == "Pass"
    assert any(skipped.check == "fhir" for skipped in card.not_checked)


def test_the_future_is_judged_from_the_trace_s_own_time() -> None:
    def findings(moment: str) -> set[str]:
        case = {"traceId": "t", "timestamp": moment, "outputs": {"fhir": {"content": PATIENT | {"birthDate": "2020-05-05"}}}}
        return {finding.code for finding in scored(validate_case(ProductionTrace, case)).findings}

    assert "datetimes.future" in findings("2019-01-01T00:00:00Z")
    assert "datetimes.future" not in findings("2021-01-01T00:00:00Z")


def test_a_time_without_offset_is_judged_too() -> None:
    case = validate_case(ProductionTrace, {"traceId": "t", "timestamp": "2021-01-01T00:00:00", "outputs": {"fhir": {"content": PATIENT}}})
    assert scored(case).label == "Pass"


def test_findings_are_bounded_and_the_gravest_come_first() -> None:
    broken = PATIENT | {f"x{number}": 1 for number in range(100)} | {"photo": [{"size": -1}]}
    card = scored(trace(fhir=broken), limits={"findings_max": 5})
    assert len(card.findings) == 5
    assert card.details["documents"][0]["findings_dropped"] > 0
    order = ["critical", "major", "minor", "info"]
    assert [order.index(finding.severity) for finding in card.findings] == sorted(order.index(finding.severity) for finding in card.findings)


def test_a_trace_of_many_documents_has_a_result_of_bounded_size_and_one_verdict() -> None:
    patients = [PATIENT] * 300 + [PATIENT | {f"x{number}": 1 for number in range(30)}] * 300
    card = scored(trace(fhir=patients))
    assert (card.label, card.details["valid"], card.details["documents_total"]) == ("Warn", False, 600)
    assert len(card.findings) <= 500
    assert card.details["findings_dropped"] > 5_000
    assert len(card.model_dump_json()) < 300_000


@pytest.mark.parametrize("content", [{"a": {1, 2}}, {("a",): 1}, {"a": 10**5_000}, {"a": b"x"}])
def test_an_object_that_is_no_json_is_told_and_raises_nothing(content: Any) -> None:
    found = validate_document(content, "fhir")
    assert (found.scores.label, [finding.severity for finding in found.report.findings]) == ("Fail", ["critical"])


def test_a_result_holds_nothing_of_the_payload_unless_asked() -> None:
    message = MESSAGE.replace("Doe", CANARY).replace("|19800229|F", f"|{CANARY}|{CANARY}")
    meta = {"profile": [CANARY, f"http://example.org/{CANARY}"], "tag": [{"system": f"http://example.org/{CANARY}", "code": CANARY}]}
    case = trace(fhir=PATIENT | {"gender": CANARY, CANARY: 1, "name": [{"family": CANARY}], "meta": meta}, hl7v2=message)
    assert CANARY not in scored(case).model_dump_json()
    assert CANARY in scored(case, quote=True).model_dump_json()


def test_a_small_trace_and_a_large_one_get_the_same_answer_in_a_thread_and_beside_it() -> None:
    scorer = build(ClinicalSettings())
    large = trace(fhir={"resourceType": "Bundle", "type": "collection", "entry": [{"resource": PATIENT} for _ in range(50)]})
    for case in (trace(fhir=json.dumps(PATIENT)), large):
        assert asyncio.run(scorer.score(case)) == scorer.evaluate(case)


def test_the_content_of_another_format_is_told() -> None:
    card = scored(trace(fhir=MESSAGE))
    assert card.label == "Fail"
    assert any("looks like hl7v2" in skipped.reason for skipped in card.not_checked)


def test_what_is_no_trace_names_the_field() -> None:
    with pytest.raises(ValidationError) as caught:
        validate_case(ProductionTrace, {"traceId": "t", "outputs": {"fhir": {"content": 5}}})
    assert {error["loc"][:3] for error in caught.value.errors()} == {("outputs", "fhir", "content")}


def test_annotations_and_feedback_of_any_shape_are_left_alone() -> None:
    for annotations in ([], [{"reviewerId": "a"}], {"quality_rating": "good"}, None):
        case = {"traceId": "t", "outputs": {}, "annotations": annotations, "feedback": {"rating": "up", "timestamp": "x"}}
        assert validate_case(ProductionTrace, case).case_id == "t"


def test_the_configuration_s_name_changes_with_what_changes_scores_only() -> None:
    def digest(**settings: Any) -> str:
        return config_digest(fingerprint(ClinicalSettings(**settings)))

    assert digest() == digest(quote=True) == digest(limits={"findings_max": 3}) == digest(terminology={"timeout_s": 1.0})
    assert len({digest(), digest(formats=("fhir",)), digest(fhir={"extensions": "known"}), digest(terminology={"url": "http://127.0.0.1/fhir"})}) == 4


def test_the_suite_names_itself() -> None:
    scorer = build(ClinicalSettings())
    assert (scorer.name, scorer.version) == (SUITE.name, SUITE.version)
