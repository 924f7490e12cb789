from __future__ import annotations

from typing import Any

import pytest

from tests.scorers.clinical.fhir.resources import codes, found, observation, patient, report
from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.checks.languages import language_problem
from touchstone.scorers.clinical.formats.fhir import Options, is_valid, parsing, validate
from touchstone.scorers.clinical.formats.fhir.duplicate_findings import drop_duplicates
from touchstone.scorers.clinical.report import Report

HL7 = "http://terminology.hl7.org/CodeSystem/"
US_CORE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-"
RACES = "urn:oid:2.16.840.1.113883.6.238"
TEXT = {"url": "content", "valueString": "a"}
WITH_SHARED = Options(marks=False, installed_packages=False)


def condition(code: str) -> dict[str, Any]:
    status = {"coding": [{"system": HL7 + "condition-clinical", "code": code}]}
    return {"resourceType": "Condition", "subject": {"reference": "Patient/p"}, "clinicalStatus": status}


def told(resource: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.severity, one.code) for one in report(resource, WITH_SHARED).findings if one.severity != "info"]


@pytest.mark.parametrize("code", ["current", "Active"])
def test_a_wrong_clinical_status_is_one_finding(code: str) -> None:
    assert told(condition(code)) == [("minor", "fhir.bindings.status")]


def test_a_wrong_status_is_one_finding_also_of_a_vital_sign() -> None:
    vital = observation(code={"coding": [{"system": "http://loinc.org", "code": "8867-4"}]}, status="done")
    vital["category"] = [{"coding": [{"system": HL7 + "observation-category", "code": "vital-signs"}]}]
    vital["valueQuantity"] = {"value": 70, "unit": "/min", "system": "http://unitsofmeasure.org", "code": "/min"}
    assert told(vital) == [("major", "fhir.bindings.required")]
    del vital["status"]
    assert told(vital) == [("major", "fhir.structure.missing")]


@pytest.mark.parametrize(("number", "code"), [("123", "fhir.invariants.us-core-16"), ("1234567890", "fhir.invariants.us-core-17")])
def test_a_wrong_npi_is_one_finding(number: str, code: str) -> None:
    practitioner = {
        "resourceType": "Practitioner",
        "meta": {"profile": [US_CORE + "practitioner"]},
        "identifier": [{"system": "http://hl7.org/fhir/sid/us-npi", "value": number}],
        "name": [{"family": "x"}],
    }
    assert told(practitioner) == [("major", code)]


def test_a_wrong_npi_that_no_profile_forbids_is_told_by_the_shared_check() -> None:
    practitioner = {"resourceType": "Practitioner", "identifier": [{"system": "http://hl7.org/fhir/sid/us-npi", "value": "123"}]}
    assert told(practitioner) == [("major", "identifiers.npi-form")]


def finding(severity: Any, code: str, path: str) -> Finding:
    return Finding(severity=severity, code=code, path=path, message="m")


@pytest.mark.parametrize("turned", [False, True])
def test_the_gravest_of_several_findings_of_a_fault_stays_and_other_faults_do_too(turned: bool) -> None:
    binding, coding = finding("minor", "valuesets.code", "A.b"), finding("major", "fhir.codings.unknown", "A.b.coding[0].code")
    others = [finding("minor", "fhir.codings.unknown", "A.c.coding[0].code"), finding("minor", "fhir.codings.unknown", "A.bb.coding[0].code")]
    made = Report()
    made.add(*([coding, binding] if turned else [binding, coding]), *others)
    drop_duplicates(made, 0)
    assert made.findings == [coding, *others]


def test_findings_of_an_earlier_document_are_left_alone() -> None:
    made = Report()
    made.add(finding("minor", "valuesets.code", "A.b"))
    made.add(finding("major", "fhir.codings.unknown", "A.b"))
    drop_duplicates(made, 1)
    assert len(made.findings) == 2


