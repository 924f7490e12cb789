"""Pairs of a Bundle and the persona that it was made of."""

from __future__ import annotations

from typing import Any, Final

from touchstone.ops.lab.consistency.written.hands import (
    ICD,
    LOINC,
    RXNORM,
    SNOMED,
    Written,
    allergy,
    bundle,
    concept,
    condition,
    observed,
    order,
    patient,
    status,
)

_HYPERTENSION: Final = condition(ICD, "I10", "Essential (primary) hypertension")
_DIABETES: Final = condition(ICD, "E11.9", "Type 2 diabetes mellitus without complications")
_METFORMIN: Final = order(RXNORM, "860975", "metformin hydrochloride 500 MG Oral Tablet")
_SMOKER: Final = observed("72166-2", "Tobacco smoking status", None, valueCodeableConcept=concept((SNOMED, "8517006", "Former smoker")))


def _told(name: str, persona: dict[str, Any], *resources: dict[str, Any], expects: tuple[str, ...] = ()) -> Written:
    return Written(name, (("fhir", bundle(patient(), *resources)),), expects, persona)


PAIRS: Final = (
    _told("a persona in abbreviations", {"conditions": ["HTN", "T2DM"], "medications": ["metformin 500mg BID"]}, _HYPERTENSION, _DIABETES, _METFORMIN),
    _told("a persona with a line of conditions", {"conditions": "hypertension, type 2 diabetes"}, _HYPERTENSION, _DIABETES),
    _told("a persona with a line of which one was lost", {"conditions": "hypertension, asthma"}, _HYPERTENSION, expects=("condition.missing",)),
    _told(
        "a persona of type 2, and a Bundle of type 1",
        {"conditions": ["Type 2 diabetes"]},
        condition(ICD, "E10.9", "Type 1 diabetes mellitus without complications"),
        expects=("condition.missing",),
    ),
    _told("a persona that says nothing of allergies", {"conditions": ["hypertension"]}, _HYPERTENSION, allergy(RXNORM, "70618", "Penicillin")),
    _told("a persona with a smoker among the conditions", {"conditions": ["hypertension", "former smoker"]}, _HYPERTENSION, _SMOKER),
    _told(
        "a persona with an operation among the conditions",
        {"conditions": ["hypertension", "appendectomy 2010"]},
        _HYPERTENSION,
        {"resourceType": "Procedure", "status": "completed", "code": concept((SNOMED, "80146002", "Appendectomy"))},
    ),
    _told("a persona with a family history", {"conditions": ["hypertension"], "familyHistory": ["breast cancer"]}, _HYPERTENSION),
    _told(
        "a persona whose condition was refuted",
        {"conditions": ["hypertension", "asthma"]},
        _HYPERTENSION,
        condition(SNOMED, "195967001", "Asthma", verificationStatus=status("condition-ver-status", "refuted")),
        expects=("condition.",),
    ),
    _told(
        "a persona whose old illness is resolved",
        {"conditions": ["hypertension"]},
        _HYPERTENSION,
        condition(SNOMED, "233604007", "Pneumonia", clinicalStatus=status("condition-clinical", "resolved")),
    ),
    _told(
        "a persona with an invented condition",
        {"conditions": ["hypertension"]},
        _HYPERTENSION,
        condition(SNOMED, "22298006", "Myocardial infarction"),
        expects=("condition.missing",),
    ),
    _told(
        "a persona with a lost medication that shares a word",
        {"medications": ["Metoprolol succinate extended release 50 mg"]},
        order(RXNORM, "860975", "metformin hydrochloride 500 MG 24HR Extended Release Oral Tablet"),
        expects=("medication.missing",),
    ),
    _told(
        "a persona with chronic kidney disease, and a chronic lung disease",
        {"conditions": ["Chronic kidney disease stage 3"]},
        condition(ICD, "J44.9", "Chronic obstructive pulmonary disease, unspecified"),
        expects=("condition.missing",),
    ),
    _told("a persona without allergies", {"allergies": []}, allergy(SNOMED, "716186003", "No known allergy")),
    _told("a persona without allergies in a word", {"allergies": ["None"]}, allergy(SNOMED, "716186003", "No known allergy")),
    _told(
        "a persona with NKDA, and an allergy to penicillin",
        {"allergies": ["NKDA"]},
        allergy(RXNORM, "70618", "Penicillin", category=["medication"]),
        expects=("allergy.denied",),
    ),
    _told(
        "a persona with a lost allergy",
        {"allergies": ["Sulfa drugs", "Latex"]},
        allergy(SNOMED, "1003755004", "Allergy to Hevea brasiliensis latex protein"),
        expects=("allergy.missing",),
    ),
    _told(
        "a persona in nested objects",
        {
            "demographics": {"name": "Alvarez, Henrik", "dateOfBirth": "1974-03-12", "gender": "M"},
            "problems": [{"description": "Essential hypertension", "status": "active"}],
        },
        _HYPERTENSION,
    ),
    _told("a persona with a birth date in the American way", {"dob": "03/12/1974", "name": "Henrik Alvarez"}, _HYPERTENSION),
    _told(
        "a persona with another birth date in the American way", {"dob": "03/12/1947", "name": "Henrik Alvarez"}, _HYPERTENSION, expects=("patient.birth-date",)
    ),
    _told("a persona by its first name alone", {"name": "Henrik", "age": 51}, _HYPERTENSION),
    _told("a persona with an age in words", {"name": "Henrik Alvarez", "age": "51 years"}, _HYPERTENSION),
    _told("a persona with another age in words", {"name": "Henrik Alvarez", "age": "71-year-old"}, _HYPERTENSION, expects=("patient.age",)),
    _told(
        "a persona with laboratory values among its lists",
        {"conditions": ["hypertension"], "labs": [{"name": "HbA1c", "value": 7.1}]},
        _HYPERTENSION,
        observed("4548-4", "HbA1c", 7.1, "%"),
    ),
    _told("a persona's brand name", {"medications": ["Glucophage"]}, _METFORMIN),
    _told(
        "a persona with a high blood pressure and a high cholesterol",
        {"conditions": ["high blood pressure", "high cholesterol"]},
        _HYPERTENSION,
        condition(ICD, "E78.5", "Hyperlipidemia, unspecified"),
    ),
    _told(
        "a persona whose reading of a lab stands as a condition",
        {"conditions": ["hypertension", "elevated HbA1c"]},
        _HYPERTENSION,
        {"resourceType": "Observation", "status": "final", "code": concept((LOINC, "4548-4", "Elevated HbA1c"))},
    ),
)
