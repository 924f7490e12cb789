"""Pairs about problems, allergies, medications, immunizations and procedures."""

from __future__ import annotations

from typing import Any, Final

from touchstone.ops.lab.consistency.written.hands import (
    CVX,
    ICD,
    LOINC,
    NDC,
    RXNORM,
    SNOMED,
    Written,
    allergy,
    bundle,
    cd,
    concept,
    condition,
    document,
    given,
    interval,
    message,
    order,
    patient,
    problem,
    reaction_to,
    section,
    status,
    vaccine,
)

_PROBLEMS, _ALLERGIES, _MEDICATIONS, _IMMUNIZATIONS, _PROCEDURES = "11450-4", "48765-2", "10160-0", "11369-6", "47519-4"
_ASTHMA: Final = condition(SNOMED, "195967001", "Asthma (disorder)", onsetDateTime="2009-04")
_DIABETES: Final = condition(SNOMED, "44054006", "Diabetes mellitus type 2 (disorder)")
_PENICILLIN: Final = allergy(RXNORM, "70618", "Penicillin", category=["medication"], criticality="high")
_LISINOPRIL: Final = order(RXNORM, "314076", "lisinopril 10 MG Oral Tablet", (10, "mg"), authoredOn="2025-05-06")
_METFORMIN: Final = order(RXNORM, "860975", "metformin hydrochloride 500 MG Oral Tablet")


def _code(system: str, code: str, display: str) -> str:
    return cd(system, code, display, "code")


def _cda(name: str, resources: tuple[dict[str, Any], ...], code: str, *entries: str, expects: tuple[str, ...] = ()) -> Written:
    """Some resources beside one section."""
    return Written(name, (("fhir", bundle(patient(), *resources)), ("ccda", document(section(code, *entries)))), expects)


def _v2(name: str, resources: tuple[dict[str, Any], ...], event: str, *segments: str, expects: tuple[str, ...] = (), version: str = "2.5.1") -> Written:
    """Some resources beside a message."""
    return Written(name, (("fhir", bundle(patient(), *resources)), ("hl7v2", message(event, *segments, version=version))), expects)


_RESOLVED: Final = status("condition-clinical", "resolved")
_WRONG: Final = status("condition-ver-status", "entered-in-error")
_REFUTED: Final = status("condition-ver-status", "refuted")
_PROCEDURE: Final = {
    "resourceType": "Procedure",
    "status": "completed",
    "code": concept((SNOMED, "80146002", "Appendectomy")),
    "performedDateTime": "2019-03-02",
}


def _act(code: str, when: str) -> str:
    return f'<procedure classCode="PROC" moodCode="EVN"><templateId root="2.16.840.1.113883.10.20.22.4.14"/>{code}<statusCode code="completed"/><effectiveTime value="{when}"/></procedure>'  # noqa: E501


