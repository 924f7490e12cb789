import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.scorers.clinical.checks import code_forms, identifiers

DIGITS = st.text("0123456789", min_size=1, max_size=17)


@given(DIGITS, st.integers(0, 17), st.integers(1, 9))
def test_verhoeff_s_digit_passes_and_catches_every_single_slip(digits: str, place: int, shift: int) -> None:
    whole = digits + str(code_forms.verhoeff_digit(digits))
    place %= len(whole)
    slipped = whole[:place] + str((int(whole[place]) + shift) % 10) + whole[place + 1 :]
    assert code_forms.verhoeff_digit(whole[:-1]) == int(whole[-1])
    assert code_forms.verhoeff_digit(slipped[:-1]) != int(slipped[-1])


@given(DIGITS, st.integers(0, 16))
def test_verhoeff_s_digit_catches_every_swap_of_neighbours(digits: str, place: int) -> None:
    whole = digits + str(code_forms.verhoeff_digit(digits))
    place %= len(whole) - 1
    swapped = whole[:place] + whole[place + 1] + whole[place] + whole[place + 2 :]
    assert swapped == whole or code_forms.verhoeff_digit(swapped[:-1]) != int(swapped[-1])


@pytest.mark.parametrize(
    "code", ["73211009", "38341003", "404684003", "24700007", "900000000000013009", "284196006 |Burn of skin|", "64572001:363698007=39057004"]
)
def test_snomed_concepts_and_expressions_pass(code: str) -> None:
    assert code_forms.snomed_problem(code) is None


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("73211008", "check digit"),
        ("73211", "6 to 18 digits"),
        ("073211009", "6 to 18 digits"),
        ("7" * 19, "6 to 18 digits"),
        ("diabetes", "6 to 18 digits"),
        ("(", "6 to 18 digits"),
        ("٧٣٢١١٠٠٩", "6 to 18 digits"),
        ("680946014", "description"),
        ("12345" + "99" + str(code_forms.verhoeff_digit("1234599")), "partition"),
        ("12345" + "10" + str(code_forms.verhoeff_digit("1234510")), "partition"),
        ("12345" + "02" + str(code_forms.verhoeff_digit("1234502")), "relationship"),
    ],
)
def test_what_is_no_snomed_concept_says_why(code: str, problem: str) -> None:
    assert problem in (code_forms.snomed_problem(code) or "")


@given(st.integers(1, 9_999_999))
def test_a_loinc_number_with_its_own_digit_passes_and_no_other_does(number: int) -> None:
    digit = identifiers.luhn_digit(str(number))
    assert [other for other in range(10) if code_forms.loinc_problem(f"{number}-{other}") is None] == [digit]


@pytest.mark.parametrize("code", ["8867-4", "2160-0", "718-7", "LA6576-8", "LP14559-6", "LL5-1"])
def test_loinc_codes_parts_and_answers_pass(code: str) -> None:
    assert code_forms.loinc_problem(code) is None


@pytest.mark.parametrize("code", ["8867", "8867-", "8867-44", "LX1-1", "88674", "12345678-9", " 8867-4", "8867-4\n"])
def test_what_is_not_of_loinc_s_form_is_refused(code: str) -> None:
    assert "form" in (code_forms.loinc_problem(code) or "")


@pytest.mark.parametrize("code", ["E11.9", "E11", "C4A.0", "S00.01XA", "Z79.899", "U07.1", "Z3A.38", "T36.0X1A"])
def test_icd_codes_pass(code: str) -> None:
    assert code_forms.icd10cm_problem(code) is None


@pytest.mark.parametrize(
    ("code", "problem"), [("E119", "dot"), ("e11.9", "upper case"), ("E1.19", "form"), ("11.9", "form"), ("E11.", "form"), ("E11.12345", "form"), ("", "form")]
)
def test_what_is_not_of_icd_s_form_says_why(code: str, problem: str) -> None:
    assert problem in (code_forms.icd10cm_problem(code) or "")


@pytest.mark.parametrize(
    ("problem_of", "good", "bad"),
    [
        (code_forms.rxnorm_problem, ["860975", "1", "12345678"], ["0860975", "", "86097x", "123456789", "٨"]),
        (code_forms.cvx_problem, ["08", "140", "213"], ["8", "1234", "ab", ""]),
        (code_forms.ndc_problem, ["0069-2587-41", "00069-2587-41", "0069258741", "00069258741", "0069-2587"], ["69", "0069-2587-412", "x"]),
    ],
)
def test_the_forms_of_drugs_and_vaccines(problem_of, good: list[str], bad: list[str]) -> None:
    assert [code for code in good if problem_of(code)] == []
    assert [code for code in bad if not problem_of(code)] == []
