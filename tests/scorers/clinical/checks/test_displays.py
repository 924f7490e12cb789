import json
import lzma
import os
from importlib import resources
from pathlib import Path

import pytest

from touchstone.ops.lab.build.tables.clinical.displays import compile_displays
from touchstone.scorers.clinical import validate_document
from touchstone.scorers.clinical.checks.displays import is_of_another_code
from touchstone.scorers.clinical.checks.routes import check_route
from touchstone.scorers.clinical.report import Context

LOINC = "http://loinc.org"


def _data() -> Path:
    root = os.environ.get("TOUCHSTONE_DATA")
    if not root:
        pytest.skip("TOUCHSTONE_DATA names no folder with the FHIR packages")
    return Path(root) / "clinical-dev"


@pytest.mark.parametrize(
    ("system", "code", "display"),
    [
        (LOINC, "8867-4", "Body temperature"),
        ("LN", "8480-6", "Diastolic blood pressure"),
        ("urn:iso:std:iso:3166", "BD", "Australia"),
        ("2.16.840.1.113883.5.1", "F", "male"),
        ("urn:oid:2.16.840.1.113883.6.238", "2106-3", "Asian"),
        ("CVX", "03", "Varicella virus vaccine"),
    ],
)
def test_a_display_of_another_code_is_seen_by_any_name_of_the_system(system: str, code: str, display: str) -> None:
    assert is_of_another_code(system, code, display)


@pytest.mark.parametrize(
    ("system", "code", "display"),
    [
        (LOINC, "8867-4", "HEART  rate."),
        (LOINC, "8867-4", "Herzfrequenz"),
        (LOINC, "8867-4", "Pulse"),
        (LOINC, "99999-9", "Body temperature"),
        ("http://snomed.info/sct", "73211009", "Oral route"),
        ("urn:iso:std:iso:3166", "BD", "People's Republic of Bangladesh"),
        ("http://hl7.org/fhir/sid/cvx", "20", "DTaP"),
        ("2.16.840.1.113883.5.1", "F", "Vrouw"),
        ("urn:example", "F", "male"),
    ],
)
def test_a_display_that_the_tables_do_not_have_or_that_is_a_form_of_the_codes_own_is_no_fault(system: str, code: str, display: str) -> None:
    assert not is_of_another_code(system, code, display)


@pytest.mark.parametrize("value", [None, 7, ["x"], {"a": 1}, "x" * 10_000, "\ud800", ""])
def test_what_is_no_display_is_no_fault(value: object) -> None:
    assert not is_of_another_code(LOINC, "8867-4", value)
    assert not is_of_another_code(LOINC, value, "Body temperature")
    assert not is_of_another_code(value, "8867-4", "Body temperature")


def test_the_table_is_the_one_its_script_compiles() -> None:
    packages = _data() / "packages"
    compiled = compile_displays(packages / "hl7.fhir.r4.core-4.0.1.tgz", packages / "us_core_311.tgz")
    shipped = resources.files("touchstone.scorers.clinical.tables").joinpath("displays.json.xz").read_bytes()
    assert json.loads(lzma.decompress(shipped)) == json.loads(lzma.decompress(compiled))


