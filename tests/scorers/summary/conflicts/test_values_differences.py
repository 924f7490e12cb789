"""Which sentences state another value than the units they are about: tables of our own, one to develop on and one that was written first and not looked at."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from touchstone.scorers.summary.conflicts.values.differences import find
from touchstone.scorers.summary.conflicts.values.surroundings import look
from touchstone.scorers.summary.lexical import containment

TABLES = Path(__file__).parents[1] / "values"
#: Seconds that one call may take on a busy machine, whatever it is given.
PATIENCE_S = 20


def rules(sentence: str, units: list[str]) -> list[str]:
    """The rules that are broken; "!" behind a clinical one."""
    return [difference.rule + "!" * difference.clinical for difference in find(sentence, units)]


def nearest_first(sentence: str, units: list[str]) -> list[str]:
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
    ("sentence", "unit"),
    [
        ("The court decided by three votes to one.", "The court decided by two votes to one."),
        ("An artery was narrowed by 90%, and three stents were placed.", "One artery was narrowed by 90%, and two stents were placed."),
        (
            "He was sentenced in May 2012 to six years for frauds that ended in 2018.",
            "He was sentenced in May 2021 to six years for frauds that ended in 2018.",
        ),
        ("The company sold 1.3 million drills, of which 45% went abroad.", "The company sold 1.3 million drills, of which 55% went abroad."),
        ("Revenue will be £890 million this year.", "Revenue will be £980 million this year, and net debt is £74 million."),
        ("They had six shots to the visitors' 17.", "They had 17 shots to the visitors' six."),
    ],
)
def test_a_copied_sentence_with_another_value_is_wrong_though_the_value_could_be_worked_out(sentence: str, unit: str) -> None:
    assert rules(sentence, [unit])


@pytest.mark.parametrize(
    ("sentence", "unit"),
    [
        ("Profit rose to £26.9 million from £31.4 million.", "Profit rose to £31.4 million from £26.9 million."),
        ("The order was cut from £650,000 to £900,000.", "The order was cut from £900,000 to £650,000."),
        ("A run takes 41 minutes, down from 17 minutes.", "A run takes 17 minutes, down from 41 minutes."),
    ],
)
def test_a_change_that_is_turned_round_is_found_at_both_ends(sentence: str, unit: str) -> None:
    assert len(rules(sentence, [unit])) == 2


@pytest.mark.parametrize(
    ("sentence", "unit"),
    [
        ("The marker rose from 81 to over 1,200.", "Troponin rose from 18 to 1,240 ng/L."),
        ("Mortality: 38% versus 8%.", "At the highest dose 38% died, against 4% of the controls."),
    ],
)
def test_a_value_beside_the_same_other_half_of_a_pair_is_wrong(sentence: str, unit: str) -> None:
    assert rules(sentence, [unit])


@pytest.mark.parametrize(
    ("sentence", "units"),
    [
        ("Denby remain 14 points behind Rovers.", ["Rovers have 19 points from ten games.", "Denby have five points."]),
        ("Roughly 715,000 of the drills went abroad.", ["The company sold 1.3 million drills, of which 55% went abroad."]),
        ("Nine hundred people in the district died or were hurt.", ["At least 134 people died in the district and 766 were injured."]),
        ("Of the bridges only thirteen remained.", ["The water destroyed 62 of 75 bridges."]),
        ("The river rose 4.8 metres above its old mark.", ["The river rose to 8.7 metres.", "The old mark of the river was 3.9 metres."]),
        ("The peak was forecast for about seven in the evening.", ["The warning came at 11.09 pm, four hours after the peak was forecast."]),
        ("The warning came shortly after eleven at night.", ["The warning came at 11.09 pm."]),
        ("She takes up to 4 g of paracetamol daily.", ["She takes paracetamol 1 g four times a day."]),
        ("His contract is worth around six million pounds a year.", ["His contract is worth £120,000 a week."]),
        ("She married at 28.", ["She was born in 1871.", "She married in 1899."]),
    ],
)
def test_what_follows_from_stated_values_is_no_conflict(sentence: str, units: list[str]) -> None:
    assert rules(sentence, units) == []


@pytest.mark.parametrize(
    ("sentence", "units"),
    [
        ("More than a third of the larvae died.", ["Of the larvae 38% died."]),
        ("Mrs Crowe, who will soon be ninety, fell.", ["Mrs Edith Crowe, 89, fell at home."]),
        ("Protection might be as low as 72%.", ["Protection was 81.4% (95% CI 72.3 to 87.6)."]),
        ("The heart beat 22 times a minute slower.", ["Heart rate dropped by 22 beats per minute."]),
        ("They add a half marathon next year.", ["Prize money was 12 per cent more than last year."]),
    ],
)
def test_rough_values_and_other_ways_to_write_one_are_no_conflict(sentence: str, units: list[str]) -> None:
    assert rules(sentence, units) == []


@pytest.mark.parametrize(
    ("sentence", "units"),
    [
        ("He left after 17 seasons.", ["The captain leaves after 17 years.", "He scored 11 goals in 46 games last season."]),
        ("About 12,000 people got the vaccine.", ["Seven people died in the vaccine group and four in the placebo group."]),
        ("More than 18,000 participants got the vaccine.", ["18,240 adults took part.", "35 vaccinated and 94 unvaccinated participants fell ill."]),
        ("They lost 1-0 away from home on the last day.", ["The club has lost four managers in the years since its last title."]),
        ("The trial had 412 volunteers.", ["The mean difference was 1.2 cramps for the volunteers."]),
    ],
)
def test_a_value_of_something_else_is_no_conflict(sentence: str, units: list[str]) -> None:
    assert rules(sentence, units) == []


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


def test_a_unit_beyond_the_near_ones_bears_a_value_and_contradicts_none() -> None:
    sentence, near, far = (
        "The hospital treated 480 patients in March.",
        "The hospital treated 410 patients in February.",
        "In March the hospital treated 480 patients.",
    )
    assert find(sentence, [near], near=1)
    assert find(sentence, [near, far], near=1) == []
    assert find(sentence, [far.replace("480", "510")], near=0) == []


WOKEN, ARRIVED = "A pain in the chest woke her at 04:50.", "The ambulance brought her to the hospital at 06:40."


@pytest.mark.parametrize(
    ("sentence", "units", "found"),
    [
        ("The ambulance brought her to the hospital at 06:40, fifty minutes later.", [WOKEN, ARRIVED], ["duration"]),
        ("The ambulance brought her to the hospital at 06:40, an hour and fifty minutes later.", [WOKEN, ARRIVED], []),
        ("The ambulance brought her to the hospital at 06:40, almost two hours later.", [WOKEN, ARRIVED], []),
        ("The ambulance brought her to the hospital at 06:40, fifty minutes later.", [WOKEN, ARRIVED, "She was examined for fifty minutes."], []),
        ("The ambulance brought her to the hospital at 06:40, fifty minutes later.", [WOKEN, ARRIVED, "It was called at 05:55."], ["duration"]),
        ("The ambulance brought her to the hospital at 06:40, about fifty minutes later.", [WOKEN, ARRIVED, "It was called at 05:55."], []),
        ("The ambulance brought her to the hospital at 06:40, fifty minutes later.", [ARRIVED], []),
        ("The ambulance brought her to the hospital at 06:40, six hours later.", [ARRIVED, "She fell asleep at 00:40."], []),
    ],
)
def test_a_span_that_no_two_times_of_day_are_apart_is_a_conflict(sentence: str, units: list[str], found: list[str]) -> None:
    assert rules(sentence, units) == found


def test_a_date_does_not_follow_from_a_span_that_is_as_new_as_itself() -> None:
    units = ["Requests tried the first hole from 13 to 16 March.", "Some 3,600 gateways were exposed on 10 March."]
    assert rules("Three days before that, on 7 March, requests tried the first hole.", units) == ["date"]


def test_a_date_follows_from_a_span_that_a_unit_states() -> None:
    units = ["Requests tried the first hole from 13 to 16 March.", "It was found on 10 March, three days after the first patch."]
    assert rules("Three days before that, on 7 March, the first hole was patched.", units) == []


def test_a_share_and_the_amount_it_leads_to_are_no_pair() -> None:
    joined, alone = (look(f"The sales of the quarter climbed {change} to 421 million.").values for change in ("14%", ""))
    assert [one.value.mate for one in joined] == [0, 0]
    assert joined[1].value.readings == alone[0].value.readings
    assert [one.value.mate for one in look("The share is 10 to 14%.").values] == [1, -1]
