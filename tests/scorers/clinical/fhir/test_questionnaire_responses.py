from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, codes, definition, report
from touchstone.scorers.clinical.formats.fhir import Options, is_valid, questionnaire_answers

HL7 = "http://hl7.org/fhir/StructureDefinition/"
Json = dict[str, Any]
MALE = {"valueCoding": {"system": "http://hl7.org/fhir/administrative-gender", "code": "male"}}
RESPONSE, ANSWER = "fhir.questionnaires.response", "fhir.questionnaires.answer"


def question(kind: str, **facts: Any) -> Json:
    return {"linkId": "q1", "type": kind} | facts


def coding(code: str) -> Json:
    return {"system": "http://codes.test", "code": code}


def attached(kind: str) -> Json:
    return {"valueAttachment": {"contentType": kind}}


def bound(name: str, **value: Any) -> Json:
    return {"extension": [{"url": HL7 + name} | value]}


def response(items: list[Json], *given: Json, status: str = "completed") -> Json:
    questionnaire = {"resourceType": "Questionnaire", "id": "q", "url": "http://q.test/q", "status": "active", "item": items}
    return {"resourceType": "QuestionnaireResponse", "questionnaire": "#q", "status": status, "contained": [questionnaire], "item": list(given)}


def told(resource: Json) -> set[str]:
    return {code for code in codes(resource) if code.startswith("fhir.questionnaires")}


def one(item: Json, *answers: Json) -> set[str]:
    return told(response([item], {"linkId": "q1", "answer": list(answers)}))


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("boolean", {"valueBoolean": True}, {"valueCoding": coding("a")}),
        ("decimal", {"valueDecimal": 1.5}, {"valueInteger": 1}),
        ("integer", {"valueInteger": 1}, {"valueString": "1"}),
        ("date", {"valueDate": "2020-01-01"}, {"valueDateTime": "2020-01-01"}),
        ("dateTime", {"valueDateTime": "2020-01-01"}, {"valueDate": "2020-01-01"}),
        ("time", {"valueTime": "10:00:00"}, {"valueString": "10:00:00"}),
        ("string", {"valueString": "a"}, {"valueUri": "urn:a:b"}),
        ("text", {"valueString": "a"}, {"valueInteger": 2}),
        ("url", {"valueUri": "http://a.test"}, {"valueString": "http://a.test"}),
        ("attachment", {"valueAttachment": {"url": "http://a.test"}}, {"valueCoding": coding("a")}),
        ("reference", {"valueReference": {"display": "a"}}, {"valueString": "a"}),
        ("quantity", {"valueQuantity": {"value": 1}}, {"valueDecimal": 1.5}),
        ("choice", {"valueCoding": coding("a")}, {"valueString": "a"}),
        ("open-choice", {"valueString": "a"}, {"valueInteger": 1}),
    ],
)
def test_an_answer_is_of_the_type_of_its_item(kind: str, good: Json, bad: Json) -> None:
    assert one(question(kind), good) == set()
    assert one(question(kind), bad) == {ANSWER}


@pytest.mark.parametrize(
    ("item", "good", "bad"),
    [
        (question("choice", answerOption=[{"valueCoding": coding("a")}]), {"valueCoding": coding("a")}, {"valueCoding": coding("b")}),
        (question("choice", answerOption=[{"valueInteger": 1}]), {"valueInteger": 1}, {"valueInteger": 2}),
        (question("choice", answerValueSet="http://hl7.org/fhir/ValueSet/administrative-gender"), MALE, {"valueCoding": coding("male")}),
        (question("string", maxLength=3), {"valueString": "abc"}, {"valueString": "abcd"}),
        (question("string", **bound("minLength", valueInteger=2)), {"valueString": "ab"}, {"valueString": "a"}),
        (question("string", **bound("regex", valueString="[a-z]+")), {"valueString": "abc"}, {"valueString": "a1"}),
        (question("integer", **bound("minValue", valueInteger=2)), {"valueInteger": 2}, {"valueInteger": 1}),
        (question("date", **bound("maxValue", valueDate="2020")), {"valueDate": "1999-01-01"}, {"valueDate": "2021-05-05"}),
        (question("decimal", **bound("maxDecimalPlaces", valueInteger=1)), {"valueDecimal": 1.5}, {"valueDecimal": 1.55}),
        (question("attachment", **bound("mimeType", valueCode="image/gif")), attached("image/gif"), attached("text/plain")),
    ],
)
def test_an_answer_keeps_to_what_its_item_permits(item: Json, good: Json, bad: Json) -> None:
    assert one(item, good) == set()
    assert one(item, bad) == {ANSWER}


