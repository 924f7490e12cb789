"""Short ways to write FHIR resources, HL7 v2 segments and C-CDA entries of one invented patient."""

from __future__ import annotations

from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

SNOMED: Final = "http://snomed.info/sct"
LOINC: Final = "http://loinc.org"
RXNORM: Final = "http://www.nlm.nih.gov/research/umls/rxnorm"
ICD: Final = "http://hl7.org/fhir/sid/icd-10-cm"
_TERMS: Final = "http://terminology.hl7.org/CodeSystem"
#: URL of a code system → its OID.
OIDS: Final = {
    SNOMED: "2.16.840.1.113883.6.96", LOINC: "2.16.840.1.113883.6.1", RXNORM: "2.16.840.1.113883.6.88", ICD: "2.16.840.1.113883.6.90",
}  # fmt: skip


def concept(*codings: tuple[str, str, str], text: str = "") -> dict[str, Any]:
    """A CodeableConcept of (system, code, display)."""
    listed = [{key: value for key, value in zip(("system", "code", "display"), coding, strict=True) if value} for coding in codings]
    return ({"coding": listed} if listed else {}) | ({"text": text} if text else {})


def bundle(*resources: dict[str, Any], kind: str = "collection", by_urn: bool = False) -> dict[str, Any]:
    """A Bundle."""
    entries = [
        {"fullUrl": f"urn:uuid:00000000-0000-4000-8000-{number:012d}", "resource": one} if by_urn else {"resource": one} for number, one in enumerate(resources)
    ]
    return {"resourceType": "Bundle", "type": kind, "entry": entries}


def patient(**changed: Any) -> dict[str, Any]:
    """The patient as a FHIR resource; a member given as None is left out."""
    whole = {
        "resourceType": "Patient",
        "id": "henrik",
        "identifier": [{"system": "urn:oid:1.3.6.1.4.1.99.1", "value": "80221", "type": concept((f"{_TERMS}/v2-0203", "MR", ""))}],
        "name": [{"use": "official", "family": "Alvarez", "given": ["Henrik"]}],
        "gender": "male",
        "birthDate": "1974-03-12",
    } | changed
    return {key: value for key, value in whole.items() if value is not None}


def condition(system: str, code: str, display: str, **more: Any) -> dict[str, Any]:
    """An active, confirmed Condition."""
    return {
        "resourceType": "Condition",
        "clinicalStatus": concept((f"{_TERMS}/condition-clinical", "active", "")),
        "verificationStatus": concept((f"{_TERMS}/condition-ver-status", "confirmed", "")),
        "code": concept((system, code, display)),
        "subject": {"reference": "Patient/henrik"},
    } | more


def order(system: str, code: str, display: str, dose: tuple[float, str] | None = None, **more: Any) -> dict[str, Any]:
    """A MedicationRequest."""
    dosage = {} if dose is None else {"dosageInstruction": [{"doseAndRate": [{"doseQuantity": {"value": dose[0], "unit": dose[1]}}]}]}
    whole = {"resourceType": "MedicationRequest", "status": "active", "intent": "order", "medicationCodeableConcept": concept((system, code, display))}
    return whole | dosage | more


PID: Final = "PID|1||80221^^^GENHOSP&1.3.6.1.4.1.99.1&ISO^MR||ALVAREZ^HENRIK||19740312|M"


def message(event: str, *segments: str, version: str = "2.5.1", pid: str = PID) -> str:
    """An HL7 v2 message: its header, the patient, and the segments."""
    return "\r".join([f"MSH|^~\\&|SND|GENHOSP|RCV|REG|20250506090000||{event}|77|P|{version}", pid, *segments])


def person(given: str = "Henrik", family: str = "Alvarez", birth: str = "19740312", sex: str = "M", extra: str = "", outside: str = "") -> str:
    """The recordTarget of a C-CDA document."""
    return (
        f'<recordTarget><patientRole><id root="1.3.6.1.4.1.99.1" extension="80221"/>{outside}<patient>'
        f'<name use="L"><given>{escape(given)}</given><family>{escape(family)}</family></name>'
        f'<administrativeGenderCode code="{sex}" codeSystem="2.16.840.1.113883.5.1"/><birthTime value="{birth}"/>{extra}</patient></patientRole></recordTarget>'
    )


def document(*sections: str, who: str = "", header: str = "", release: str = "2015-08-01") -> str:
    """A C-CDA document of a patient and sections."""
    spaces = 'xmlns="urn:hl7-org:v3" xmlns:sdtc="urn:hl7-org:sdtc" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    extension = f' extension="{release}"' if release else ""
    body = "".join(f"<component>{section}</component>" for section in sections)
    return (
        f'<?xml version="1.0"?><ClinicalDocument {spaces}><templateId root="2.16.840.1.113883.10.20.22.1.2"{extension}/>'
        f'<effectiveTime value="20250506090000+0200"/>{who or person()}{header}<component><structuredBody>{body}</structuredBody></component></ClinicalDocument>'  # noqa: E501
    )


def section(code: str, *entries: str, text: str = "") -> str:
    """A section by its LOINC code."""
    inside = "".join(f"<entry>{entry}</entry>" for entry in entries)
    return f'<section><code code="{code}" codeSystem="{OIDS[LOINC]}"/><text>{text}</text>{inside}</section>'


def cd(system: str, code: str, display: str = "", tag: str = "value", inner: str = "") -> str:
    """A CD."""
    typed = ' xsi:type="CD"' if tag == "value" else ""
    return f"<{tag}{typed} code={quoteattr(code)} codeSystem={quoteattr(OIDS.get(system, system))} displayName={quoteattr(display)}>{inner}</{tag}>"


def problem(value: str, when: str = "", *, negated: bool = False, act: str = "active", more: str = "") -> str:
    """A problem concern with one observation."""
    negation = ' negationInd="true"' if negated else ""
    return (
        f'<act classCode="ACT" moodCode="EVN"><templateId root="2.16.840.1.113883.10.20.22.4.3"/><code code="CONC" codeSystem="2.16.840.1.113883.5.6"/>'
        f'<statusCode code="{act}"/><entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN"{negation}>'
        f'<templateId root="2.16.840.1.113883.10.20.22.4.4"/><code code="55607006" codeSystem="{OIDS[SNOMED]}"/><statusCode code="completed"/>'
        f"{when}{value}{more}</observation></entryRelationship></act>"
    )
