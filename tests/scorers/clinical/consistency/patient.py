"""One invented patient in three formats and as a persona, written so that every map between them is used once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.consistency import Given, check_consistency
from touchstone.scorers.clinical.report import Context, Report

LOINC, SNOMED, RXNORM, ICD = (
    "http://loinc.org",
    "http://snomed.info/sct",
    "http://www.nlm.nih.gov/research/umls/rxnorm",
    "http://hl7.org/fhir/sid/icd-10-cm",
)


def concept(system: str, code: str, display: str) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code, "display": display}]}


def observation(code: str, display: str, value: float, unit: str, category: str, at: str = "2026-03-02T09:30:00-05:00") -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "status": "final",
        "category": [concept("http://terminology.hl7.org/CodeSystem/observation-category", category, category)],
        "code": concept(LOINC, code, display),
        "effectiveDateTime": at,
        "valueQuantity": {"value": value, "unit": unit, "code": unit, "system": "http://unitsofmeasure.org"},
    }


def fhir() -> dict[str, Any]:
    resources: list[dict[str, Any]] = [
        {
            "resourceType": "Patient",
            "id": "p",
            "identifier": [
                {"system": "urn:oid:2.16.840.1.113883.19.5", "value": "MRN-4711", "type": concept("http://terminology.hl7.org/CodeSystem/v2-0203", "MR", "MR")},
                {"system": "http://hl7.org/fhir/sid/us-ssn", "value": "999-12-3456"},
            ],
            "name": [{"use": "official", "family": "Sample-Ortega", "given": ["Zoë", "Maria"]}],
            "gender": "female",
            "birthDate": "1961-04-09",
            "maritalStatus": concept("http://terminology.hl7.org/CodeSystem/v3-MaritalStatus", "M", "Married"),
            "address": [{"line": ["1 Main St"], "city": "Springfield", "postalCode": "62701"}],
        },
        {
            "resourceType": "Encounter",
            "status": "finished",
            "class": {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "IMP"},
            "identifier": [{"system": "urn:oid:2.16.840.1.113883.19.6", "value": "V-1"}],
            "period": {"start": "2026-03-02T08:00:00-05:00", "end": "2026-03-04T11:00:00-05:00"},
        },
        {"resourceType": "Condition", "code": concept(ICD, "E11.9", "Type 2 diabetes mellitus without complications"), "onsetDateTime": "2015-06-01"},
        {"resourceType": "Condition", "code": concept(ICD, "I10", "Essential (primary) hypertension"), "onsetDateTime": "2018-01-15"},
        {
            "resourceType": "AllergyIntolerance",
            "code": concept(RXNORM, "7980", "penicillin G"),
            "criticality": "high",
            "onsetDateTime": "2001-02-03",
            "reaction": [{"manifestation": [{"text": "hives"}], "severity": "severe"}],
        },
        {
            "resourceType": "MedicationRequest",
            "status": "active",
            "intent": "order",
            "medicationCodeableConcept": concept(RXNORM, "860975", "metformin hydrochloride 500 MG 24HR Extended Release Oral Tablet"),
            "authoredOn": "2026-03-02T10:00:00-05:00",
            "dosageInstruction": [{"doseAndRate": [{"doseQuantity": {"value": 500, "unit": "mg", "code": "mg", "system": "http://unitsofmeasure.org"}}]}],
        },
        {
            "resourceType": "Immunization",
            "status": "completed",
            "vaccineCode": concept("http://hl7.org/fhir/sid/cvx", "140", "influenza, seasonal, injectable, preservative free"),
            "occurrenceDateTime": "2025-10-11",
        },
        observation("4548-4", "Hemoglobin A1c", 7.2, "%", "laboratory"),
        observation("2345-7", "Glucose", 162, "mg/dL", "laboratory"),
        observation("29463-7", "Body weight", 82.4, "kg", "vital-signs"),
        {
            "resourceType": "Observation",
            "status": "final",
            "category": [concept("http://terminology.hl7.org/CodeSystem/observation-category", "vital-signs", "Vital Signs")],
            "code": concept(LOINC, "85354-9", "Blood pressure panel"),
            "effectiveDateTime": "2026-03-02T09:30:00-05:00",
            "component": [
                {"code": concept(LOINC, "8480-6", "Systolic"), "valueQuantity": {"value": 138, "unit": "mmHg", "code": "mm[Hg]"}},
                {"code": concept(LOINC, "8462-4", "Diastolic"), "valueQuantity": {"value": 86, "unit": "mmHg", "code": "mm[Hg]"}},
            ],
        },
    ]
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": resource} for resource in resources]}


ADT = r"""
MSH|^~\&|APP|FAC|APP|FAC|20260302081500-0500||ADT^A01^ADT_A01|1|P|2.5.1
EVN|A01|20260302081500-0500
PID|1||MRN-4711^^^HOSP&2.16.840.1.113883.19.5&ISO^MR~999123456^^^SSA^SS||SAMPLE-ORTEGA^ZOE^M^^^^L||19610409|F|||^^Springfield^IL^62701-1234|||||M
PV1|1|I|||||||||||||||||V-1^^^HOSP&2.16.840.1.113883.19.6&ISO|||||||||||||||||||||||||20260302140000+0100|20260304160000+0000
OBX|1|NM|29463-7^Body weight^LN||181.7|[lb_av]^pound^UCUM|||||F|||20260302093000-0500
OBX|2|NM|8480-6^Systolic^LN||138|mmHg|||||F|||20260302143000+0000
OBX|3|NM|8462-4^Diastolic^LN||86|mm[Hg]|||||F|||202603020930
AL1|1|DA|7980^penicillin G^RXNORM|SV|hives|20010203
DG1|1||E119^Type 2 diabetes^I10C||20150601|A
DG1|2||I10^Hypertension^I10C||20260302|A
""".strip().replace("\n", "\r")
ORU = r"""
MSH|^~\&|LAB|FAC|APP|FAC|20260302120000-0500||ORU^R01^ORU_R01|2|P|2.5.1
PID|1||MRN-4711^^^HOSP&2.16.840.1.113883.19.5&ISO^MR||Sample-Ortega^Zoë||19610409|F
OBR|1|||4548-4^HbA1c^LN|||20260302093000-0500
OBX|1|NM|4548-4^HbA1c^LN||7.20|%|||||F
OBX|2|SN|2345-7^Glucose^LN||^9.0|mmol/L|||||F|||20260302143000+0000
""".strip().replace("\n", "\r")

CCDA = """<?xml version="1.0" encoding="UTF-8"?>
<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:sdtc="urn:hl7-org:sdtc">
 <templateId root="2.16.840.1.113883.10.20.22.1.2" extension="2015-08-01"/>
 <recordTarget><patientRole>
  <id root="2.16.840.1.113883.19.5" extension="MRN-4711"/><id root="2.16.840.1.113883.4.1" extension="999-12-3456"/>
  <addr><city>Springfield</city><postalCode>62701</postalCode></addr>
  <patient><name use="L"><given>Zoe</given><family>Sample Ortega</family></name>
   <administrativeGenderCode code="F" codeSystem="2.16.840.1.113883.5.1"/><birthTime value="19610409"/>
   <maritalStatusCode code="M" codeSystem="2.16.840.1.113883.5.2"/></patient>
 </patientRole></recordTarget>
 <componentOf><encompassingEncounter><id root="2.16.840.1.113883.19.6" extension="V-1"/>
  <effectiveTime><low value="20260302080000-0500"/><high value="20260304110000-0500"/></effectiveTime></encompassingEncounter></componentOf>
 <component><structuredBody>
  <component><section><code code="11450-4" codeSystem="2.16.840.1.113883.6.1"/>
   <text><content ID="p2">High blood pressure, Essential hypertension</content></text>
   <entry><act classCode="ACT" moodCode="EVN"><entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN">
    <code code="55607006" codeSystem="2.16.840.1.113883.6.96"/><effectiveTime><low value="20150601"/></effectiveTime>
    <value xsi:type="CD" code="44054006" codeSystem="2.16.840.1.113883.6.96" displayName="Diabetes mellitus type 2">
     <translation code="E11.9" codeSystem="2.16.840.1.113883.6.90"/></value>
    <entryRelationship typeCode="REFR"><observation classCode="OBS" moodCode="EVN"><code code="33999-4" codeSystem="2.16.840.1.113883.6.1"/>
     <value xsi:type="CD" code="55561003" codeSystem="2.16.840.1.113883.6.96" displayName="Active"/></observation></entryRelationship>
   </observation></entryRelationship></act></entry>
   <entry><act classCode="ACT" moodCode="EVN"><entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN">
    <code code="55607006" codeSystem="2.16.840.1.113883.6.96"/><effectiveTime><low value="201801"/></effectiveTime>
    <value xsi:type="CD" code="59621000" codeSystem="2.16.840.1.113883.6.96" displayName="Essential hypertension (disorder)"/>
   </observation></entryRelationship></act></entry></section></component>
  <component><section><code code="48765-2" codeSystem="2.16.840.1.113883.6.1"/>
   <entry><act classCode="ACT" moodCode="EVN"><entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN">
    <effectiveTime><low value="20010203"/></effectiveTime>
    <value xsi:type="CD" code="416098002" codeSystem="2.16.840.1.113883.6.96" displayName="Allergy to drug"/>
    <participant typeCode="CSM"><participantRole><playingEntity>
     <code code="7980" codeSystem="2.16.840.1.113883.6.88" displayName="Penicillin G"/></playingEntity></participantRole></participant>
    <entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN"><code code="SEV" codeSystem="2.16.840.1.113883.5.4"/>
     <value xsi:type="CD" code="24484000" codeSystem="2.16.840.1.113883.6.96"/></observation></entryRelationship>
   </observation></entryRelationship></act></entry></section></component>
  <component><section><code code="10160-0" codeSystem="2.16.840.1.113883.6.1"/>
   <entry><substanceAdministration classCode="SBADM" moodCode="INT"><effectiveTime xsi:type="IVL_TS"><low value="20260302"/></effectiveTime>
    <doseQuantity value="0.5" unit="g"/><consumable><manufacturedProduct><manufacturedMaterial>
     <code code="860975" codeSystem="2.16.840.1.113883.6.88" displayName="metformin"/></manufacturedMaterial></manufacturedProduct></consumable>
   </substanceAdministration></entry></section></component>
  <component><section><code code="11369-6" codeSystem="2.16.840.1.113883.6.1"/>
   <entry><substanceAdministration classCode="SBADM" moodCode="EVN" negationInd="false"><effectiveTime value="20251011"/>
    <consumable><manufacturedProduct><manufacturedMaterial><code code="140" codeSystem="2.16.840.1.113883.12.292"/>
    </manufacturedMaterial></manufacturedProduct></consumable></substanceAdministration></entry></section></component>
  <component><section><code code="30954-2" codeSystem="2.16.840.1.113883.6.1"/>
   <entry><organizer classCode="BATTERY" moodCode="EVN">
    <component><observation classCode="OBS" moodCode="EVN"><code code="4548-4" codeSystem="2.16.840.1.113883.6.1"/>
     <effectiveTime value="20260302143000+0000"/><value xsi:type="PQ" value="7.2" unit="%"/></observation></component>
    <component><observation classCode="OBS" moodCode="EVN"><code code="2345-7" codeSystem="2.16.840.1.113883.6.1"/>
     <effectiveTime value="20260302"/><value xsi:type="PQ" value="1.62" unit="g/L"/></observation></component>
   </organizer></entry></section></component>
  <component><section><code code="8716-3" codeSystem="2.16.840.1.113883.6.1"/>
   <entry><organizer classCode="CLUSTER" moodCode="EVN">
    <component><observation classCode="OBS" moodCode="EVN"><code code="29463-7" codeSystem="2.16.840.1.113883.6.1"/>
     <effectiveTime value="20260302093000-0500"/><value xsi:type="PQ" value="82400" unit="g"/></observation></component>
    <component><observation classCode="OBS" moodCode="EVN"><code code="8480-6" codeSystem="2.16.840.1.113883.6.1"/>
     <effectiveTime value="20260302093000-0500"/><value xsi:type="PQ" value="138" unit="mm[Hg]"/></observation></component>
    <component><observation classCode="OBS" moodCode="EVN"><code code="8462-4" codeSystem="2.16.840.1.113883.6.1"/>
     <effectiveTime value="20260302093000-0500"/><value xsi:type="PQ" value="86" unit="mm[Hg]"/></observation></component>
   </organizer></entry></section></component>
 </structuredBody></component>