PAIRS: Final = (
    _v2("SNOMED in FHIR beside ICD-10 with the same name", (condition(SNOMED, "38341003", "Hypertension"),), "ADT^A01", "DG1|1||I10^Hypertension^I10"),
    _v2(
        "a category beside one of its codes",
        (condition(ICD, "E11", "Type 2 diabetes mellitus"),),
        "ADT^A01",
        "DG1|1||E11.9^Type 2 diabetes mellitus without complications^I10C",
    ),
    _v2("a code without its point", (condition(ICD, "J45.909", "Unspecified asthma, uncomplicated"),), "ADT^A01", "DG1|1||J45909^ASTHMA^ICD-10-CM"),
    _v2("another condition of the same chapter", (condition(ICD, "J45.909", "Asthma"),), "ADT^A01", "DG1|1||J44.9^COPD^I10", expects=("condition.",)),
    _v2(
        "type 1 beside type 2",
        (condition(ICD, "E10.9", "Type 1 diabetes mellitus without complications"),),
        "ADT^A01",
        "DG1|1||E11.9^Type 2 diabetes mellitus^I10",
        expects=("condition.",),
    ),
    _v2("a diagnosis in text alone", (condition(SNOMED, "195967001", "Asthma (disorder)"),), "ADT^A01", "DG1|1|||Asthma"),
    _v2(
        "a diagnosis of 2.3 by coding method", (condition(ICD, "I10", "Hypertension"),), "ADT^A01", "DG1|1|I10|I10^HYPERTENSION^I10|HYPERTENSION", version="2.3"
    ),
    _v2(
        "a refuted condition beside a diagnosis of it",
        (_ASTHMA, condition(ICD, "I10", "Hypertension", verificationStatus=_REFUTED)),
        "ADT^A01",
        "DG1|1||I10^Hypertension^I10",
        expects=("condition.",),
    ),
    _cda(
        "a condition entered in error and not told",
        (_ASTHMA, condition(ICD, "I10", "Hypertension", verificationStatus=_WRONG)),
        _PROBLEMS,
        problem(cd(SNOMED, "195967001", "Asthma")),
    ),
    _cda(
        "a resolved problem that the other side leaves out",
        (_ASTHMA, condition(ICD, "J18.9", "Pneumonia", clinicalStatus=_RESOLVED)),
        _PROBLEMS,
        problem(cd(SNOMED, "195967001", "Asthma")),
    ),
    _cda(
        "a problem of a completed concern that the Bundle leaves out",
        (_ASTHMA,),
        _PROBLEMS,
        problem(cd(SNOMED, "195967001", "Asthma")),
        problem(cd(SNOMED, "233604007", "Pneumonia"), act="completed"),
    ),
    _cda(
        "a nullified problem",
        (_ASTHMA,),
        _PROBLEMS,
        problem(cd(SNOMED, "195967001", "Asthma")),
        problem(cd(SNOMED, "38341003", "Hypertension")).replace("completed", "nullified").replace('"active"', '"nullified"'),
    ),
    _cda(
        "a negated problem beside another that is there",
        (_DIABETES,),
        _PROBLEMS,
        problem(cd(SNOMED, "195967001", "Asthma"), negated=True),
        problem(cd(SNOMED, "44054006", "Type 2 diabetes")),
    ),
    _cda(
        "a negated problem alone beside another",
        (_DIABETES, _ASTHMA),
        _PROBLEMS,
        problem(cd(SNOMED, "44054006", "Type 2 diabetes"), negated=True),
        problem(cd(SNOMED, "195967001", "Asthma")),
        expects=("condition.",),
    ),
    _cda(
        "no problems in C-CDA and a condition in FHIR",
        (_ASTHMA,),
        _PROBLEMS,
        problem(cd(SNOMED, "55607006", "Problem"), negated=True),
        expects=("condition.denied",),
    ),
    _cda(
        "a family history beside the disease itself",
        (condition(ICD, "Z83.3", "Family history of diabetes mellitus"), _ASTHMA),
        _PROBLEMS,
        problem(cd(SNOMED, "195967001", "Asthma")),
        problem(cd(SNOMED, "73211009", "Diabetes mellitus")),
        expects=(),
    ),
    Written(
        "a relative's disease in a family history",
        (
            (
                "fhir",
                bundle(
                    patient(),
                    _ASTHMA,
                    {
                        "resourceType": "FamilyMemberHistory",
                        "status": "completed",
                        "relationship": {"text": "mother"},
                        "condition": [{"code": concept((SNOMED, "73211009", "Diabetes mellitus"))}],
                    },
                ),
            ),
            (
                "ccda",
                document(
                    section(_PROBLEMS, problem(cd(SNOMED, "195967001", "Asthma"))),
                    section(
                        "10157-6",
                        f'<organizer classCode="CLUSTER" moodCode="EVN"><component><observation classCode="OBS" moodCode="EVN"><templateId root="2.16.840.1.113883.10.20.22.4.46"/>{cd(SNOMED, "73211009", "Diabetes mellitus")}</observation></component></organizer>',  # noqa: E501
                    ),
                ),
            ),
        ),
    ),
    _cda(
        "a problem whose code stands in a translation",
        (condition(ICD, "M54.50", "Low back pain, unspecified"),),
        _PROBLEMS,
        problem(
            '<value xsi:type="CD" nullFlavor="OTH"><originalText>Low back pain</originalText><translation code="M54.50" codeSystem="2.16.840.1.113883.6.90"/></value>'  # noqa: E501
        ),
    ),
    _cda(
        "a problem by its narrative",
        (condition(SNOMED, "161891005", "Backache"),),
        _PROBLEMS,
        problem('<value xsi:type="CD" nullFlavor="UNK"><originalText>Backache</originalText></value>'),
    ),
    _cda("an onset by the month", (_ASTHMA,), _PROBLEMS, problem(cd(SNOMED, "195967001", "Asthma"), interval("20090412"))),
    _cda("an onset in another year", (_ASTHMA,), _PROBLEMS, problem(cd(SNOMED, "195967001", "Asthma"), interval("20110412")), expects=("condition.time",)),
    _cda(
        "an invented problem",
        (_ASTHMA, condition(SNOMED, "22298006", "Myocardial infarction")),
        _PROBLEMS,
        problem(cd(SNOMED, "195967001", "Asthma")),
        expects=("condition.missing",),
    ),
    _cda(
        "a provisional condition that the other side leaves out",
        (_ASTHMA, condition(SNOMED, "363346000", "Cancer", verificationStatus=status("condition-ver-status", "differential"))),
        _PROBLEMS,
        problem(cd(SNOMED, "195967001", "Asthma")),
    ),
    # Allergies.
    _v2("no known drug allergies beside a food allergy", (allergy(SNOMED, "91935009", "Allergy to peanut", category=["food"]),), "ADT^A01", "AL1|1|DA|^NKDA"),
    _v2("no known drug allergies beside penicillin", (_PENICILLIN,), "ADT^A01", "AL1|1|DA|^No known drug allergies", expects=("allergy.denied",)),
    _v2("no known allergies on both sides", (allergy(SNOMED, "716186003", "No known allergy"),), "ADT^A01", "AL1|1|MA|NKA^No Known Allergies^L"),
    _v2("none written as the allergy", (allergy(SNOMED, "716186003", "No known allergy"),), "ADT^A01", "AL1|1||^NONE"),
    _v2("none written as the allergy beside penicillin", (_PENICILLIN,), "ADT^A01", "AL1|1||^NONE", expects=("allergy.denied",)),
    _v2("no known allergies by text beside penicillin", (_PENICILLIN,), "ADT^A01", "AL1|1|MA|^Patient has no known allergies", expects=("allergy.denied",)),
    _v2(
        "a severity beside a criticality",
        (allergy(RXNORM, "70618", "Penicillin", criticality="low", reaction=[{"manifestation": [{"text": "rash"}], "severity": "moderate"}]),),
        "ADT^A01",
        "AL1|1|DA|70618^PENICILLIN^RXNORM|MO|RASH",
    ),
    _v2(
        "a moderate severity beside a low criticality",
        (allergy(RXNORM, "70618", "Penicillin", criticality="low"),),
        "ADT^A01",
        "AL1|1|DA|70618^PENICILLIN^RXNORM|MO|RASH",
    ),
    _v2(
        "an erroneous allergy in IAM",
        (allergy(RXNORM, "70618", "Penicillin"),),
        "ADT^A60",
        "IAM|1|DA|70618^Penicillin^RXNORM||||||||||||||C",
        "IAM|2|DA|2670^Codeine^RXNORM||||||||||||||E",
    ),
    _v2("an allergen in words of another length", (allergy(SNOMED, "91936005", "Allergy to penicillin"),), "ADT^A01", "AL1|1|DA|PCN^Penicillin^99ALG|SV"),
    _v2("another allergen", (_PENICILLIN,), "ADT^A01", "AL1|1|DA|2670^Codeine^RXNORM|SV", expects=("allergy.",)),
    _v2(
        "a second allergen that the Bundle lacks",
        (_PENICILLIN,),
        "ADT^A01",
        "AL1|1|DA|70618^Penicillin^RXNORM",
        "AL1|2|DA|2670^Codeine^RXNORM",
        expects=("allergy.missing",),
    ),
    _cda(
        "a severe reaction of an allergy of low criticality",
        (allergy(RXNORM, "70618", "Penicillin", criticality="high"),),
        _ALLERGIES,
        reaction_to(
            _code(RXNORM, "70618", "Penicillin"),
            more='<entryRelationship typeCode="MFST"><observation classCode="OBS" moodCode="EVN"><code code="SEV" codeSystem="2.16.840.1.113883.5.4"/><value xsi:type="CD" code="6736007" codeSystem="2.16.840.1.113883.6.96"/></observation></entryRelationship>',  # noqa: E501
        ),
    ),
    _cda(
        "an allergy that was refuted for one substance",
        (_PENICILLIN,),
        _ALLERGIES,
        reaction_to(_code(RXNORM, "70618", "Penicillin")),
        reaction_to(_code(RXNORM, "2670", "Codeine"), negated=True),
    ),
    _cda(
        "penicillin negated beside an allergy to it",
        (_PENICILLIN, allergy(RXNORM, "2670", "Codeine")),
        _ALLERGIES,
        reaction_to(_code(RXNORM, "70618", "Penicillin"), negated=True),
        reaction_to(_code(RXNORM, "2670", "Codeine")),
        expects=("allergy.",),
    ),
    _cda(
        "a resolved allergy that the C-CDA document leaves out",
        (_PENICILLIN, allergy(RXNORM, "2670", "Codeine", clinicalStatus=status("allergyintolerance-clinical", "resolved"))),
        _ALLERGIES,
        reaction_to(_code(RXNORM, "70618", "Penicillin")),
    ),
    _cda(
        "no known allergies by negation",
        (allergy(SNOMED, "716186003", "No known allergy"),),
        _ALLERGIES,
        reaction_to(_code(SNOMED, "105590001", "Substance"), value=cd(SNOMED, "419199007", "Allergy to substance"), negated=True),
    ),
    # Medications.
    _cda("an ingredient beside its product", (_METFORMIN,), _MEDICATIONS, given(_code(RXNORM, "6809", "metformin"))),
    _cda(
        "another strength of a product",
        (_LISINOPRIL,),
        _MEDICATIONS,
        given(_code(RXNORM, "314077", "lisinopril 20 MG Oral Tablet"), dose='<doseQuantity value="20" unit="mg"/>'),
        expects=("medication.",),
    ),
    _cda(
        "a dose in grams",
        (order(RXNORM, "860975", "metformin", (500, "mg")),),
        _MEDICATIONS,
        given(_code(RXNORM, "860975", "metformin"), dose='<doseQuantity value="0.5" unit="g"/>'),
    ),
    _cda(
        "a dose ten times as large",
        (order(RXNORM, "860975", "metformin", (500, "mg")),),
        _MEDICATIONS,
        given(_code(RXNORM, "860975", "metformin"), dose='<doseQuantity value="5" unit="g"/>'),
        expects=("medication.dose",),
    ),
    _cda(
        "a medication of the past that the list leaves out",
        (_LISINOPRIL, order(RXNORM, "308191", "amoxicillin 500 MG Oral Capsule", status="completed")),
        _MEDICATIONS,
        given(_code(RXNORM, "314076", "lisinopril 10 MG Oral Tablet")),
    ),
    _cda(
        "a medication that ended, and that the Bundle leaves out",
        (_LISINOPRIL,),
        _MEDICATIONS,
        given(_code(RXNORM, "314076", "lisinopril 10 MG Oral Tablet")),
        given(_code(RXNORM, "308191", "amoxicillin 500 MG Oral Capsule"), interval("20200101", "20200110"), state="completed"),
    ),
    _cda(
        "a current medication that the Bundle lost",
        (_LISINOPRIL,),
        _MEDICATIONS,
        given(_code(RXNORM, "314076", "lisinopril 10 MG Oral Tablet")),
        given(_code(RXNORM, "197361", "amlodipine 5 MG Oral Tablet"), interval("20240101")),
        expects=("medication.missing",),
    ),
    _cda(
        "a proposed medication",
        (_LISINOPRIL, order(RXNORM, "197361", "amlodipine 5 MG Oral Tablet", intent="proposal")),
        _MEDICATIONS,
        given(_code(RXNORM, "314076", "lisinopril 10 MG Oral Tablet")),
    ),
    _cda(
        "one medication negated and another taken",
        (_LISINOPRIL,),
        _MEDICATIONS,
        given(_code(RXNORM, "314076", "lisinopril 10 MG Oral Tablet")),
        given(_code(RXNORM, "1191", "aspirin"), negated=True),
    ),
    _cda(
        "no medications in C-CDA and one in FHIR",
        (_LISINOPRIL,),
        _MEDICATIONS,
        given(_code(SNOMED, "410942007", "Drug or medicament"), negated=True),
        expects=("medication.denied",),
    ),
    Written(
        "a medication by a contained resource",
        (
            (
                "fhir",
                bundle(
                    patient(),
                    {
                        "resourceType": "MedicationRequest",
                        "status": "active",
                        "intent": "order",
                        "contained": [{"resourceType": "Medication", "id": "m", "code": concept((RXNORM, "314076", "lisinopril 10 MG Oral Tablet"))}],
                        "medicationReference": {"reference": "#m"},
                    },
                ),
            ),
            ("ccda", document(section(_MEDICATIONS, given(_code(RXNORM, "314076", "lisinopril"))))),
        ),
    ),
    _v2("an order by NDC with hyphens", (order(NDC, "00071015523", "Lipitor 10 mg"),), "RDE^O11", "ORC|NW|1", "RXE||0071-0155-23^LIPITOR^NDC|10||mg"),
    _v2("an order in RxNorm beside NDC", (_LISINOPRIL,), "RDE^O11", "ORC|NW|1", "RXE||68180-0980-01^Lisinopril 10 MG Oral Tablet^NDC|10||mg"),
    _v2("an order of another drug", (_LISINOPRIL,), "RDE^O11", "ORC|NW|1", "RXE||197361^amlodipine 5 MG Oral Tablet^RXNORM|5||mg", expects=("medication.",)),
    _v2(
        "an order with another dose",
        (_LISINOPRIL,),
        "RDE^O11",
        "ORC|NW|1||||||||20250506",
        "RXE||314076^lisinopril^RXNORM|20||mg",
        expects=("medication.dose",),
    ),
    _v2(
        "a discontinued order beside the one that holds",
        (_LISINOPRIL,),
        "RDE^O11",
        "ORC|DC|2",
        "RXE||197361^amlodipine 5 MG Oral Tablet^RXNORM|5||mg",
        "ORC|NW|1",
        "RXE||314076^lisinopril^RXNORM|10||mg",
    ),
    _v2("a dose in tablets beside milligrams", (_LISINOPRIL,), "RDE^O11", "ORC|NW|1", "RXE||314076^lisinopril 10 MG Oral Tablet^RXNORM|1||TAB"),
    # Immunizations.
    _v2(
        "a vaccine code without its leading zero",
        (vaccine(CVX, "08", "Hep B, adolescent or pediatric", "2025-05-06"),),
        "VXU^V04",
        "RXA|0|1|20250506||8^HepB^CVX|0.5|mL",
    ),
    _v2("a vaccine by NDC and by CVX", (vaccine(NDC, "49281-0400-10", "Adacel (Tdap)", "2025-05-06"),), "VXU^V04", "RXA|0|1|20250506||115^Tdap^CVX|0.5|mL"),
    _v2(
        "a refused vaccine on both sides",
        (vaccine(CVX, "140", "influenza", "2025-05-06"), vaccine(CVX, "08", "Hep B", "2025-05-06", status="not-done")),
        "VXU^V04",
        "RXA|0|1|20250506||140^Flu^CVX|0.5|mL",
        "RXA|0|1|20250506||08^HepB^CVX|999||||||||||||00^Parental^NIP002||RE",
    ),
    _v2(
        "a vaccine given in one and refused in the other",
        (vaccine(CVX, "140", "influenza", "2025-05-06"),),
        "VXU^V04",
        "RXA|0|1|20250506||140^Flu^CVX|999||||||||||||00^Parental^NIP002||RE",
        expects=("immunization.",),
    ),
    _v2(
        "a vaccine on another day",
        (vaccine(CVX, "140", "influenza", "2025-05-06"),),
        "VXU^V04",
        "RXA|0|1|20250406||140^Flu^CVX|0.5|mL",
        expects=("immunization.",),
    ),
    _cda(
        "three doses of one vaccine",
        tuple(vaccine(CVX, "110", "DTaP-Hep B-IPV", day) for day in ("2024-01-05", "2024-03-05", "2024-05-05")),
        _IMMUNIZATIONS,
        *(given(_code(CVX, "110", "Pediarix"), f'<effectiveTime value="{day}"/>') for day in ("20240505", "20240105", "20240305")),
    ),
    _cda(
        "a dose of three that is missing",
        tuple(vaccine(CVX, "110", "DTaP-Hep B-IPV", day) for day in ("2024-01-05", "2024-03-05", "2024-05-05")),
        _IMMUNIZATIONS,
        *(given(_code(CVX, "110", "Pediarix"), f'<effectiveTime value="{day}"/>') for day in ("20240105", "20240305")),
        expects=("immunization.missing",),
    ),
    # Procedures.
    _cda("a procedure in C-CDA", (_PROCEDURE,), _PROCEDURES, _act(_code(SNOMED, "80146002", "Appendectomy"), "20190302")),
    _cda("a procedure in another year", (_PROCEDURE,), _PROCEDURES, _act(_code(SNOMED, "80146002", "Appendectomy"), "20180302"), expects=("procedure.",)),
    _cda("another procedure", (_PROCEDURE,), _PROCEDURES, _act(_code(SNOMED, "38102005", "Cholecystectomy"), "20190302"), expects=("procedure.",)),
    _v2("a procedure in PR1", (_PROCEDURE,), "ADT^A01", "PR1|1||80146002^Appendectomy^SCT||20190302"),
    _v2("a procedure in PR1 that is another", (_PROCEDURE,), "ADT^A01", "PR1|1||38102005^Cholecystectomy^SCT||20190302", expects=("procedure.",)),
    Written(
        "a C-CDA document of many parts beside a Bundle of the same",
        (
            (
                "fhir",
                bundle(
                    patient(),
                    _ASTHMA,
                    _PENICILLIN,
                    _LISINOPRIL,
                    vaccine(CVX, "140", "influenza", "2025-05-06"),
                    {
                        "resourceType": "Observation",
                        "status": "final",
                        "code": concept((LOINC, "72166-2", "Tobacco smoking status")),
                        "valueCodeableConcept": concept((SNOMED, "8517006", "Former smoker")),
                        "category": [concept(("http://terminology.hl7.org/CodeSystem/observation-category", "social-history", ""))],
                    },
                ),
            ),
            (
                "ccda",
                document(
                    section(_PROBLEMS, problem(cd(SNOMED, "195967001", "Asthma"), interval("2009"))),
                    section(_ALLERGIES, reaction_to(_code(RXNORM, "70618", "Penicillin"))),
                    section(_MEDICATIONS, given(_code(RXNORM, "314076", "lisinopril"), dose='<doseQuantity value="10" unit="mg"/>')),
                    section(_IMMUNIZATIONS, given(_code("2.16.840.1.113883.6.59", "140", "influenza"), '<effectiveTime value="20250506"/>')),
                ),
            ),
        ),
    ),
)
