from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scorers.clinical.fhir.resources import bundle, observation, patient
from touchstone.scorers.clinical.formats.fhir import Options, is_valid, validate


def nested(depth: int) -> bytes:
    item: dict[str, Any] = {"linkId": "x", "type": "group"}
    for number in range(depth):
        item = {"linkId": str(number), "type": "group", "item": [item]}
    return json.dumps({"resourceType": "Questionnaire", "status": "draft", "item": [item]}).encode()


ACTS = "http://terminology.hl7.org/CodeSystem/v3-ActCode"
OWN = "http://hl7.org/fhir/publication-status"
CASES = {
    "nothing": b"",
    "zeros": b"\x00" * 1000,
    "infinite": b'{"resourceType":"Observation","valueQuantity":{"value":1e400}}',
    "deep objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "deep lists": b"[" * 10_000,
    "deep items": nested(250),
    "half a document": json.dumps(bundle(patient())).encode()[:-40],
    "lone surrogate": b'{"resourceType":"Patient","id":"\\ud800"}',
    "not UTF-8": b'{"resourceType":"\xff"}',
    "NUL in a code": b'{"resourceType":"Patient","gender":"a\\u0000b"}',
    "not a number": b'{"resourceType":NaN}',
    "a list": b"[]",
    "many members": json.dumps({"resourceType": "Patient", **{f"k{n}": n for n in range(50_000)}}).encode(),
    "many shapes": json.dumps({"resourceType": "Patient", "name": [{f"k{n}": n} for n in range(20_000)]}).encode(),
    "a text of 10 MB": json.dumps({"resourceType": "Patient", "name": [{"text": "a b " * 2_500_000}]}).encode(),
    "many lines": b"{}\n" * 20_000,
    "many attributes": b'<Patient xmlns="http://hl7.org/fhir" %s/>' % b" ".join(b'a%d="x"' % n for n in range(150_000)),
    "many instructions": b'<Patient xmlns="http://hl7.org/fhir"><text><status value="generated"/><div xmlns="http://www.w3.org/1999/xhtml">%s</div></text></Patient>'
    % (b"<?a b?>xxxxxxxx" * 100_000),
    "many unknown codes": json.dumps(
        {"resourceType": "Basic", "code": {"coding": [{"system": OWN, "code": f"x{number}"} for number in range(100_000)]}}
    ).encode(),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_hostile_input_is_rejected_in_bounded_time(name: str) -> None:
    started = time.process_time()
    told = validate(CASES[name], options=Options(installed_packages=False))
    assert time.process_time() - started < 20
    assert not is_valid(told)
    assert len(told.findings) <= 500


@pytest.mark.parametrize("at", ["fullUrl", "self"])
def test_a_long_url_of_a_bundle_takes_time_in_proportion_to_its_length(at: str) -> None:
    def seconds(times: int) -> float:
        url = "http://x" + ("/Ab/1#" if at == "fullUrl" else "/Ab?") * times + "\nz"
        entry = {"resource": patient(), "search": {"mode": "match"}, **({"fullUrl": url} if at == "fullUrl" else {})}
        link = [{"relation": "self", "url": url}] if at == "self" else []
        document = json.dumps({"resourceType": "Bundle", "type": "searchset", "link": link, "entry": [entry]}).encode()
        begun = time.process_time()
        validate(document, options=Options(installed_packages=False))
        return time.process_time() - begun

    seconds(1)  # tables are loaded
    # Eight times the length: 64 times the time where it grows by the square.
    assert min(seconds(4_000) for _ in range(3)) < 20 * max(min(seconds(500) for _ in range(3)), 0.001)


def test_a_document_over_the_size_bound_is_not_read() -> None:
    told = validate(b" " * 101, options=Options(bytes_max=100))
    assert [(one.severity, one.code) for one in told.findings] == [("critical", "fhir.json.size")]


def test_many_contained_resources_take_linear_time() -> None:
    count = 5_000
    contained = [{"resourceType": "Patient", "id": f"a{n}"} for n in range(count)]
    links = [{"other": {"reference": f"#a{n}"}, "type": "refer"} for n in range(count)]
    started = time.process_time()
    assert is_valid(validate(json.dumps({"resourceType": "Patient", "contained": contained, "link": links}).encode()))
    assert time.process_time() - started < 10


def test_a_document_can_name_any_number_of_profiles_and_the_report_stays_bounded() -> None:
    told = validate(json.dumps(bundle(*[patient(id=f"p{n}", meta={"profile": [f"http://a.example/{n}"]}) for n in range(500)])).encode())
    assert len(told.not_checked) <= 200


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=20))
ELEMENTS = ["resourceType", "id", "meta", "text", "div", "status", "extension", "url", "valueString", "contained", "reference", "identifier"]
KEYS = st.one_of(st.sampled_from([*ELEMENTS, "coding", "system", "code", "entry", "resource", "_id", "item", "type"]), st.text(max_size=6))
TREES = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=5)), max_leaves=30)
ANSWERED = {
    "resourceType": "QuestionnaireResponse",
    "questionnaire": "#q",
    "status": "completed",
    "contained": [
        {
            "resourceType": "Questionnaire",
            "id": "q",
            "status": "draft",
            "item": [
                {"linkId": "a", "type": "choice", "answerOption": [{"valueCoding": {"code": "x"}}], "maxLength": 3},
                {"linkId": "b", "type": "integer", "enableWhen": [{"question": "a", "operator": "=", "answerCoding": {"code": "x"}}]},
            ],
        }
    ],
    "item": [{"linkId": "a", "answer": [{"valueCoding": {"code": "x"}}]}, {"linkId": "b", "answer": [{"valueInteger": 1}]}],
}
MAP = {
    "resourceType": "ConceptMap",
    "status": "draft",
    "group": [{"source": "http://hl7.org/fhir/administrative-gender", "element": [{"code": "male", "target": [{"code": "m", "equivalence": "equal"}]}]}],
}
CLAIMING = observation(meta={"profile": ["http://hl7.org/fhir/us/core/StructureDefinition/us-core-observation-lab"]}, referenceRange=[{"low": {"value": 1}}])
SEARCHING = {"resourceType": "SearchParameter", "url": "http://a.test/s", "expression": "Patient.name", "base": ["Patient"], "type": "string"}
CARRYING = {"resourceType": "Parameters", "parameter": [{"name": "a", "resource": patient()}]}
GOOD = [ANSWERED, MAP, CLAIMING, SEARCHING, CARRYING, patient(), observation(), bundle(patient(), observation())]