def test_places_whose_names_cannot_be_shown_are_not_taken_for_one() -> None:
    made = Report()
    made.add(finding("minor", "valuesets.code", "A.?"), finding("major", "fhir.codings.unknown", "A.?"))
    drop_duplicates(made, 0)
    assert len(made.findings) == 2


@pytest.mark.parametrize("control", ["\x00", "\x07", "\x1f"])
def test_a_control_character_in_a_string_is_minor_since_r4_says_should_not(control: str) -> None:
    made = patient(name=[{"family": f"a{control}b"}])
    assert found(made, "fhir.primitives.control").severity == "minor"
    assert is_valid(report(made))


@pytest.mark.parametrize(
    "tag",
    ["en", "EN", "en-US", "de-CH-1996", "zh-Hant-TW", "es-419", "haw", "sgn-BE-FR", "x-private", "i-klingon",
     "de-DE-u-co-phonebk", "sr-Latn-RS", "zh-yue-HK", "en-GB-oed"],
)  # fmt: skip
def test_a_language_tag_of_bcp_47_is_good(tag: str) -> None:
    assert language_problem(tag) is None


@pytest.mark.parametrize(
    "tag", ["english", "German", "en_US", "en-", "-en", "e", "en--US", "xx", "qz-DE", "en-USAAAAAAAA", "fr fr", "deutsch-DE", "latn", "a" * 70]
)
def test_what_is_no_language_tag_is_told(tag: str) -> None:
    problem = language_problem(tag)
    assert problem is not None
    assert problem[0] == "major"


def test_languages_are_checked_in_codes_codings_and_extensions() -> None:
    assert found(patient(language="english"), "fhir.bindings.language").path == "Patient.language"
    spoken = {"language": {"coding": [{"system": "urn:ietf:bcp:47", "code": "en_US"}]}}
    assert found(patient(communication=[spoken]), "fhir.bindings.language").path == "Patient.communication[0].language.coding[0].code"
    translated = {
        "url": "http://hl7.org/fhir/StructureDefinition/translation",
        "extension": [{"url": "lang", "valueCode": "xx"}, {"url": "content", "valueString": "a"}],
    }
    assert "fhir.bindings.language" in codes(patient(name=[{"family": "a", "_family": {"extension": [translated]}}]))
    assert codes(patient(language="en-US", communication=[{"language": {"text": "English"}}])) == set()


def sex(code: str) -> dict[str, Any]:
    return {"url": US_CORE + "birthsex", "valueCode": code}


def race(code: str, system: str = RACES, part: str = "ombCategory", name: str = "race") -> dict[str, Any]:
    return {"url": US_CORE + name, "extension": [{"url": part, "valueCoding": {"system": system, "code": code}}, {"url": "text", "valueString": "x"}]}


@pytest.mark.parametrize(
    "extension",
    [sex("F"), sex("UNK"), race("2106-3"), race("UNK", HL7 + "v3-NullFlavor"), race("1010-8", part="detailed"), race("2135-2", name="ethnicity")],
)
def test_codes_that_us_core_has_for_race_ethnicity_and_birth_sex_are_good(extension: dict[str, Any]) -> None:
    assert codes(patient(extension=[extension])) == set()


@pytest.mark.parametrize(
    "extension",
    [sex("X"), sex("female"), race("2106-4"), race("white"), race("2106-3", "http://other.test/codes"), race("MSK", HL7 + "v3-NullFlavor"),
     race("9", part="detailed"), race("2135-3", name="ethnicity")],
)  # fmt: skip
def test_codes_that_us_core_cannot_have_for_race_ethnicity_and_birth_sex_are_faults(extension: dict[str, Any]) -> None:
    assert codes(patient(extension=[extension])) == {"fhir.bindings.us-core"}


def test_a_category_that_a_later_version_may_list_is_minor() -> None:
    assert told(patient(extension=[race("2118-8")])) == [("minor", "valuesets.code")]


