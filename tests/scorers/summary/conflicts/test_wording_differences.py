from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touchstone.scorers.summary.conflicts.wording.differences import find

CORPUS = Path(__file__).parents[1] / "corpus"


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()]


DEVELOPMENT, UNSEEN = _rows("wording_differences.jsonl"), _rows("wording_differences_unseen.jsonl")


def _rules(row: dict[str, Any]) -> set[str]:
    return {difference.rule for difference in find(row["sentence"], row["units"])}


@pytest.mark.parametrize("row", DEVELOPMENT, ids=lambda row: row["sentence"][:60])
def test_a_sentence_is_alarmed_by_its_rule_or_not_at_all(row: dict[str, Any]) -> None:
    assert _rules(row) == ({row["rule"]} if row["rule"] else set())


def test_most_conflicts_of_unseen_rows_are_found_and_hardly_a_true_sentence_is_alarmed() -> None:
    conflicts = [row for row in UNSEEN if row["rule"]]
    true = [row for row in UNSEEN if not row["rule"]]
    assert sum(row["rule"] in _rules(row) for row in conflicts) >= 0.6 * len(conflicts)
    assert sum(bool(_rules(row)) for row in true) <= 1


def test_a_difference_points_to_the_words_of_both() -> None:
    sentence, units = "Sales fell in May, and Dr. Hale started apixaban.", ["Costs were stable.", "Dr. Nwosu started apixaban."]
    (found,) = find(sentence, units)
    assert (found.rule, found.unit) == ("name", 1)
    assert (sentence[slice(*found.here)], units[1][slice(*found.there)]) == ("Hale", "Nwosu")


def test_a_side_and_an_allergy_are_clinical() -> None:
    assert [found.clinical for found in find("He has a rash on the left leg.", ["He has a rash on the right leg."])] == [True]
    assert [found.clinical for found in find("She is allergic to latex.", ["She has no known allergies."])] == [True]


def test_another_unit_that_says_the_same_silences_the_alarm() -> None:
    assert find("Rents rose in Leeds.", ["Rents fell in Leeds."])
    assert not find("Rents rose in Leeds.", ["Rents fell in Leeds.", "In Leeds rents increased."])


def test_a_negation_that_both_have_bears_no_other_one() -> None:
    unit, fact = "A battery caused the fire, and arson was ruled out.", "Arson was ruled out."
    assert [found.rule for found in find("A battery caused the fire, and arson was not ruled out.", [unit, fact])] == ["negation"]
    assert not find(unit, ["A battery caused the fire, and arson was not ruled out.", fact])
    assert not find("It did not rain, and the trial was not stopped.", ["It did not rain, and the trial was stopped.", "The trial was not stopped."])


def test_a_sentence_of_a_unit_is_never_alarmed_whatever_the_others_say() -> None:
    units = ["The left lung is clear.", "The right lung is not clear.", "Anna voted for it.", "Bert voted against it."]
    assert not [found for unit in units for found in find(unit, units)]


def test_several_errors_of_a_copied_sentence_are_all_found() -> None:
    unit = "Dr. Petrova closed the left knee wound, and the graft was not infected on Monday."
    sentence = "Dr. Karim closed the right knee wound, and the graft was infected on Monday."
    assert {found.rule for found in find(sentence, [unit])} == {"name", "laterality", "negation"}


#: Written for names that stand within a longer one: before "of", or as the owner of something.
SWAPPED = [
    ("Nora Falk of Lund was sent off in the 43rd minute.", "Mia Stern of Lund was sent off in the 43rd minute."),
    ("On Friday the council passed Nora Falk's Harbour Bill by ten votes.", "On Friday the council passed Mia Stern's Harbour Bill by ten votes."),
    ("The jury heard Judge Nora Falk of Osvik on Friday.", "The jury heard Judge Mia Stern of Osvik on Friday."),
]
SAME_NAMES = [
    ("Nora Falk of Lund was sent off in the 43rd minute.", "Ms Falk of Lund was sent off in the 43rd minute."),
    ("The Parliament of Lund passed the bill by ten votes.", "The City Council of Lund passed the bill by ten votes."),
    ("On Friday Osvik General Hospital of Lund took her in.", "On Friday Osvik District Hospital of Lund took her in."),
    ("Lundmark's pivot Nora Falk of Lund was sent off on Friday.", "Playmaker Nora Falk of Lund was sent off on Friday."),
]


@pytest.mark.parametrize(("unit", "sentence"), SWAPPED)
def test_a_name_within_a_longer_one_is_compared(unit: str, sentence: str) -> None:
    assert [difference.rule for difference in find(sentence, [unit])] == ["name"]
    assert find(sentence, [unit, sentence.replace("43rd", "44th").replace("Friday", "that Friday")]) == []


@pytest.mark.parametrize(("unit", "sentence"), SAME_NAMES)
def test_a_title_or_an_institution_in_a_longer_name_is_no_other_name(unit: str, sentence: str) -> None:
    assert find(sentence, [unit]) == []


@pytest.mark.parametrize(
    "text", ["", " ", "!!", "not", "No.", "a" * 50_000, "not " * 20_000, "X sued Y, " * 5_000, "left knee " * 5_000, "allergic to " * 5_000, "(" * 9_999]
)
def test_hostile_text_is_read_in_bounded_time(text: str) -> None:
    begun = time.process_time()
    find(text, [text, text[::-1], "The left knee was not closed.", "He is allergic to latex."] * 4)
    find("He is not allergic to latex and sued Ana on the left knee.", [text] * 16)
    assert time.process_time() - begun < 10


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=4))
def test_any_text_gives_places_inside_both(sentence: str, units: list[str]) -> None:
    for found in find(sentence, units):
        assert 0 <= found.here[0] < found.here[1] <= len(sentence)
        assert 0 <= found.there[0] < found.there[1] <= len(units[found.unit])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([row["sentence"] for row in DEVELOPMENT]), min_size=1, max_size=4))
def test_no_sentence_differs_from_itself(sentences: list[str]) -> None:
    assert not [found for sentence in sentences for found in find(sentence, sentences)]