def failed(data: bytes) -> list[str]:
    told = validate(data, options=Options(extensions="known", security=True, example_urls=False))
    return [one.check for one in told.not_checked if "failed" in one.reason] + [one.code for one in told.findings if one.code == "fhir.structure.failed"]


@given(st.binary(max_size=200))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    validate(data)


@given(st.sampled_from([json.dumps(one).encode() for one in GOOD]), st.lists(st.tuples(st.integers(0), st.integers(0, 12), st.binary(max_size=6)), max_size=6))
def test_no_change_of_bytes_makes_it_raise_nor_a_rule_fail(good: bytes, changes: list[tuple[int, int, bytes]]) -> None:
    data = bytearray(good)
    for place, length, inserted in changes:
        start = place % (len(data) + 1)
        data[start : start + length] = inserted
    assert failed(bytes(data)) == []


@given(TREES)
def test_no_json_makes_it_raise_nor_a_rule_fail(tree: object) -> None:
    assert failed(json.dumps(tree).encode()) == []


@given(st.sampled_from(GOOD), st.data())
def test_no_member_replaced_by_anything_makes_a_rule_fail(resource: dict[str, Any], data: st.DataObject) -> None:
    broken = json.loads(json.dumps(resource))
    at: Any = broken
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        inner = at[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            at[key] = data.draw(TREES)
            break
        at = inner
    assert failed(json.dumps(broken).encode()) == []


CONCEPTS = {"resourceType": "CodeSystem", "status": "draft", "content": "complete"}
DEFINED = {"resourceType": "StructureDefinition", "status": "draft", "type": "Patient", "derivation": "constraint", "baseDefinition": "x:y"}
FILTERED = {"resourceType": "ValueSet", "status": "draft"}


@pytest.mark.parametrize("wrong", [[], {}, 1, True])
def test_what_is_no_text_where_definitions_have_one_is_told_by_its_structure_alone(wrong: Any) -> None:
    conditional = {"linkId": wrong, "type": "group", "enableWhen": [{"question": "a", "operator": "exists", "answerBoolean": True}]}
    types = [{"code": wrong, "profile": [wrong, "http://hl7.org/fhir/StructureDefinition/Quantity"]}]
    resources: list[dict[str, Any]] = [
        DEFINED | {"differential": {"element": [{"id": "Patient.name", "path": "Patient.name", "type": types}]}},
        {"resourceType": "Questionnaire", "status": "draft", "item": [{"linkId": "a", "type": "group"}, conditional]},
        CONCEPTS | {"property": [{"code": wrong, "type": "code"}], "concept": [{"code": "a"}]},
        CONCEPTS | {"property": [{"code": "p", "type": "code"}], "concept": [{"code": "a", "property": [{"code": wrong, "valueCode": "x"}]}]},
        FILTERED | {"compose": {"include": [{"system": ACTS, "filter": [{"property": "concept", "op": "is-a", "value": wrong}]}]}},
        FILTERED | {"compose": {"include": [{"system": ACTS, "filter": [{"property": "concept", "op": wrong, "value": "none"}]}]}},
    ]
    for one in resources:
        told = validate(json.dumps(one).encode(), options=Options(installed_packages=False))
        assert not [found for found in told.findings if found.code.startswith("internal")]
        assert not is_valid(told)
