from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.scorers.clinical.fhir.resources import PLAIN, bundle, codes, found, observation, patient, report
from touchstone.scorers.clinical import validate_document
from touchstone.scorers.clinical.formats.fhir import is_valid, validate
from touchstone.scorers.clinical.report import Context


def test_good_resources_are_valid() -> None:
    for resource in (patient(), observation(), bundle(patient(), observation())):
        assert is_valid(report(resource)), report(resource).findings


def test_an_unknown_element_is_told_by_its_path() -> None:
    finding = found(patient(contact=[{"name": {"text": "x"}, "status": "y"}]), "fhir.structure.unknown-element")
    assert (finding.severity, finding.path, finding.suggestion) == ("major", "Patient.contact[0].status", None)


def test_a_slip_of_an_element_is_shown_with_a_suggestion() -> None:
    finding = found(patient(identifer=[]), "fhir.structure.unknown-element")
    assert (finding.path, finding.suggestion) == ("Patient.identifer", "Use 'identifier'")


def test_an_unknown_name_may_be_quoted_where_quoting_is_asked_for() -> None:
    (finding,) = validate(json.dumps(patient(Wisniewska=1)).encode(), Context(quote=True), PLAIN).findings
    assert finding.path == "Patient.Wisniewska"


def test_a_duplicate_member_that_no_type_has_is_not_named() -> None:
    told = validate(b'{"resourceType":"Patient","Kaczka":"a","Kaczka":"b"}', options=PLAIN).findings
    assert "Kaczka" not in " ".join(one.message + one.path for one in told)


def test_an_unknown_name_that_could_be_payload_is_not_shown() -> None:
    assert found(patient(**{"John Smith, born 1970": 1}), "fhir.structure.unknown-element").path == "Patient.?"


def test_a_required_element_must_be_there() -> None:
    assert found(observation(status=None), "fhir.structure.missing").path == "Observation.status"