def test_a_quantity_is_compared_with_its_bound_across_units() -> None:
    unit = {"system": "http://unitsofmeasure.org"}
    item = question("quantity", **bound("maxValue", valueQuantity={"value": 5, "code": "km", **unit}))
    assert one(item, {"valueQuantity": {"value": 4000, "code": "m", **unit}}) == set()
    assert one(item, {"valueQuantity": {"value": 6000, "code": "m", **unit}}) == {ANSWER}


def test_one_answer_unless_the_item_repeats() -> None:
    answers = ({"valueString": "a"}, {"valueString": "b"})
    assert one(question("string"), *answers) == {RESPONSE}
    assert one(question("string", repeats=True), *answers) == set()
    assert one(question("string", repeats=True, **bound("questionnaire-maxOccurs", valueInteger=1)), *answers) == {RESPONSE}


def test_an_exclusive_option_stands_alone() -> None:
    exclusive = {"valueCoding": coding("none")} | bound("questionnaire-optionExclusive", valueBoolean=True)
    item = question("choice", repeats=True, answerOption=[{"valueCoding": coding("a")}, exclusive])
    assert one(item, {"valueCoding": coding("none")}) == set()
    assert one(item, {"valueCoding": coding("none")}, {"valueCoding": coding("a")}) == {RESPONSE}


def test_items_must_be_known_in_place_and_in_order() -> None:
    items = [question("string"), {"linkId": "g", "type": "group", "item": [{"linkId": "q2", "type": "string"}]}]
    answers = {"answer": [{"valueString": "a"}]}
    group = {"linkId": "g", "item": [{"linkId": "q2"} | answers]}
    assert told(response(items, {"linkId": "q1"} | answers, group)) == set()
    assert told(response(items, group, {"linkId": "q1"} | answers)) == {RESPONSE}
    assert told(response(items, {"linkId": "q2"} | answers)) == {RESPONSE}
    assert told(response(items, {"linkId": "other"} | answers)) == {RESPONSE}


def test_what_is_required_must_be_there_once_the_response_is_complete() -> None:
    items = [question("string", required=True)]
    assert told(response(items)) == {RESPONSE}
    assert told(response(items, status="in-progress")) == set()


def test_groups_and_display_items_have_no_answers() -> None:
    for kind in ("group", "display"):
        assert one(question(kind), {"valueString": "a"}) == {RESPONSE}


@pytest.mark.parametrize(
    ("condition", "enabling", "other"),
    [
        ({"operator": "exists", "answerBoolean": True}, {"valueInteger": 1}, None),
        ({"operator": "=", "answerInteger": 5}, {"valueInteger": 5}, {"valueInteger": 4}),
        ({"operator": "!=", "answerInteger": 5}, {"valueInteger": 4}, {"valueInteger": 5}),
        ({"operator": ">", "answerInteger": 5}, {"valueInteger": 6}, {"valueInteger": 5}),
        ({"operator": "<=", "answerInteger": 5}, {"valueInteger": 5}, {"valueInteger": 6}),
    ],
)
def test_an_item_is_answered_where_it_is_enabled_and_only_there(condition: Json, enabling: Json, other: Json | None) -> None:
    dependent = {"linkId": "q2", "type": "string", "required": True, "enableWhen": [{"question": "q1"} | condition]}
    items = [question("integer"), dependent]
    answered = {"linkId": "q2", "answer": [{"valueString": "a"}]}
    asked = {"linkId": "q1", "answer": [enabling]}
    without = [{"linkId": "q1", "answer": [other]}] if other else []
    assert told(response(items, asked, answered)) == set()
    assert told(response(items, asked)) == {RESPONSE}
    assert told(response(items, *without)) == set()
    assert told(response(items, *without, answered)) == {RESPONSE}