def test_too_many_lines_are_told_with_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "LINES_MAX", 10)
    (told_of,) = validate(b'{"resourceType":"Basic"}\n' * 12, options=WITH_SHARED).findings
    assert (told_of.severity, told_of.code, told_of.message) == ("critical", "fhir.json.size", "more than 10 lines: not read")


def test_totals_count_a_fault_once_beyond_what_is_kept_of_a_code_too() -> None:
    npi = {"system": "http://hl7.org/fhir/sid/us-npi", "value": "1234567890"}
    entries = [
        {
            "fullUrl": f"urn:uuid:00000000-0000-4000-8000-{number:012d}",
            "resource": {
                "resourceType": "Practitioner",
                "meta": {"profile": ["http://hl7.org/fhir/us/core/StructureDefinition/us-core-practitioner"]},
                "identifier": [npi],
                "name": [{"family": "x"}],
            },
        }
        for number in range(100)
    ]
    made = report({"resourceType": "Bundle", "type": "collection", "entry": entries}, WITH_SHARED)
    assert made.counts() == {("fhir.invariants.us-core-17", "major"): 100}
    assert made.total == 100


def test_an_element_that_a_slice_asks_for_is_missing_once_and_every_slice_is_told() -> None:
    resource = observation(code={"coding": [{"system": "http://loinc.org", "code": "85354-9"}]})
    paths = [
        (one.path, one.message.partition(";")[0])
        for one in report(resource, WITH_SHARED).findings
        if one.code.startswith("fhir.profiles.") and one.severity == "major"
    ]
    assert [message for path, message in paths if path.endswith(".category")] == [
        f"profile bp|4.0.1 asks for at least 1 category of the slice VSCat ({HL7}observation-category#vital-signs)"
    ]
    assert [message for path, message in paths if path.endswith(".component")] == [
        "profile bp|4.0.1 asks for at least 1 component of the slice SystolicBP (http://loinc.org#8480-6)",
        "profile bp|4.0.1 asks for at least 1 component of the slice DiastolicBP (http://loinc.org#8462-4)",
    ]


def test_a_choice_that_a_profile_asks_for_is_named_with_its_types() -> None:
    resource = observation(code={"coding": [{"system": "http://loinc.org", "code": "8867-4"}]})
    resource = {name: value for name, value in resource.items() if not name.startswith("effective")}
    (told,) = [one for one in report(resource, WITH_SHARED).findings if one.path.endswith(".effective")]
    assert "effective[x]" in told.message
    assert told.suggestion == "Add effective[x] (dateTime, Period)"


def test_what_two_profiles_ask_for_is_told_once_however_often() -> None:
    code = {"coding": [{"system": "http://loinc.org", "code": "8867-4"}]}
    resource = observation(code=code, meta={"profile": ["http://hl7.org/fhir/StructureDefinition/vitalsigns"]})
    entries = [{"fullUrl": f"urn:uuid:00000000-0000-4000-8000-{number:012d}", "resource": resource} for number in range(50)]
    made = report({"resourceType": "Bundle", "type": "collection", "entry": entries}, WITH_SHARED)
    assert made.counts()["fhir.profiles.slice-missing", "major"] == 50


def test_a_constraint_of_r4s_own_profiles_is_told_in_its_own_words() -> None:
    resource = observation(code={"coding": [{"system": "http://loinc.org", "code": "8867-4"}]})
    resource = {name: value for name, value in resource.items() if not name.startswith("value")}
    resource["meta"] = {"profile": ["http://hl7.org/fhir/StructureDefinition/vitalsigns"]}
    (told,) = [one for one in report(resource, WITH_SHARED).findings if one.code == "fhir.invariants.vs-2"]
    assert told.message.startswith("profile vitalsigns|4.0.1: If ")
    assert "there is no component or hasMember element then either a value[x] or a data absent reason must be present" in told.message