def test_an_extension_in_place_of_a_required_primitive_is_enough() -> None:
    beside = {"extension": [{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"}]}
    provenance = {"resourceType": "Provenance", "target": [{"display": "a"}], "agent": [{"who": {"display": "b"}}]}
    assert not is_valid(report(provenance))
    assert is_valid(report(provenance | {"_recorded": beside}))


def test_a_choice_may_have_one_type_only() -> None:
    assert found(observation(valueString="high"), "fhir.structure.choice").path == "Observation.value[x]"


FAULTS = {
    "a type that the choice does not allow": ({"deceasedString": "yes"}, "fhir.structure.unknown-element"),
    "a repeating element that is no list": ({"name": {"text": "Ada"}}, "fhir.structure.list"),
    "a single element that is a list": ({"gender": ["female"]}, "fhir.structure.no-list"),
    "an empty list": ({"name": []}, "fhir.structure.empty-list"),
    "an empty object": ({"maritalStatus": {}}, "fhir.invariants.ele-1"),
    "an object where text belongs": ({"gender": {"code": "female"}}, "fhir.primitives.type"),
    "text where an object belongs": ({"maritalStatus": "M"}, "fhir.structure.object"),
}


@pytest.mark.parametrize(("changes", "code"), FAULTS.values(), ids=FAULTS)
def test_an_element_in_another_shape_is_one_finding(changes: dict[str, object], code: str) -> None:
    assert codes(patient(**changes)) == {code}


def test_null_stands_only_where_the_other_list_has_an_extension() -> None:
    absent = {"extension": [{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"}]}
    assert is_valid(report(patient(name=[{"given": ["Ada", None], "_given": [None, absent]}])))
    assert codes(patient(name=[{"given": ["Ada", None]}])) == {"fhir.structure.null"}
    assert codes(patient(gender=None) | {"gender": None}) == {"fhir.structure.null"}


@pytest.mark.parametrize("resource", [{}, {"resourceType": 5}, {"resourceType": "Persona"}, {"resourceType": "DomainResource"}])
def test_what_is_no_resource_is_critical(resource: dict[str, object]) -> None:
    assert report(resource).findings[0].severity == "critical"
    assert not is_valid(report(resource))


def test_two_elements_with_one_id_are_told() -> None:
    assert "fhir.structure.duplicate-id" in codes(patient(name=[{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]))


def test_a_member_that_appears_twice_is_told_however_the_file_is_spaced() -> None:
    for text in (b'{"resourceType":"Patient","gender":"male","gender":"female"}', b'{ "resourceType" : "Patient", "gender" : "male", "gender" : "female" }'):
        assert [one.code for one in validate(text, options=PLAIN).findings] == ["fhir.json.duplicate"]


def test_a_member_that_appears_twice_has_its_place() -> None:
    patient_text = '{"resourceType": "Patient", "name": [{"text": "a, {b: ["}, {"given": ["x", "y"], "text": "a", \n"t\\u0065xt": "b"}], "Ada": 1, "Ada": 2}'
    bundle_text = '{"resourceType": "Bundle", "type": "collection", "entry": [{"fullUrl": "urn:a"}, {"resource": {"gender": "male", "gender": "male"}}]}'
    lines = '{"resourceType": "Patient"}\n{"resourceType": "Patient", "gender": "male", "gender": "male"}\n'
    for text, expected in (
        (patient_text, ["Patient.name[1].text", "Patient"]),
        (bundle_text, ["Bundle.entry[1].resource.gender"]),
        (lines, ["Line[2].Patient.gender"]),
    ):
        found = [one for one in validate_document(text).report.findings if one.code == "fhir.json.duplicate"]
        assert [one.path for one in found] == expected
        assert all(one.line is not None for one in found)
        assert "Ada" not in str(found)


def test_text_that_looks_like_members_is_no_duplicate() -> None:
    assert is_valid(validate(b'{"resourceType":"Patient","name":[{"text":"a \\": b \\": c"}]}', options=PLAIN))


def test_ndjson_is_read_line_by_line() -> None:
    found_in = validate(b'{"resourceType":"Patient"}\n{"resourceType":"Patient","gender":"x"}\n', options=PLAIN)
    assert [(one.code, one.path) for one in found_in.findings] == [("fhir.bindings.required", "Line[2].Patient.gender")]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([b"{}", b"", b'{"resourceType":', b'{"resourceType":"Patient","gender":"x"}'], ("fhir.json.syntax", "Line[3]", "line 3 column 17")),
        ([b'{"resourceType":', b'{"resourceType":"Patient","gender":"x"}'], ("fhir.json.syntax", "Line[1]", "line 1 column 17")),
        ([b'{"resourceType":"Patient","gender":"x"}', b"no JSON"], ("fhir.json.syntax", "Line[2]", "at line 2 column")),
        ([b'{"resourceType":"Patient","gender":"x"}', b'{"id":"\xe9"}'], ("fhir.json.encoding", "Line[2]", "byte 8 of line 2")),
    ],
)
def test_of_ndjson_the_broken_line_is_named_and_the_good_ones_are_validated(lines: list[bytes], told: tuple[str, str, str]) -> None:
    findings = validate(b"\n".join(lines), options=PLAIN).findings
    (broken,) = [one for one in findings if one.code.startswith("fhir.json.")]
    assert (broken.code, broken.path) == told[:2]
    assert told[2] in broken.message
    assert "fhir.bindings.required" in {one.code for one in findings}


def test_what_is_not_utf_8_is_told_by_its_byte() -> None:
    (finding,) = validate('{\n"language": "é"}'.encode("latin-1"), options=PLAIN).findings
    assert (finding.code, finding.message) == ("fhir.json.encoding", "not UTF-8, at byte 14 of line 2: not read")


def test_in_a_bundle_resources_are_told_by_type_and_number() -> None:
    paths = {one.path for one in report(bundle(patient(gender="x"), observation(id="o1"), observation(id="o2", status="x"))).findings}
    assert paths == {"Patient.gender", "Observation[1].status"}


def test_comments_are_refused_unless_allowed() -> None:
    text = b'{"resourceType":"Patient" /* a */ } // b'
    assert [one.code for one in validate(text, options=PLAIN).findings] == ["fhir.json.comment"]


def test_a_byte_order_mark_is_no_fault() -> None:
    assert is_valid(validate(b'\xef\xbb\xbf{"resourceType":"Patient"}', options=PLAIN))


def test_findings_hold_nothing_of_the_payload_unless_asked() -> None:
    told = report(patient(gender="Zaphod", birthDate="Beeblebrox", identifier=[{"system": "Trillian", "value": "x"}]))
    text = " ".join(f"{one.message} {one.path} {one.suggestion}" for one in told.findings)
    assert not {"Zaphod", "Beeblebrox", "Trillian"} & set(text.replace(":", " ").split())


def test_a_template_for_tests_is_recognised_and_not_validated_as_a_resource() -> None:
    mark = {"url": "http://hl7.org/fhir/tools/StructureDefinition/matchetype", "valueCode": "partial"}
    template = patient(extension=[mark], id="$id$", birthDate="$date$")
    refused = report(template)
    assert [(one.severity, one.code) for one in refused.findings] == [("major", "fhir.structure.template")]
    assert [one.check for one in refused.not_checked] == ["a template for tests"]
    accepted = report(template, replace(PLAIN, templates=True))
    assert is_valid(accepted)
    assert accepted.findings == []
    assert [one.check for one in accepted.not_checked] == ["a template for tests"]
    assert not is_valid(report(patient(birthDate="$date$"), replace(PLAIN, templates=True)))  # nothing marks it as a template