def test_an_absent_questionnaire_is_told_as_not_checked() -> None:
    made = report({"resourceType": "QuestionnaireResponse", "status": "completed", "questionnaire": "http://q.test/none"})
    assert is_valid(made)
    assert any(skipped.check == "answers against their Questionnaire" for skipped in made.not_checked)


def test_a_pattern_that_could_run_for_ever_elsewhere_is_tried_in_linear_time() -> None:
    item = question("string", **bound("regex", valueString="(a+)+$"))
    assert one(item, {"valueString": "a" * 200 + "!"}) == {ANSWER}
    assert one(item, {"valueString": "a" * 200}) == set()


def test_a_pattern_that_no_engine_reads_in_linear_time_is_not_tried() -> None:
    item = question("string", **bound("regex", valueString=r"(a+)+\1$"))
    made = report(response([item], {"linkId": "q1", "answer": [{"valueString": "a" * 200 + "!"}]}), replace(PLAIN))
    assert any(skipped.check == "patterns of answers" for skipped in made.not_checked)


def test_the_patterns_of_a_document_have_a_bound_of_processor_time_together(monkeypatch: pytest.MonkeyPatch) -> None:
    item = question("string", **bound("regex", valueString="[a-z]+"))
    answer = response([item], {"linkId": "q1", "answer": [{"valueString": "1"}]})
    for most, expected in ((2.0, False), (-1.0, True)):
        monkeypatch.setattr(questionnaire_answers, "PATTERNS_TIME_MAX_S", most)
        made = report(answer, replace(PLAIN))
        assert any("the patterns of this document take more than" in skipped.reason for skipped in made.not_checked) is expected
        assert any(finding.code == ANSWER for finding in made.findings) is not expected


def group(number: int) -> list[Json]:
    return [{"linkId": "g", "item": [{"linkId": "q1", "answer": [{"valueString": "a"}]}]} for _ in range(number)]


@pytest.mark.parametrize(("number", "expected"), [(1, {RESPONSE}), (2, set()), (3, set()), (4, {RESPONSE})])
def test_a_group_is_there_as_often_as_it_may_be(number: int, expected: set[str]) -> None:
    bounds = [{"url": HL7 + "questionnaire-minOccurs", "valueInteger": 2}, {"url": HL7 + "questionnaire-maxOccurs", "valueInteger": 3}]
    repeated = {"linkId": "g", "type": "group", "repeats": True, "item": [question("string")], "extension": bounds}
    assert told(response([repeated], *group(number))) == expected


def test_a_required_group_holds_something() -> None:
    required = {"linkId": "g", "type": "group", "required": True, "item": [question("string")]}
    assert told(response([required], *group(1))) == set()
    assert told(response([required], {"linkId": "g"})) == {RESPONSE}
    assert told(response([required], {"linkId": "g"}, status="in-progress")) == set()


UCUM = "http://unitsofmeasure.org"
OFFERED = [{"url": HL7 + "questionnaire-unitOption", "valueCoding": {"system": UCUM, "code": code, "display": code}} for code in ("kg", "g")]


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        ({"value": 1, "unit": "kg", "system": UCUM, "code": "kg"}, set()),
        ({"value": 1, "unit": "kg"}, set()),
        ({"value": 1, "unit": "lb", "system": UCUM, "code": "[lb_av]"}, {ANSWER}),
        ({"value": 1, "unit": "stone"}, {ANSWER}),
        ({"value": 1}, {ANSWER}),
        ({"extension": [{"url": HL7 + "data-absent-reason", "valueCode": "unknown"}]}, set()),
        ({"value": 1, "unit": "kg", "system": "http://units.test", "code": "kg"}, {ANSWER}),
    ],
)
def test_the_unit_of_an_answer_is_one_that_the_item_offers(quantity: Json, expected: set[str]) -> None:
    assert one(question("quantity", extension=OFFERED), {"valueQuantity": quantity}) == expected


