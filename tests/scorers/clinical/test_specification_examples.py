"""The specification's example outputs (Priorities 2, 3, 5, 6, 8, 9), line by line, from whole documents given to the validators.

Severity and path are those of the specification, save for these deviations, each with its correction:

- Priority 2, `OBX[1]-3: CWE.3 …`: the message names the version's own data type, CE up to 2.5.1 and CWE from 2.6 on.
- Priority 3, `Invalid code 'X'`: messages hold nothing of the payload; the code is named where quoting is asked for.
- Priority 6, `[minor] Patient.effectiveDateTime`: R4 has no such element (told as such); the rule is shown on an Observation, and it is
  major, since R4 says SHALL (corrections, Clinical 2).
- Priority 8, `[major] … 'mg/dl'`: UCUM accepts it; minor, with the suggestion (corrections, Clinical 1).
- Priority 8, `referenceRange`: the path leads on to the quantity and the end of the range, `Observation[0].referenceRange[0].low.code`.
- Priority 9: messages name the value only where quoting is asked for; parameters are written as sentences are ("Heart rate").
- `… value 350` and `Systolic (110)` stand in HL7 v2 as well, at `OBX[1]-5`.
- Scores beside the blocks (67, 85, 85, 85, 85, 77) do not follow from the specification's own penalties (corrections, Clinical 7).
"""

import json
from typing import Any

import pytest

from tests.scorers.clinical.hl7v2.messages import NOW, OBX, PID, header, result
from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.formats import fhir, hl7v2
from touchstone.scorers.clinical.report import Context

UCUM = "http://unitsofmeasure.org"
LOINC = "http://loinc.org"
STATUS = "http://terminology.hl7.org/CodeSystem/condition-clinical"
HEART_RATE = "OBX|1|NM|8867-4^Heart rate^LN||350|/min^per minute^UCUM|||||F|||20260211083000-0600"
GLUCOSE = "OBX|1|NM|2345-7^Glucose^LN||650|mg/dL^mg/dL^UCUM|70-110|HH|||F|||20260211083000-0600"
PRESSURES = (
    "OBX|1|NM|8480-6^Systolic^LN||110|mm[Hg]^mm[Hg]^UCUM|||||F|||20260211083000-0600",
    "OBX|2|NM|8462-4^Diastolic^LN||120|mm[Hg]^mm[Hg]^UCUM|||||F|||20260211083000-0600",
)
WITHOUT_SYSTEM = OBX.replace("^LN||", "||")
UNKNOWN_TYPE = OBX.replace("|N|||F", "|AB|||F")
IN_MMHG = OBX.replace("g/dL^gram per deciliter^UCUM", "mmHg")


def quantity(value: float, unit: str) -> dict[str, Any]:
    return {"value": value, "unit": unit, "system": UCUM, "code": unit}


def coded(loinc: str) -> dict[str, Any]:
    return {"coding": [{"system": LOINC, "code": loinc}]}


def observation(loinc: str, **more: Any) -> dict[str, Any]:
    return {"resourceType": "Observation", "status": "final", "code": coded(loinc), "subject": {"reference": "Patient/p"}, **more}


def patient(**more: Any) -> dict[str, Any]:
    return {"resourceType": "Patient", "id": "p", **more}


def bundle(*resources: dict[str, Any]) -> dict[str, Any]:
    entries = [{"fullUrl": f"urn:uuid:0b5f1d7e-3f6a-4c65-9d0e-{number:012d}", "resource": resource} for number, resource in enumerate(resources)]
    return {"resourceType": "Bundle", "type": "collection", "entry": entries}


CONDITION = {"resourceType": "Condition", "subject": {"reference": "Patient/p"}, "clinicalStatus": {"coding": [{"system": STATUS, "code": "current"}]}}
PANEL = observation(
    "85354-9",
    component=[
        {"code": coded("8480-6"), "valueQuantity": quantity(110, "mm[Hg]")},
        {"code": coded("8462-4"), "valueQuantity": quantity(120, "mm[Hg]")},
    ],
)
VITALS = bundle(patient(), observation("8867-4", valueQuantity=quantity(350, "/min")), observation("2345-7", valueQuantity=quantity(650, "mg/dL")), PANEL)
LOWER_CASE = bundle(patient(), observation("2345-7", valueQuantity={"value": 90, "unit": "mg/dl"}))
RARE_UNIT = bundle(patient(), {**observation("2345-7"), "code": {"text": "Depth"}, "referenceRange": [{"low": quantity(1, "[fth_us]")}]})