</ClinicalDocument>
"""

PERSONA: dict[str, Any] = {
    "name": "Zoe Sample-Ortega",
    "age": 64,
    "sex": "female",
    "conditions": ["Type 2 diabetes", {"name": "High blood pressure", "icd10": "I10"}],
    "medications": ["Metformin 500 mg twice daily"],
    "allergies": [{"allergen": "Penicillin"}],
}


def compared(*documents: tuple[str, Any], persona: Any = None, quote: bool = False) -> Report:
    """The report on some documents, each with its format."""
    given = [Given(f"outputs.{form}", form, content) for form, content in documents]  # type: ignore[arg-type]  # formats that the tests write out
    from datetime import UTC, datetime

    return check_consistency(given, persona, Context(quote=quote), at=datetime(2026, 3, 5, tzinfo=UTC))


def told(report: Report) -> list[tuple[str, str, str]]:
    """(severity, code, path) of each finding."""
    return [(finding.severity, finding.code, finding.path) for finding in report.findings]


def only(report: Report) -> Finding:
    (finding,) = report.findings
    return finding


def changed(change: Callable[[list[dict[str, Any]]], Any]) -> dict[str, Any]:
    resources = [entry["resource"] for entry in fhir()["entry"]]
    change(resources)
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": resource} for resource in resources]}


def without(kind: str, number: int = 0) -> dict[str, Any]:
    """The Bundle without the nth resource of a type."""
    bundle = fhir()
    places = [place for place, entry in enumerate(bundle["entry"]) if entry["resource"]["resourceType"] == kind]
    del bundle["entry"][places[number]]
    return bundle