def test_no_display_of_published_documents_is_that_of_another_code() -> None:
    """The second source: what others wrote, who did not have these tables. One official case is there to be wrong."""
    seen = 0
    wrong = set()
    for path in sorted((_data() / "fhir").rglob("*.json")):
        try:
            waiting = [json.loads(path.read_bytes())]
        except ValueError:
            continue
        while waiting:
            one = waiting.pop()
            waiting.extend(one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
            if isinstance(one, dict) and isinstance(one.get("display"), str) and isinstance(one.get("code"), str):
                seen += 1
                if is_of_another_code(one.get("system"), one["code"], one["display"]):
                    wrong.add((path.name, one["code"]))
    assert seen > 5_000
    assert wrong == {("choice-async-qr.json", "BD")}


@pytest.mark.parametrize("system", [LOINC, "RXNORM", "http://hl7.org/fhir/sid/ndc", "2.16.840.1.113883.6.90"])
def test_a_code_system_without_routes_names_no_route(system: str) -> None:
    assert [(one.severity, one.code) for one in check_route(system, "x", Context())] == [("minor", "valuesets.route")]


@pytest.mark.parametrize(
    "system", ["http://snomed.info/sct", "SCT", "HL70162", "NCIT", "2.16.840.1.113883.3.26.1.1", "http://standardterms.edqm.eu", "99LOC", None]
)
def test_a_code_system_that_has_routes_or_is_not_known_is_never_wrong(system: object) -> None:
    assert check_route(system, "x", Context()) == []


def _prescribed(route: dict[str, object], **more: object) -> dict[str, object]:
    dosage = [{"route": {"coding": [route]}}]
    return {
        "resourceType": "MedicationRequest", "status": "active", "intent": "order", "subject": {"reference": "Patient/1"},
        "medicationCodeableConcept": {"text": "x"}, "dosageInstruction": dosage, **more,
    }  # fmt: skip


def _told(document: object) -> list[tuple[str, str, str]]:
    return [(one.severity, one.code, one.path) for one in validate_document(document).report.findings if one.severity != "info"]  # type: ignore[arg-type]


def test_a_route_in_fhir_is_judged_by_its_system_and_what_no_table_holds_is_not_checked() -> None:
    place = "MedicationRequest.dosageInstruction[0].route.coding[0]"
    assert _told(_prescribed({"system": LOINC, "code": "11506-3"})) == [("minor", "valuesets.route", f"{place}.system")]
    known = {"system": "http://terminology.hl7.org/CodeSystem/v3-RouteOfAdministration", "code": "PO", "display": "Swallow, oral"}
    assert _told(_prescribed(known)) == []
    snomed = validate_document(_prescribed({"system": "http://snomed.info/sct", "code": "26643006", "display": "Oral route"}))
    assert [one.code for one in snomed.report.findings if one.severity != "info"] == []
    assert "routes of administration" in {one.check for one in snomed.report.not_checked}


def test_a_display_in_another_language_is_not_checked_and_one_in_english_is() -> None:
    route = {"system": "http://terminology.hl7.org/CodeSystem/v3-RouteOfAdministration", "code": "PO", "display": "zum Einnehmen"}
    foreign = validate_document(_prescribed(route, language="de-AT"))
    assert [one.code for one in foreign.report.findings if one.severity != "info"] == []
    assert "displays in other languages than English" in {one.check for one in foreign.report.not_checked}
    assert [code for _, code, _ in _told(_prescribed(route, language="en-US"))] == ["fhir.codings.display"]


def test_the_language_is_that_of_the_innermost_resource() -> None:
    route = {"system": "http://terminology.hl7.org/CodeSystem/v3-RouteOfAdministration", "code": "PO", "display": "Oral"}
    entries = [{"fullUrl": "urn:uuid:5a0e1d3c-3ac5-4f2b-9a0d-0d1c6f3f0a11", "resource": _prescribed(route, language="en")}]
    assert [code for _, code, _ in _told({"resourceType": "Bundle", "type": "collection", "language": "fr", "entry": entries})] == ["fhir.codings.display"]


def test_a_code_system_in_the_bundle_says_the_displays_and_designations_of_its_codes() -> None:
    def bundle(display: str) -> dict[str, object]:
        concept = {"code": "a", "display": "Alpha", "designation": [{"language": "de", "value": "Anfang"}]}
        system = {"resourceType": "CodeSystem", "url": "https://acme.org/cs", "status": "active", "content": "complete", "concept": [concept]}
        observed = {"resourceType": "Observation", "status": "final", "code": {"coding": [{"system": "https://acme.org/cs", "code": "a", "display": display}]}}
        entries = [{"fullUrl": f"https://acme.org/{one['resourceType']}", "resource": one} for one in (system, observed)]
        return {"resourceType": "Bundle", "type": "collection", "entry": entries}

    assert [code for _, code, _ in _told(bundle("Beta"))] == ["fhir.codings.display"]
    assert _told(bundle("alpha")) == _told(bundle("Anfang")) == []


def test_punctuation_and_white_space_of_a_display_do_not_matter() -> None:
    marital = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v3-MaritalStatus", "code": "S", "display": "NEVER-married"}]}
    assert _told({"resourceType": "Patient", "maritalStatus": marital}) == []


def test_the_text_of_a_code_in_hl7v2_is_held_against_the_tables_once_a_document() -> None:
    message = (
        "MSH|^~\\&|A|B|C|D|20240101120000+0000||ORU^R01^ORU_R01|1|T|2.5.1\rPID|1||1^^^H&2.16.840.1.113883.19.5&ISO^MR||DOE^JANE^^^^^L||19800101|F\r"
        "OBR|1||2|24323-8^CMP^LN|||20240101\r"
        "OBX|1|NM|8867-4^Body temperature^LN|1|80|/min^^UCUM|||||F\rOBX|2|NM|8867-4^Body temperature^LN|2|80|/min^^UCUM|||||F\r"
    )
    assert _told(message) == [("minor", "terminology.display", "OBX[1]-3.2")]


def test_a_route_in_hl7v2_is_judged_by_the_coding_system_that_it_names() -> None:
    def told(route: str) -> list[tuple[str, str, str]]:
        message = (
            "MSH|^~\\&|A|B|C|D|20240101120000+0000||RAS^O17^RAS_O17|1|T|2.5.1\rPID|1||1^^^H&2.16.840.1.113883.19.5&ISO^MR||DOE^JANE^^^^^L||19800101|F\r"
            f"ORC|NW|1\rRXA|0|1|20240101||03^MMR^CVX|1\rRXR|{route}\r"
        )
        return [one for one in _told(message) if one[2].startswith("RXR")]

    assert told("03^MMR^CVX") == [("minor", "valuesets.route", "RXR[1]-1")]
    assert told("ZZ^?^HL70162") == [("minor", "valuesets.code", "RXR[1]-1")]
    assert told("26643006^Oral route^SCT") == told("C38288^Oral^NCIT") == told("PO^Oral^HL70162") == []
