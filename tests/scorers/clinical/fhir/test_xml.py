import json
import random
import time
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.ops.lab.agreement.mutations import KINDS
from touchstone.scorers.clinical import validate_document
from touchstone.scorers.clinical.formats.fhir import Options, is_valid, validate
from touchstone.scorers.clinical.formats.fhir.tables import definitions
from touchstone.scorers.clinical.formats.fhir.xml import DEPTH_MAX, xml_as_json
from touchstone.scorers.clinical.report import Report
from touchstone.scorers.clinical.samples import TRACES

NAMESPACE = 'xmlns="http://hl7.org/fhir"'


def patient(inside: str, attributes: str = "") -> bytes:
    return f"<Patient {NAMESPACE}{attributes}>{inside}</Patient>".encode()


def told(data: bytes, **options: Any) -> list[tuple[str, str]]:
    report = validate(data, options=Options(clinical=False, marks=False, installed_packages=False, **options))
    return [(finding.code, finding.path) for finding in report.findings if finding.severity != "info"]


def codes(data: bytes) -> set[str]:
    return {code for code, _ in told(data)}


def written(resource: dict[str, Any]) -> str:
    """A resource as XML, in the order of its type's elements: the reverse of what is tested, for documents of the usual kind."""
    name = resource["resourceType"]
    return f"<{name}>{_members(resource, name)}</{name}>"


def _members(value: dict[str, Any], of: str) -> str:
    fields = definitions().types[of].fields
    attributes = {"id"} if definitions().types[of].kind != "resource" else set()
    if of == "Extension":
        attributes.add("url")
    parts = []
    for name, field in fields.items():
        if name in attributes or (name not in value and f"_{name}" not in value):
            continue
        each = value.get(name) if isinstance(value.get(name), list) else [value.get(name)]
        beside = value.get(f"_{name}", [None] * len(each))
        for one, extra in zip(each, beside if isinstance(beside, list) else [beside], strict=True):
            parts.append(_element(name, field, one, extra))
    return "".join(parts)


def _element(name: str, field: Any, one: Any, extra: Any) -> str:
    if field.kind == "resource":
        return f"<{name}>{written(one)}</{name}>"
    if field.kind == "xhtml":
        return str(one)
    if field.kind == "primitive":
        shown = "" if one is None else f" value={quoteattr(json.dumps(one) if isinstance(one, bool | int | float) else one)}"
        extra = extra or {}
        return f"<{name}{_attributes(extra, 'Element')}{shown}>{_members(extra, 'Element')}</{name}>"
    return f"<{name}{_attributes(one, field.type)}>{_members(one, field.type)}</{name}>"


def _attributes(value: dict[str, Any], of: str) -> str:
    return "".join(f" {name}={quoteattr(value[name])}" for name in (("id", "url") if of == "Extension" else ("id",)) if name in value)


def documents() -> list[dict[str, Any]]:
    contents = [json.loads(path.read_text())["outputs"]["fhir"]["content"] for path in sorted(TRACES.glob("sample-[adi]*.json"))]
    made = [json.loads(one) if isinstance(one, str) else one for one in contents]
    beside = {"resourceType": "Patient", "id": "p", "name": [{"id": "n", "given": ["Jo", "Li"], "_given": [None, {"id": "g", "extension": [EXTENSION]}]}]}
    return [*made, beside | {"_birthDate": {"extension": [EXTENSION]}, "active": True, "multipleBirthInteger": 2}]


EXTENSION = {"url": "http://example.org/why", "valueCode": "unknown"}


@pytest.mark.parametrize("resource", documents(), ids=lambda one: str(one.get("id", one["resourceType"])))
def test_xml_has_the_members_that_json_has(resource: dict[str, Any]) -> None:
    text = written(resource).replace(f"<{resource['resourceType']}>", f"<{resource['resourceType']} {NAMESPACE}>", 1)
    read = xml_as_json(text.encode())
    assert read == json.loads(json.dumps(resource))
    from_json = validate(json.dumps(resource).encode(), options=Options(installed_packages=False))
    from_xml = validate(text.encode(), options=Options(installed_packages=False))
    assert from_xml.findings == from_json.findings
    assert is_valid(from_xml) == is_valid(from_json)