MESSAGES: list[tuple[bytes, str, str, str, str]] = [
    # Priority 2
    (
        result(pid=PID.replace("GOODHOPE&2.16.840.1.113883.3.1234&ISO", "")),
        *("major", "data_types.cx-authority", "PID-3", "CX.4 (Assigning Authority) is required for patient matching"),
    ),
    (
        result(WITHOUT_SYSTEM),
        *("major", "data_types.coding-system-missing", "OBX[1]-3", "CE.3 (Coding System) required when CE.1 (Identifier) is present"),
    ),
    (
        result(WITHOUT_SYSTEM, version="2.8"),
        *("major", "data_types.coding-system-missing", "OBX[1]-3", "CWE.3 (Coding System) required when CWE.1 (Identifier) is present"),
    ),
    (result(pid=PID.replace("Winter^Ada", "Winter^")), "minor", "data_types.xpn-given", "PID-5", "XPN.2 (Given Name) is missing"),
    (result(pid=PID.replace("^USA^H", "^USA")), "info", "data_types.xad-type", "PID-11", "XAD.7 (Address Type) not specified"),
    # Priority 3
    (result(UNKNOWN_TYPE), "major", "valuesets.code", "OBX[1]-8", "Invalid code"),
    # Priority 5
    (
        result(pid=PID.replace("2.16.840", "3.16.840")),
        *("major", "identifiers.oid", "PID-3", "Assigning authority OID invalid - OID first arc must be 0, 1, or 2"),
    ),
    (
        result(pid=PID.replace("2.16.840.1.113883.3.1234", "1.4.9")),
        *("info", "identifiers.oid-root", "PID-3", "Assigning authority uses non-standard OID root"),
    ),
    # Priority 6: MSH-7 as specified, and only the offset (its own code)
    (
        result(head=header(sent="20260211101500")),
        *("major", "datetimes.zone-missing", "MSH-7", "Timezone offset required (use +/-ZZZZ format, e.g., -0500)"),
    ),
    (
        result(OBX.replace("20260211083000-0600", "20260211083000")),
        *("minor", "datetimes.zone-missing", "OBX[1]-14", "Timezone recommended for clinical timestamps"),
    ),
    # Priority 8
    (result(IN_MMHG), "major", "units.invalid", "OBX[1]-6", "Invalid UCUM unit"),
    (result(OBX.replace("g/dL^gram per deciliter", "g/dl^gram per deciliter")), "minor", "units.style", "OBX[1]-6", "Unit is valid UCUM"),
    # Priority 9
    (
        result(HEART_RATE),
        *("critical", "plausibility.impossible", "OBX[1]-5", "Heart rate value is outside physiologically possible range (20-300 /min)"),
    ),
    (result(GLUCOSE), "major", "plausibility.critical", "OBX[1]-5", "Blood glucose value is critically high (> 600 mg/dL)"),
    (result(*PRESSURES), "major", "plausibility.blood-pressure", "OBX[1]-5", "Systolic must be greater than diastolic blood pressure"),
    (result(OBX.replace("12.0-16.0", "16.0-12.0")), "major", "plausibility.reference-range", "OBX[1]-7", "Reference range low is above its high"),
]
RESOURCES: list[tuple[dict[str, Any], str, str, str, str]] = [
    # Priority 3
    (patient(gender="X"), "major", "fhir.bindings.required", "Patient.gender", "not one of the codes of the required value set: female, male, other, unknown"),
    (
        bundle(patient(), CONDITION),
        *("minor", "fhir.bindings.status", "Condition[0].clinicalStatus", "active, inactive, recurrence, relapse, remission, resolved"),
    ),
    # Priority 5
    (
        patient(identifier=[{"system": "hospital-mrn", "value": "1"}]),
        *("minor", "fhir.identifiers.system", "Patient.identifier[0].system", "URI must contain a scheme (e.g., http:, urn:, oid:)"),
    ),
    # Priority 6
    (observation("2345-7", effectiveDateTime="2026-01-02T10:00:00"), "major", "fhir.primitives.timezone", "Observation.effectiveDateTime", "timezone"),
    (patient(effectiveDateTime="2026-01-02T10:00:00"), "major", "fhir.structure.unknown-element", "Patient.effectiveDateTime", "no element effectiveDateTime"),
    # Priority 8
    (LOWER_CASE, "minor", "units.style", "Observation[0].valueQuantity.unit", "Unit is valid UCUM; an upper-case L for litre is preferred"),
    (RARE_UNIT, "minor", "units.uncommon", "Observation[0].referenceRange[0].low.code", "Unit not in common list, may need verification"),
    # Priority 9
    (
        VITALS,
        *("critical", "plausibility.impossible", "Observation[0].valueQuantity", "Heart rate value is outside physiologically possible range (20-300 /min)"),
    ),
    (VITALS, "major", "plausibility.critical", "Observation[1].valueQuantity", "Blood glucose value is critically high (> 600 mg/dL)"),
    (VITALS, "major", "plausibility.blood-pressure", "Observation[2].component", "Systolic must be greater than diastolic blood pressure"),
]