def test_a_unit_that_the_item_does_not_offer_is_good_where_it_is_open_to_others() -> None:
    unit_open = {"url": "http://hl7.org/fhir/uv/sdc/StructureDefinition/sdc-questionnaire-unitOpen", "valueCode": "optionsOrString"}
    assert one(question("quantity", extension=[*OFFERED, unit_open]), {"valueQuantity": {"value": 1, "unit": "stone"}}) == set()


@pytest.mark.parametrize(
    ("reference", "options", "severities"),
    [
        ("Patient/1", PLAIN, []),
        ("urn:oid:1.2.3", PLAIN, []),
        ("Group/1", PLAIN, ["minor"]),  # nothing is known of it but its URL
        ("http://a.test/fhir/Group/1", PLAIN, ["minor"]),
        ("Group/1", replace(PLAIN, rest_references=True), ["major"]),
        ("#g", PLAIN, ["major"]),
        ("#p", PLAIN, []),
    ],
)
def test_an_answer_refers_to_a_type_that_the_item_names(reference: str, options: Options, severities: list[str]) -> None:
    item = question("reference", **bound("questionnaire-referenceResource", valueCode="Patient"))
    made = response([item], {"linkId": "q1", "answer": [{"valueReference": {"reference": reference}}]})
    made["contained"] += [{"resourceType": "Group", "id": "g", "type": "person", "actual": True}, {"resourceType": "Patient", "id": "p"}]
    assert [one.severity for one in report(made, options).findings if one.code == ANSWER] == severities


@pytest.mark.parametrize(
    ("reference", "profiles", "fault", "is_open"),
    [
        ("#born", ["http://a.test/sd"], False, False),
        ("#born", ["http://hl7.org/fhir/StructureDefinition/Group", "http://a.test/sd"], False, False),  # one of several suffices
        ("#unborn", ["http://hl7.org/fhir/StructureDefinition/Patient"], False, False),
        ("#unborn", ["http://a.test/sd"], True, False),
        ("#unborn", ["http://a.test/sd", "http://hl7.org/fhir/StructureDefinition/Group"], True, False),
        ("#g", ["http://a.test/sd"], True, False),
        ("#unborn", ["http://a.test/sd", "http://nobody.test/sd"], False, True),
        ("Patient/1", ["http://a.test/sd"], False, True),
    ],
)
def test_an_answer_refers_to_a_resource_that_conforms_to_a_profile_of_the_item(
    tmp_path: Path, reference: str, profiles: list[str], fault: bool, is_open: bool
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(definition({"id": "Patient.birthDate", "path": "Patient.birthDate", "min": 1})))
    item = question("reference", extension=[bound("questionnaire-referenceProfile", valueCanonical=one)["extension"][0] for one in profiles])
    made = response([item], {"linkId": "q1", "answer": [{"valueReference": {"reference": reference}}]})
    people = [{"resourceType": "Patient", "id": "born", "birthDate": "1980"}, {"resourceType": "Patient", "id": "unborn"}]
    made["contained"] += [*people, {"resourceType": "Group", "id": "g", "type": "person", "actual": True}]
    judged = report(made, replace(PLAIN, packages=(tmp_path / "a.json",)))
    assert [one.severity for one in judged.findings if one.code == ANSWER] == (["major"] if fault else [])
    assert not [one for one in judged.findings if one.code.startswith("fhir.profiles")]
    assert any(skipped.check == "profiles of answers that are references" for skipped in judged.not_checked) is is_open
