"""Short ways to write FHIR resources, HL7 v2 messages and C-CDA documents of one invented patient."""

from typing import Any

SNOMED, RXNORM = "http://snomed.info/sct", "http://www.nlm.nih.gov/research/umls/rxnorm"


def concept(system: str, code: str, display: str) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code, "display": display}]}


def bundle(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": one} for one in resources]}


def patient(**more: Any) -> dict[str, Any]:
    identifier = {"system": "urn:oid:1.3.6.1.4.1.99.1", "value": "80221"}
    name = {"use": "official", "family": "Alvarez", "given": ["Henrik"]}
    return {"resourceType": "Patient", "identifier": [identifier], "name": [name], "gender": "male", "birthDate": "1974-03-12"} | more


def condition(system: str, code: str, display: str) -> dict[str, Any]:
    active = concept("http://terminology.hl7.org/CodeSystem/condition-clinical", "active", "")
    return {"resourceType": "Condition", "clinicalStatus": active, "code": concept(system, code, display)}


def order(system: str, code: str, display: str, dose: tuple[float, str] | None = None) -> dict[str, Any]:
    dosage = {} if dose is None else {"dosageInstruction": [{"doseAndRate": [{"doseQuantity": {"value": dose[0], "unit": dose[1]}}]}]}
    return {"resourceType": "MedicationRequest", "status": "active", "intent": "order", "medicationCodeableConcept": concept(system, code, display)} | dosage


def message(event: str, *segments: str) -> str:
    pid = "PID|1||80221^^^GENHOSP&1.3.6.1.4.1.99.1&ISO^MR||ALVAREZ^HENRIK||19740312|M"
    return "\r".join([f"MSH|^~\\&|SND|GENHOSP|RCV|REG|20250506090000||{event}|77|P|2.5.1", pid, *segments])


def document(*sections: str) -> str:
    body = "".join(f"<component>{section}</component>" for section in sections)
    return (
        '<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        '<templateId root="2.16.840.1.113883.10.20.22.1.2" extension="2015-08-01"/><effectiveTime value="20250506090000+0200"/>'
        '<recordTarget><patientRole><id root="1.3.6.1.4.1.99.1" extension="80221"/><patient><name use="L"><given>Henrik</given><family>Alvarez</family></name>'
        '<administrativeGenderCode code="M" codeSystem="2.16.840.1.113883.5.1"/><birthTime value="19740312"/></patient></patientRole></recordTarget>'
        f"<component><structuredBody>{body}</structuredBody></component></ClinicalDocument>"
    )


def section(code: str, *entries: str, text: str = "") -> str:
    return (
        f'<section><code code="{code}" codeSystem="2.16.840.1.113883.6.1"/><text>{text}</text>{"".join(f"<entry>{one}</entry>" for one in entries)}</section>'
    )


def snomed(code: str, display: str) -> str:
    return f'<value xsi:type="CD" code="{code}" codeSystem="2.16.840.1.113883.6.96" displayName="{display}"/>'


def problem(value: str) -> str:
    return (
        '<act classCode="ACT" moodCode="EVN"><templateId root="2.16.840.1.113883.10.20.22.4.3"/><statusCode code="active"/>'
        '<entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN"><templateId root="2.16.840.1.113883.10.20.22.4.4"/>'
        f'<statusCode code="completed"/>{value}</observation></entryRelationship></act>'
    )