def of_message(data: bytes, *, quote: bool = False) -> list[Finding]:
    return hl7v2.validate(data, Context(now=lambda: NOW, quote=quote)).findings


def of_resource(resource: dict[str, Any], *, quote: bool = False) -> list[Finding]:
    return fhir.validate(json.dumps(resource).encode(), Context(now=lambda: NOW, quote=quote)).findings


def assert_told(found: list[Finding], severity: str, code: str, path: str, words: str) -> None:
    matching = [finding for finding in found if (finding.severity, finding.code, finding.path) == (severity, code, path)]

    assert len(matching) == 1, found
    assert words in matching[0].message


@pytest.mark.parametrize(("data", "severity", "code", "path", "words"), MESSAGES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_line_about_a_message_is_reproduced(data: bytes, severity: str, code: str, path: str, words: str) -> None:
    assert_told(of_message(data), severity, code, path, words)


@pytest.mark.parametrize(("resource", "severity", "code", "path", "words"), RESOURCES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_line_about_a_resource_is_reproduced(resource: dict[str, Any], severity: str, code: str, path: str, words: str) -> None:
    assert_told(of_resource(resource), severity, code, path, words)


def test_the_suggestions_are_those_of_the_examples() -> None:
    suggestions = {found.path: found.suggestion or "" for found in of_message(result(IN_MMHG))}
    codes = {found.path: found.suggestion or "" for found in of_message(result(UNKNOWN_TYPE))}
    lower = {found.path: found.suggestion or "" for found in of_resource(LOWER_CASE)}

    assert suggestions["OBX[1]-6"] == "Use 'mm[Hg]' instead of 'mmHg'"
    assert codes["OBX[1]-8"].startswith("Valid values: ")
    assert "HH" in codes["OBX[1]-8"]
    assert "mg/dL" in lower["Observation[0].valueQuantity.unit"]


@pytest.mark.parametrize(
    ("found", "path", "quoted"),
    [
        (of_message(result(IN_MMHG), quote=True), "OBX[1]-6", "Invalid UCUM unit: 'mmHg'"),
        (of_message(result(UNKNOWN_TYPE), quote=True), "OBX[1]-8", "'AB'"),
        (of_message(result(HEART_RATE), quote=True), "OBX[1]-5", "'350'"),
        (of_resource(patient(gender="X"), quote=True), "Patient.gender", "'X'"),
    ],
)
def test_values_are_named_where_quoting_is_asked_for(found: list[Finding], path: str, quoted: str) -> None:
    assert any(finding.path == path and quoted in finding.message for finding in found)


def test_a_missing_offset_is_not_a_malformed_time() -> None:
    codes = [found.code for found in of_message(result(head=header(sent="20260211101500"))) if found.path.startswith("MSH-7")]

    assert codes == ["datetimes.zone-missing"]
