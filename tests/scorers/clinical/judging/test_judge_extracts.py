import json

import pytest

from tests.scorers.clinical.judging.judges import TRACE, FakeJudge, scorer
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical.requests.judge_extracts import extract
from touchstone.scorers.clinical.settings import JudgeRequestSettings


def trace(**outputs: object) -> ProductionTrace:
    return ProductionTrace.model_validate(TRACE | {"outputs": {form: {"content": content} for form, content in outputs.items()}})


def test_short_documents_are_shown_whole() -> None:
    asked = extract(trace(fhir={"resourceType": "Patient", "id": "p"}, hl7v2="MSH|^~\\&|A\rPID|1\r"), JudgeRequestSettings())
    assert [(part.place, part.text) for part in asked.outputs] == [
        ("outputs.fhir", '{"resourceType":"Patient","id":"p"}'),
        ("outputs.hl7v2", "MSH|^~\\&|A\nPID|1"),
    ]
    assert all(part.shown == part.chars for part in asked.parts)


def test_long_documents_share_what_the_short_ones_leave_and_say_what_was_cut() -> None:
    asked = extract(trace(hl7v2=["a" * 100, "b" * 5_000, "c" * 5_000]), JudgeRequestSettings(outputs_chars_max=1_100))
    assert [part.shown for part in asked.outputs] == [100, 500, 500]
    assert asked.outputs[1].text == "b" * 500 + "\n[cut here: 4500 of 5000 characters are not shown]"


@pytest.mark.parametrize("documents", [1, 7, 999])
def test_all_documents_together_never_exceed_their_bound(documents: int) -> None:
    asked = extract(trace(hl7v2=["x" * 900] * documents), JudgeRequestSettings(outputs_chars_max=2_000))
    assert sum(part.shown for part in asked.outputs) <= 2_000
    assert len(asked.outputs) == documents


def test_what_says_nothing_of_the_patient_and_long_attachments_are_left_out() -> None:
    content = {"resourceType": "Bundle", "meta": {"tag": ["HTEST"]}, "entry": [{"fullUrl": "urn:uuid:1", "resource": {"id": "d", "data": "QUFB" * 1_000}}]}
    (part,) = extract(trace(fhir=json.dumps(content)), JudgeRequestSettings()).outputs
    assert "HTEST" not in part.text
    assert "urn:uuid" not in part.text
    assert len(part.text) < 2_300
    assert "[cut here: 2000 of 4000 characters are not shown]" in part.text


@pytest.mark.parametrize("content", ["{not json", {"a": "\udfff"}, {"deep": json.loads("[" * 400 + "]" * 400)}])
def test_no_document_is_too_odd_to_be_shown(content: object) -> None:
    (part,) = extract(trace(fhir=content), JudgeRequestSettings()).outputs
    part.text.encode()


def test_bytes_that_are_not_utf8_are_shown_as_far_as_they_can_be_read() -> None:
    (part,) = extract(trace(hl7v2=b"MSH|\xff|A\rPID|1"), JudgeRequestSettings()).outputs
    assert part.text == "MSH|\ufffd|A\nPID|1"


async def test_the_judge_is_not_told_what_the_validators_found() -> None:
    judge = FakeJudge()
    card = await scorer(judge).score(ProductionTrace.model_validate(TRACE | {"outputs": {"fhir": {"content": {"resourceType": "Patient", "gender": "X"}}}}))
    assert card.details["validators"]["findings"]["major"] >= 1
    (fields,) = judge.asked
    assert fields == {
        "day": "2026-02-04",
        "request": "A woman of 59 with diabetes",
        "persona": '{"age":59,"conditions":["Type 2 diabetes mellitus"]}',
        "documents": 'outputs.fhir:\n{"resourceType":"Patient","gender":"X"}',
    }


async def test_the_result_says_how_much_the_judge_was_shown() -> None:
    long = {"resourceType": "Patient", "id": "x" * 64, "name": [{"family": "y" * 400}]}
    card = await scorer(FakeJudge(), validators={"judge": {"outputs_chars_max": 100}}).score(trace(fhir=long))
    assert card.details["shown"]["outputs.fhir"]["shown"] == 100
    assert card.details["shown"]["outputs.fhir"]["chars"] > 400
