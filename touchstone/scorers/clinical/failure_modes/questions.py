"""The questions that code answers, by name: what settings, commands and pages need of the modes without the tables that answer them.

Apart from `modes`, because a process imports every suite to tell kinds of records apart, and the tables took half of a worker's start.
"""

from collections.abc import Mapping
from typing import Final

#: Name of a mode → its question, answered with pass (no) or fail (yes).
QUESTIONS: Final[Mapping[str, str]] = {
    "missing_key_lab": "Does a condition lack the lab that it is followed by?",
    "drug_without_indication": "Does the patient take a drug that nothing explains?",
    "drug_before_onset": "Does a drug begin before the condition that it is for?",
    "age_impossible": "Does the patient have a condition that nobody of this age has?",
    "sex_impossible": "Does the patient have a condition that nobody of this sex has?",
    "missing_encounter": "Does the prompt speak of a hospital stay that no encounter is?",
    "duplicate_therapy": "Does the patient take two drugs of a class of which one is taken?",
    "lab_against_condition": "Does a lab point away from an untreated condition?",
    "late_pregnancy": "Is a patient of more than 55 years pregnant?",
    "paediatric_dose": "Does an adult take a dose for a child?",
}
