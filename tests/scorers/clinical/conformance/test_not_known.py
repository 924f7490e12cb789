"""What HL7's validator found, apart from what it could not look up. Texts are the validator's, with other codes."""

from typing import Any

import pytest

from tests.scorers.clinical.conformance.fake_services import CANARY, FINE, FakeService, Reply, issue, outcome, report, result
from tests.scorers.clinical.conformance.test_results import card, scorer, trace
from touchstone.scorers.clinical.conformance.evaluation import conformance_of
from touchstone.scorers.clinical.conformance.not_known import separated
from touchstone.scorers.operation_outcome import read_operation_outcome

R4 = "http://hl7.org/fhir/ValueSet"
RACES = "urn:oid:2.16.840.1.113883.6.238"
NO_RACES = f"A definition for CodeSystem '{RACES}' could not be found, so the code cannot be validated"
OUTSIDE = "was not found in the value set 'Set' ({}|4.0.1), and a code is required from this value set"
INFER = "The System URI could not be determined for the code '{}' in the ValueSet '{}|4.0.1'"


def not_in(value_set: str, coding: str, reason: str = "") -> str:
    return f"The Coding provided ({coding}) {OUTSIDE.format(value_set)}. " + (f" (error message = {reason})" if reason else "")


def bare(value_set: str, code: str, reason: str) -> str:
    return f"The value provided ('{code}') {OUTSIDE.format(value_set)}  (error message = {reason})"


def without_id(severity: str, text: str) -> dict[str, Any]:
    return {"severity": severity, "code": "code-invalid", "details": {"text": text}, "expression": ["Patient.gender"]}


COULD_NOT_KNOW = {
    "a code system that it does not have": issue("error", "UNKNOWN_CODESYSTEM", text=NO_RACES),
    "a code of such a system, in a value set": issue("error", "Terminology_TX_NoValid_12", text=not_in("http://x/omb", f"{RACES}#2106-3", NO_RACES)),
    "a MIME type, whose system no package lists": issue("error", "UNABLE_TO_INFER_CODESYSTEM", text=INFER.format("text/xml", f"{R4}/mimetypes")),
    "the same as a member of the value set": issue(
        "error", "Terminology_TX_NoValid_16", text=bare(f"{R4}/mimetypes", "text/xml", INFER.format("text/xml", f"{R4}/mimetypes"))
    ),
    "no id, and the text of an unknown system": without_id("error", NO_RACES),
    "a canonical that it misread": issue(
        "error",
        "TYPE_SPECIFIC_CHECKS_DT_CANONICAL_TYPE",
        text="Canonical URL 'http://x/q' refers to a resource that has the wrong type. Found Questionnaire expecting one of []",
    ),
    "an extension of HL7's that its package does not have": issue(
        "error",
        "Type_Specific_Checks_DT_URL_Resolve",
        text="No definition could be found for URL value 'http://hl7.org/fhir/StructureDefinition/targetElement'",
    ),
    "its own crash without a terminology server": issue(
        "error",
        "Terminology_TX_Error_CodeableConcept",
        text='Error Cannot invoke "org.hl7.fhir.r5.terminologies.client.Context.getAddress()" because "tc" is null validating CodeableConcept',
    ),
    "a profile that it does not have": issue("error", "VALIDATION_VAL_PROFILE_UNKNOWN_NOT_POLICY", text=f"Profile reference '{CANARY}' …"),
    "a value set that it does not have": issue("warning", "Terminology_TX_ValueSet_NotFound", text="ValueSet 'http://x' not found"),
}
FOUND = {
    "a code that its value set does not have": issue("error", "UNABLE_TO_INFER_CODESYSTEM", text=INFER.format("woman", f"{R4}/administrative-gender")),
    "the same as a member of the value set": issue(
        "error", "Terminology_TX_NoValid_16", text=bare(f"{R4}/administrative-gender", "woman", INFER.format("woman", f"{R4}/administrative-gender"))
    ),
    "a coding of a system that it has": issue("error", "Terminology_TX_NoValid_12", text=not_in("http://x/set", "http://x/system#a")),
    "a code that its system does not have": issue("error", "Unknown_Code_in_Version", text="Unknown code 'a' in the CodeSystem 'http://x' version '1'"),
    "an id that is not known here": issue("error", "SOMETHING_NEW", text=NO_RACES),
    "no id, and a text that only begins so": without_id("error", f"{NO_RACES}, and the date is wrong"),
    "a canonical of a wrong type": issue(
        "error",
        "TYPE_SPECIFIC_CHECKS_DT_CANONICAL_TYPE",
        text="Canonical URL 'http://x/q' refers to a resource that has the wrong type. Found Patient expecting one of [Questionnaire]",
    ),
    "an extension that HL7 never published": issue(
        "error",
        "Type_Specific_Checks_DT_URL_Resolve",
        text="No definition could be found for URL value 'http://hl7.org/fhir/StructureDefinition/targetElemend'",
    ),
    "a text of the document that words it like the validator": issue("error", "BUNDLE_ENTRY_URL_ABSOLUTE", text=f"(not '{NO_RACES}')"),
}


