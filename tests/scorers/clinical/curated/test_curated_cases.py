from collections import Counter

import pytest

from touchstone.scorers.clinical.checks import code_forms
from touchstone.scorers.clinical.checks.terminology import in_icd10cm, is_icd10cm_header
from touchstone.scorers.clinical.curated import SAMPLE_OUTPUTS, CuratedCase, curated_cases
from touchstone.scorers.clinical.curated.cases import Term, terms

#: The specification's table.
CATEGORIES = {
    "diabetes_management": 2,
    "pregnancy_care": 2,
    "elderly_complex": 2,
    "pediatric_screening": 2,
    "mental_health": 1,
    "emergency_care": 1,
    "edge_case": 2,
}


def test_there_are_twelve_cases_in_seven_categories() -> None:
    assert dict(Counter(case.category for case in curated_cases())) == CATEGORIES
    assert len({case.id for case in curated_cases()}) == len({case.prompt for case in curated_cases()}) == 12


def test_every_case_asks_for_scores_and_tells_what_it_expects() -> None:
    for case in curated_cases():
        assert "overall" in case.minimum
        assert case.expected.age is not None, case.id


def test_a_case_that_expects_an_unknown_term_is_refused() -> None:
    with pytest.raises(ValueError, match="no medication of"):
        CuratedCase.model_validate({"id": "x", "category": "y", "prompt": "z", "expected": {"medications": ["hypertension"]}})


@pytest.mark.parametrize("term", terms().values(), ids=terms())
def test_every_code_of_a_term_exists_or_has_the_form_of_one(term: Term) -> None:
    codes = (*term.codes, *term.exact.values())
    for code in codes:
        if term.kind == "condition":
            assert in_icd10cm(code) or code == "O", code
        else:
            assert (code_forms.loinc_problem if term.kind == "lab" else code_forms.rxnorm_problem)(code) is None, code


@pytest.mark.parametrize("term", terms().values(), ids=terms())
def test_a_code_that_enrichment_adds_is_whole_and_is_the_term(term: Term) -> None:
    for name, code in term.exact.items():
        assert name == name.casefold()
        assert term.has_code(code), code
        assert term.kind != "condition" or not is_icd10cm_header(code), code


def test_no_name_stands_for_two_codes() -> None:
    seen: dict[tuple[str, str], str] = {}
    for term in terms().values():
        for name, code in term.exact.items():
            assert seen.setdefault((term.kind, name), code) == code


@pytest.mark.parametrize("case", curated_cases(), ids=lambda case: case.id)
def test_there_are_sample_outputs_of_every_case(case: CuratedCase) -> None:
    assert {path.name for path in (SAMPLE_OUTPUTS / case.id).iterdir()} == {"persona.json", "fhir.json", "ccda.xml", "hl7v2.txt"}
