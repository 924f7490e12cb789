"""What is said of relatives is not the patient's. The cases were written before the rule."""

from typing import Any, Final

import pytest

from touchstone.scorers.clinical.failure_modes.entries import persona_entries
from touchstone.scorers.clinical.failure_modes.knowledge import knowledge
from touchstone.scorers.clinical.failure_modes.modes import drug_without_indication, missing_encounter

#: Drug, other keys of the persona, prompt.
OF_RELATIVES: Final[list[tuple[str, dict[str, Any], str]]] = [
    ("Warfarin 5 mg", {}, "A man of 54. His grandmother had a stroke at 80."),
    ("Metformin 500 mg", {}, "A woman of 48; her mother has type 2 diabetes."),
    ("Metformin 500 mg", {"familyHistory": ["Type 2 diabetes (mother)"]}, ""),
    ("Warfarin 5 mg", {"family_history": "atrial fibrillation in two uncles"}, ""),
    ("Metformin 500 mg", {"notes": "Family: type 2 diabetes, glaucoma."}, ""),
    ("Metformin 500 mg", {}, "Father had type 2 diabetes and lost a leg to it."),
    ("Warfarin 5 mg", {}, "His brother was diagnosed with atrial fibrillation last year."),
    ("Metformin 500 mg", {}, "Strong family history of type 2 diabetes."),
    ("Warfarin 5 mg", {}, "Her father died of a pulmonary embolism when she was ten."),
    ("Metformin 500 mg", {}, "She cares for her husband, who has type 2 diabetes."),
    ("Warfarin 5 mg", {"family": {"father": "atrial fibrillation"}}, ""),
    ("Metformin 500 mg", {}, "FHx: T2DM, type 2 diabetes (sister)."),
]
#: Drug, other keys of the persona, prompt.
OF_THE_PATIENT: Final[list[tuple[str, dict[str, Any], str]]] = [
    ("Metformin 500 mg", {}, "Mother of two with type 2 diabetes."),
    ("Allopurinol 100 mg", {}, "Father of three, has gout."),
    ("Metformin 500 mg", {}, "Lives with his mother; takes metformin for type 2 diabetes."),
    ("Metformin 500 mg", {}, "His family reports that he has type 2 diabetes."),
    ("Metformin 500 mg", {}, "Like her mother, she has type 2 diabetes."),
    ("Metformin 500 mg", {}, "Both she and her sister have type 2 diabetes."),
    ("Warfarin 5 mg", {}, "Brought in by his wife with atrial fibrillation."),
    ("Metformin 500 mg", {"familyHistory": "none"}, "Type 2 diabetes since 2015."),
    ("Levothyroxine 50 mcg", {}, "A grandmother with hypothyroidism who loves her garden."),
    ("Warfarin 5 mg", {}, "His father had a stroke. He has atrial fibrillation."),
    ("Metformin 500 mg", {"notes": "Single mother, type 2 diabetes since 2018"}, ""),
    ("Metformin 500 mg", {}, "Family history of heart disease; personal history: type 2 diabetes."),
]


def _answer(drug: str, keys: dict[str, Any], prompt: str) -> bool:
    persona = {"age": 50, "conditions": [{"name": "Seasonal allergies"}], "medications": [{"name": drug}], **keys}
    return bool(drug_without_indication(persona_entries(persona, prompt), knowledge()))


@pytest.mark.parametrize(("drug", "keys", "prompt"), OF_RELATIVES)
def test_a_relatives_disease_explains_no_drug(drug: str, keys: dict[str, Any], prompt: str) -> None:
    assert _answer(drug, keys, prompt)


@pytest.mark.parametrize(("drug", "keys", "prompt"), OF_THE_PATIENT)
def test_the_patients_own_disease_explains_it_beside_relatives(drug: str, keys: dict[str, Any], prompt: str) -> None:
    assert not _answer(drug, keys, prompt)


def test_a_relatives_stay_is_not_the_patients() -> None:
    persona = {"encounters": [{"type": "office visit"}]}
    assert not missing_encounter(persona_entries(persona, "Her father was hospitalized in May."), knowledge())
    assert missing_encounter(persona_entries(persona, "Her father was ill. She was hospitalized in May."), knowledge())


def test_a_relatives_gender_leaves_the_patients_sex() -> None:
    assert persona_entries({"sex": "male"}, "His son is transgender.").sex == "male"
    assert persona_entries({"sex": "male"}, "A transgender man.").sex is None