@pytest.mark.parametrize("one", COULD_NOT_KNOW.values(), ids=COULD_NOT_KNOW.keys())
async def test_what_the_validator_could_not_look_up_is_not_checked_and_passes(one: dict[str, Any]) -> None:
    found = await card(outcome(one), report())
    assert (found.label, found.values["fhir_conformant"], found.findings) == ("Pass", 100.0, ())
    [skipped] = found.not_checked
    assert skipped.check.startswith("outputs.fhir: ")
    assert skipped.reason == "1 issue of the validator"
    assert found.details["documents"][0]["not_known"] == 1
    assert CANARY not in found.model_dump_json()


@pytest.mark.parametrize("one", FOUND.values(), ids=FOUND.keys())
async def test_what_it_found_fails(one: dict[str, Any]) -> None:
    found = await card(outcome(one), report())
    assert (found.label, found.not_checked) == ("Fail", ())


async def test_a_fault_beside_what_is_not_known_fails() -> None:
    found = await card(outcome(*COULD_NOT_KNOW.values(), FOUND["a code that its system does not have"]), report())
    assert (found.label, [one.code for one in found.findings]) == ("Fail", ["conformance.fhir.Unknown_Code_in_Version"])


async def test_membership_is_open_where_another_issue_says_that_the_coding_s_system_is_unknown() -> None:
    unit = issue("error", "Terminology_TX_NoValid_12", text=not_in("http://x/units", "http://unitsofmeasure.org#mm[Hg]"))
    system = issue("warning", "Error_validating_code_running_without_terminology_services")
    system["details"]["text"] = (
        "Unable to validate code 'mm[Hg]' in system 'http://unitsofmeasure.org' because the validator is running without terminology services"
    )
    assert (await card(outcome(unit), report())).label == "Fail"
    found = await card(outcome(unit, system), report())
    assert (found.label, [one.check for one in found.not_checked]) == ("Pass", ["outputs.fhir: codes of a code system that the validator does not have (UCUM)"])


async def test_a_system_that_a_document_made_up_is_not_named() -> None:
    made_up = issue("error", "UNKNOWN_CODESYSTEM", text=NO_RACES.replace(RACES, f"http://{CANARY}.example"))
    found = await card(outcome(made_up), report())
    assert [one.check for one in found.not_checked] == ["outputs.fhir: codes of a code system that the validator does not have"]


async def test_a_value_set_that_onc_s_validator_has_not_loaded_is_not_checked() -> None:
    text = f"Value set code validation attempt for value set(s) ('2.16.840.1.113883.1.11.1) that do not exist in service for code system {CANARY} (1.2)"
    found = await card(FINE, report(result("ONC 2015 S&CC Vocabulary Validation Conformance Error", text)))
    assert (found.label, found.findings) == ("Pass", ())
    assert [one.check for one in found.not_checked] == ["outputs.ccda: codes of a value set that the validator cannot expand"]


async def test_a_c_cda_document_without_a_service_is_named_as_not_checked() -> None:
    async with FakeService([FINE]) as fake:
        found = await scorer(fake).score(trace())
    assert [(one.check, one.reason) for one in found.not_checked] == [("outputs.ccda", "no ONC C-CDA validator is configured (CONFORMANCE_CCDA_URL)")]


def test_an_evaluation_run_tells_what_was_not_known() -> None:
    reply: Reply = outcome(*COULD_NOT_KNOW.values())
    said = conformance_of("fhir", separated(read_operation_outcome(reply.body)))
    assert (said.valid, said.errors, said.warnings) == (True, 0, 0)
    assert said.not_checked
    assert conformance_of("fhir", read_operation_outcome(reply.body)) == said
