import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.scorers.safe.matching import fold, fold_items, partition, prepare, reference

MATCHES = {
    "case does not matter": ("NPO Status", "the npo STATUS was unclear", True),
    "sharp s matches its two letters": ("STRASSE", "Straße", True),
    "full width letters match plain ones": ("CT scan", "ＣＴ　ｓｃａｎ", True),
    "composed and decomposed letters match": ("naïve", "nai\u0308ve", True),
    "a letter that casefolding takes apart matches its upper case": ("ΐ", "ΐ".upper(), True),
    "line breaks and runs of white space are one space": ("over 24 hours", "over\r\n 24\u00a0\thours", True),
    "white space around an expectation does not matter": ("  hours ", "24hours", True),
    "substrings inside words match": ("policy", "policyholder", True),
    "absent text is not found": ("fever", "afebrile", False),
}


@pytest.mark.parametrize(("expected", "text", "is_found"), MATCHES.values(), ids=MATCHES)
def test_what_counts_as_found(expected: str, text: str, is_found: bool) -> None:
    assert bool(partition(prepare((expected,), quote=True), fold(text))[0]) is is_found


def test_no_match_spans_two_items() -> None:
    missing = partition(prepare(("hip fracture",), quote=True), fold_items(["left hip", "fracture"]))[1]
    assert [item.shown for item in missing] == ["hip fracture"]


def test_expectations_that_fold_alike_count_once_in_the_first_spelling() -> None:
    assert [(item.place, item.shown) for item in prepare(("Policy", "fever", "POLICY ", "policy"), quote=True)] == [(0, "Policy"), (1, "fever")]


def test_a_reference_is_the_same_for_every_spelling() -> None:
    assert reference(fold("Chest Pain")) == reference(fold("chest  pain"))


def test_a_reference_shows_twelve_hex_digits_and_no_text() -> None:
    name, _, digits = reference(fold("chest pain")).partition(":")
    assert name == "withheld"
    assert len(digits) == 12
    assert int(digits, 16) >= 0


def test_long_lists_are_prepared_like_short_ones() -> None:
    long = tuple(f"{'x' * 100} {n}" for n in range(100))
    assert [item.shown for item in prepare(long, quote=True)] == list(long)


@given(st.text())
def test_folding_is_stable_for_ascii_case_and_white_space(text: str) -> None:
    assert fold(f"  {text}\n") == fold(text)


@given(st.text(st.characters(max_codepoint=127)))
def test_the_ascii_path_agrees_with_the_general_one(text: str) -> None:
    # A combining mark ends the text, so that the general path is taken.
    assert fold(text + " \u0334").removesuffix("\u0334").strip() == fold(text)


@given(st.text(), st.text(min_size=1), st.text())
def test_ascii_upper_case_matches_lower_case(before: str, middle: str, after: str) -> None:
    shouted = "".join(character.upper() if character.isascii() else character for character in middle)
    assert fold(before + middle + after) == fold(before + "".join(c.upper() if c.isascii() else c for c in middle) + after)
    assert fold(shouted) == fold(middle)
