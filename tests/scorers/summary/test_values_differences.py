"""Which sentences state another value than the units they are about: tables of our own, one to develop on and one that was written first and not looked at."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from touchstone.scorers.summary.lexical import containment
from touchstone.scorers.summary.value_differences import find

TABLES = Path(__file__).parent / "values"
#: Seconds that one call may take on a busy machine, whatever it is given.
PATIENCE_S = 20


def rules(sentence: str, units: list[str]) -> list[str]:
    """The rules that are broken; "!" behind a clinical one."""
    return [difference.rule + "!" * difference.clinical for difference in find(sentence, units)]


def nearest_first(sentence: str, units: list[str]) -> list[str]:
    """The units as a caller gives them."""
    return sorted(units, key=lambda unit: -containment(unit, sentence))


DEVELOPMENT: list[dict[str, Any]] = json.loads((TABLES / "development.json").read_text(encoding="utf-8"))
UNSEEN: list[dict[str, Any]] = [json.loads(line) for line in (TABLES / "unseen.jsonl").read_text(encoding="utf-8").splitlines()]
WRONG = [(sentence, rule, row["units"]) for row in DEVELOPMENT for sentence, rule in row["wrong"]]
RIGHT = [(sentence, row["units"]) for row in DEVELOPMENT for sentence in row["right"]]


@pytest.mark.parametrize(("sentence", "rule", "units"), WRONG, ids=[sentence for sentence, _, _ in WRONG])
def test_a_wrong_value_is_found(sentence: str, rule: str, units: list[str]) -> None:
    assert rule in rules(sentence, nearest_first(sentence, units))


@pytest.mark.parametrize(("sentence", "units"), RIGHT, ids=[sentence for sentence, _ in RIGHT])
def test_a_value_in_other_words_is_no_conflict(sentence: str, units: list[str]) -> None:
    assert rules(sentence, nearest_first(sentence, units)) == []


def test_most_wrong_values_of_the_unseen_table_are_found() -> None:
    wrong = [row for row in UNSEEN if row["expected"]]
    found = [row for row in wrong if set(row["expected"]) <= set(rules(row["sentence"], row["units"]))]
    assert len(found) / len(wrong) >= 0.85


def test_hardly_a_right_value_of_the_unseen_table_is_called_wrong() -> None:
    right = [row for row in UNSEEN if not row["expected"]]
    alarmed = [row["sentence"] for row in right if rules(row["sentence"], row["units"])]
    assert len(alarmed) <= 1


def test_says_where_both_values_stand() -> None:
    sentence, units = "The hall has 210 seats.", ["The hall opened in May.", "There are 120 seats in the hall."]
    (difference,) = find(sentence, units)
    assert sentence[slice(*difference.here)] == "210"
    assert units[difference.unit][slice(*difference.there)] == "120"


def test_doses_that_changed_places_are_found_both() -> None:
    sentence = "Warfarin 40 mg daily and furosemide 3 mg twice daily were continued."
    assert rules(sentence, ["Warfarin 3 mg daily and furosemide 40 mg twice daily were continued."]) == ["quantity!", "quantity!"]


def test_a_dose_of_another_drug_does_not_bear_it() -> None:
    assert rules("Apixaban 10 mg was started.", ["Apixaban 5 mg was started.", "Ramipril 10 mg was continued."]) == ["quantity!"]


def test_a_value_about_nothing_in_the_units_is_not_called_wrong() -> None:
    assert rules("The orchard has 300 apple trees.", ["The council voted 9 to 4.", "The road is 12 km long."]) == []


def test_no_unit_means_no_difference() -> None:
    assert find("The dose was 5 mg.", []) == []


def test_a_second_value_that_the_sentence_states_too_is_no_conflict() -> None:
    assert rules("Of 40 guests 12 stayed.", ["There were 40 guests.", "Twelve guests stayed."]) == []


@pytest.mark.parametrize(
    ("sentence", "unit"),
    [
        ("3 March is the last day to apply.", "The last day to apply is 03/03."),
        ("The last day to apply is 4 May.", "The last day to apply is 05/04/2024."),
        ("The last day to apply is in March.", "The last day to apply is 3 March 2024."),
        ("The dose is 1,5 g.", "The dose is 1.5 g."),
        ("The town has 1.800 homes.", "The town has 1,800 homes."),
        ("The town has 1\u202f800 homes.", "The town has 1,800 homes."),
        ("The town has \uff11\uff18\uff10\uff10 homes.", "The town has 1,800 homes."),
        ("The town has more than 1,700 homes.", "The town has 1,793 homes."),
        ("2. Press the red button for ten seconds.", "Press the red button for 10 seconds."),
        ("The button is red [3].", "The button [7] is red."),
    ],
)
def test_ambiguous_rough_or_differently_written_values_are_no_conflict(sentence: str, unit: str) -> None:
    assert rules(sentence, [unit]) == []


@pytest.mark.parametrize(
    "hostile",
    [
        "1" * 20_000,
        "1," * 10_000,
        "1 " * 10_000,
        "million " * 2_500,
        "1/2/" * 5_000,
        "½" * 20_000,
        "twenty-" * 3_000,
        "3 March " * 2_500,
        "5 mg of drug " * 1_600,
        "[" * 20_000,
    ],
    ids=["digits", "commas", "ones", "millions", "fractions", "halves", "twenties", "dates", "doses", "brackets"],
)
def test_hostile_text_takes_a_bounded_time(hostile: str) -> None:
    units = [hostile[::-1], *(f"{hostile.replace('1', '2')} {index}" for index in range(7))]
    began = time.process_time()
    find(hostile, units)
    assert time.process_time() - began < PATIENCE_S