def test_a_good_patient_is_valid() -> None:
    data = patient('<text><status value="generated"/><div xmlns="http://www.w3.org/1999/xhtml"><p>x</p></div></text><gender value="female"/>')
    assert told(data) == []


@pytest.mark.parametrize(
    ("inside", "code", "path"),
    [
        ('<gender value="x"/>', "fhir.bindings.required", "Patient.gender"),
        ('<birthDate value="1980-02-30"/>', "fhir.primitives.calendar", "Patient.birthDate"),
        ('<active value="yes"/>', "fhir.primitives.type", "Patient.active"),
        ('<gender value="male"/><gender value="male"/>', "fhir.structure.no-list", "Patient.gender"),
        ('<birthDate value="1980"/><gender value="male"/>', "fhir.xml.order", "Patient.gender"),
        ('<gender code="male"/>', "fhir.xml.attribute", "Patient.gender"),
        ('<name value="Jo"/>', "fhir.xml.attribute", "Patient.name[0]"),
        ("<name>Jo</name>", "fhir.xml.text", "Patient.name[0]"),
        ("<name/>", "fhir.xml.empty", "Patient.name[0]"),
        ("<gender/>", "fhir.xml.empty", "Patient.gender"),
        ('<extension><url value="http://example.org/x"/></extension>', "fhir.xml.attribute", "Patient.extension[0].url"),
        ('<contact><name xmlns="urn:x"/></contact>', "fhir.xml.namespace", "Patient.contact[0]"),
        ('<gender xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true" value="male"/>', "fhir.xml.attribute", "Patient.gender"),
        ("<?a b?><gender value='male'/>", "fhir.xml.instruction", ""),
        ("<contained/>", "fhir.xml.resource", "Patient.contained[0]"),
        ('<text><status value="generated"/><div><p>x</p></div></text>', "fhir.xml.namespace", "Patient.text"),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(inside: str, code: str, path: str) -> None:
    assert (code, path) in told(patient(inside))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (patient("<name>")[:-20], "fhir.xml.syntax"),
        (b"<Patient/>", "fhir.xml.namespace"),
        (b'<ClinicalDocument xmlns="urn:hl7-org:v3"/>', "fhir.xml.namespace"),
        (b'<!DOCTYPE Patient [<!ENTITY a "b">]>' + patient('<gender value="male"/>'), "fhir.xml.doctype"),
        (b'<!DOCTYPE Patient SYSTEM "file:///etc/passwd">' + patient(""), "fhir.xml.doctype"),
        (b'<?xml version="1.0"?> <!-- x -->\n<!DOCTYPE Patient [<!ENTITY a "b">]>' + patient("<name><text value='&a;'/></name>"), "fhir.xml.doctype"),
        (patient("<name><text value='&nbsp;'/></name>"), "fhir.xml.syntax"),
        (b'<?xml version="1.0" encoding="no-such"?>' + patient(""), "fhir.xml.syntax"),
        (b"<\x00\xff", "fhir.xml.syntax"),
        (f"<Nothing {NAMESPACE}/>".encode(), "fhir.structure.resource-type"),
        (patient("<contact>" * 2_000), "fhir.xml.syntax"),
        (patient("<contact>" * 200 + "</contact>" * 200), "fhir.structure.depth"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_cannot_be_read_is_one_clear_finding(data: bytes, code: str) -> None:
    report = validate(data)
    assert [finding.code for finding in report.findings if finding.severity == "critical"] == [code]
    assert DEPTH_MAX < 200


def test_a_bomb_of_entities_is_refused_at_once() -> None:
    entities = "".join(f'<!ENTITY e{number} "{f"&e{number - 1};" * 10 if number else "ha" * 100}">' for number in range(12))
    begun = time.process_time()
    assert codes(f"<!DOCTYPE Patient [{entities}]>".encode() + patient("<name><text value='&e11;'/></name>")) <= {"fhir.xml.doctype", "fhir.xml.syntax"}
    assert time.process_time() - begun < 2


def test_nothing_of_the_payload_is_shown() -> None:
    canary = "Wierzba-Kanarek"
    data = patient(f'<{canary}/><gender value="{canary}" {canary}="x"/>{canary}<name xmlns="urn:{canary}"/>')
    report = validate(data)
    assert canary not in repr(report.findings) + repr(report.not_checked)
    assert report.findings


@pytest.mark.parametrize("data", [b"<?a b?>" + patient(""), patient("") + b"<?a b?>", patient("<name>a<?a b?>c<text value='x'/></name>")])
def test_a_processing_instruction_is_told_wherever_it_stands(data: bytes) -> None:
    assert "fhir.xml.instruction" in codes(data)


def test_what_stands_around_a_processing_instruction_is_read() -> None:
    inside = '<name><?a b?><text value="x"/></name><text><status value="generated"/><div xmlns="http://www.w3.org/1999/xhtml">a<b>b</b><?a b?>c</div></text>'
    read = xml_as_json(patient(inside))
    assert read is not None
    assert read["name"] == [{"text": "x"}]
    assert read["text"]["div"].endswith("a<b>b</b>c</div>")


@pytest.mark.parametrize("kind", ["value", "beside", "code", "date", "reference", "contained", "narrative", "extensions", "concept", "unit"])
def test_both_forms_of_a_changed_resource_get_the_same_verdict(kind: str) -> None:
    pool = [(str(number), one) for number, one in enumerate(documents()) if one["resourceType"] != "Bundle"]
    pool += [(f"{number}", entry["resource"]) for number, one in enumerate(documents()) for entry in one.get("entry", [])]
    compared = 0
    for number in range(15):
        dice = random.Random(number)
        resource = json.loads(json.dumps(dice.choice(pool)[1]))
        if KINDS[kind](dice, resource) is None:
            continue
        try:
            text = written(resource).replace(f"<{resource['resourceType']}>", f"<{resource['resourceType']} {NAMESPACE}>", 1).encode()
            same = xml_as_json(text) == resource
        except (TypeError, ValueError, KeyError, AttributeError):
            continue  # what JSON alone can hold
        if same:
            compared += 1
            assert is_valid(validate(text)) == is_valid(validate(json.dumps(resource).encode()))
    assert compared


ATTRIBUTES = st.dictionaries(
    st.sampled_from(["value", "id", "url", "x"]), st.sampled_from(["", "a", "1", "true", "2020", "#a", "http://a.example/b"]), max_size=2
)
NODES = st.recursive(
    st.sampled_from(["", "a", "<!-- x -->", "<?x y?>", "<![CDATA[x]]>", "&amp;", " "]),
    lambda inner: st.tuples(
        st.sampled_from(["name", "text", "contained", "Patient", "extension", "valueString", "div", "status", "id", "Bundle", "entry", "resource", "x"]),
        ATTRIBUTES,
        st.sampled_from(["", ' xmlns="http://www.w3.org/1999/xhtml"', ' xmlns="urn:x"', ' xmlns="http://hl7.org/fhir"']),
        st.lists(inner, max_size=4),
    ).map(lambda one: f"<{one[0]}{one[2]}{''.join(f' {key}={quoteattr(value)}' for key, value in one[1].items())}>{''.join(one[3])}</{one[0]}>"),
    max_leaves=12,
)


@given(st.lists(NODES, max_size=4))
def test_any_tree_is_read_or_refused_and_no_rule_fails(nodes: list[str]) -> None:
    report = validate(patient("".join(nodes)))
    assert not [finding for finding in report.findings if finding.code.startswith("internal.")]
    assert report.findings or report.not_checked


@given(st.binary(max_size=300))
def test_any_bytes_are_a_finding_and_no_crash(data: bytes) -> None:
    report: Report = validate(b"<" + data)
    assert report.findings or report.not_checked


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_xml_in_utf_16_is_read_and_its_findings_have_their_places(codec: str) -> None:
    name = "UTF-8" if codec == "utf-8" else "UTF-16"
    text = f'<?xml version="1.0" encoding="{name}"?>\n<Patient xmlns="http://hl7.org/fhir">\n  <gender value="woman"/>\n</Patient>'
    told = validate_document(text.encode(codec)).report.findings
    assert ("fhir.bindings.required", "Patient.gender", 3, 3) in [(one.code, one.path, one.line, one.column) for one in told]
    assert not any(one.severity == "critical" for one in told)


def test_xml_in_utf_16_that_is_cut_off_inside_a_character_is_a_finding() -> None:
    data = '<Patient xmlns="http://hl7.org/fhir"/>'.encode("utf-16-be")[:-1]
    assert [one.code for one in validate_document(data).report.findings if one.severity == "critical"]
