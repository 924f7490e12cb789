import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.scorers.calibration import prevalence
from touchstone.scorers.calibration.agreement import agreement
from touchstone.scorers.calibration.prevalence import UncorrectableError, corrected
from touchstone.scorers.calibration.recalls import Recalls
from touchstone.scorers.calibration.saturation import saturation
from touchstone.scorers.calibration.splits import LeakError, refuse_leaks, split
from touchstone.scorers.reporting.intervals import Rate, wilson


def test_recalls_count_what_people_failed_and_passed() -> None:
    recalls = Recalls.of([(True, True), (True, False), (True, True), (False, False), (False, True)])
    assert recalls.fail_recall.share == pytest.approx(2 / 3)
    assert recalls.pass_recall.share == 0.5


def test_a_judge_below_its_floor_or_with_few_labels_may_not_decide() -> None:
    assert Recalls(30, 24, 30, 27).shortfalls(floor=0.8, least=30) == ()
    assert Recalls(30, 23, 30, 27).shortfalls(floor=0.8, least=30) == ("fail_recall is 0.767; 0.80 is needed",)
    assert Recalls(29, 29, 30, 27).shortfalls(floor=0.8, least=30) == ("people gave 29 fail verdicts in the test set; 30 are needed",)
    assert Recalls(30, 30, 30, 10).shortfalls(floor=0.8, least=30) == ("pass_recall is 0.333; 0.80 is needed",)


def test_the_rate_is_corrected_for_both_errors() -> None:
    # 1,000 cases, 200 of them failures: the judge finds 160 of these, and fails 80 of the 800 good ones.
    found = corrected(Rate(240, 1000), Recalls(100, 80, 100, 90))
    assert found.seen.share == 0.24
    assert found.corrected == pytest.approx(0.2)
    assert found.interval.low < 0.2 < found.interval.high
    assert corrected(Rate(240, 1000), Recalls(100, 80, 100, 90)) == found


def test_fewer_labels_and_fewer_live_cases_each_widen_the_interval() -> None:
    def width(live: int, labels: int) -> float:
        interval = corrected(Rate(live * 24 // 100, live), Recalls(labels, labels * 8 // 10, labels, labels * 9 // 10)).interval
        return interval.high - interval.low

    assert width(10_000, 500) < width(10_000, 50)
    assert width(10_000, 500) < width(100, 500)


@pytest.mark.parametrize(
    ("seen", "recalls", "reason"),
    [
        (Rate(0, 0), Recalls(10, 9, 10, 9), "judged no case"),
        (Rate(1, 10), Recalls(0, 0, 10, 9), "missing"),
        (Rate(1, 10), Recalls(10, 9, 0, 0), "missing"),
        (Rate(1, 10), Recalls(10, 5, 10, 5), "chance"),
        (Rate(1, 10), Recalls(10, 1, 10, 2), "chance"),
    ],
)
def test_a_rate_that_cannot_be_corrected_is_refused(seen: Rate, recalls: Recalls, reason: str) -> None:
    with pytest.raises(UncorrectableError, match=reason):
        corrected(seen, recalls)


def test_a_judge_without_an_error_on_few_labels_is_not_certain() -> None:
    interval = corrected(Rate(100, 1000), Recalls(10, 10, 10, 10)).interval
    assert interval.high - interval.low > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("labels", [100, 500])
def test_intervals_cover_the_truth(labels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 simulated reviews: people label half of the cases as failed, and a judge of known error judges these cases and 1,000 others.

    The judge's errors and the rate are drawn anew each time: for one recall, Wilson's coverage swings between 93 and 97 %, because counts are whole.
    """
    monkeypatch.setattr(prevalence, "DRAWS", 300)
    draw, runs, of_rate, of_recall = np.random.default_rng(labels), 2_000, 0, 0
    half = labels // 2
    for run in range(runs):
        fails, passes, truth = draw.uniform(0.75, 0.95), draw.uniform(0.75, 0.95), draw.uniform(0.05, 0.4)
        recalls = Recalls(half, int(draw.binomial(half, fails)), half, int(draw.binomial(half, passes)))
        seen = Rate(int(draw.binomial(1_000, truth * fails + (1 - truth) * (1 - passes))), 1_000)
        interval = corrected(seen, recalls, seed=run).interval
        of_rate += interval.low <= truth <= interval.high
        wilson = recalls.fail_recall.interval
        assert wilson is not None
        of_recall += wilson.low <= fails <= wilson.high
    assert 0.94 <= of_rate / runs <= 0.965
    assert 0.94 <= of_recall / runs <= 0.965


@pytest.mark.parametrize("labels", [100, 500])
def test_wilson_covers_nineteen_of_twenty_on_average_and_never_far_less(labels: int) -> None:
    """Exactly, without a draw: the chance of every count, over recalls from .70 to .95."""
    intervals = [wilson(count, labels) for count in range(labels + 1)]
    covered = []
    for recall in np.linspace(0.7, 0.95, 51):
        chance = math.lgamma(labels + 1)
        logs = [
            chance - math.lgamma(k + 1) - math.lgamma(labels - k + 1) + k * math.log(recall) + (labels - k) * math.log1p(-recall) for k in range(labels + 1)
        ]
        covered.append(sum(math.exp(log) for log, one in zip(logs, intervals, strict=True) if one is not None and one.low <= recall <= one.high))
    assert 0.94 <= sum(covered) / len(covered) <= 0.96
    assert min(covered) > 0.92


def test_kappa_gives_the_published_value() -> None:
    # Cohen's example in Fleiss, Levin and Paik (2003), table 18.1: kappa .68.
    cells = {("a", "a"): 75, ("a", "b"): 1, ("a", "c"): 4, ("b", "a"): 5, ("b", "b"): 4, ("b", "c"): 1, ("c", "a"): 0, ("c", "b"): 0, ("c", "c"): 10}
    found = agreement([pair for pair, count in cells.items() for _ in range(count)])
    assert found.same.share == pytest.approx(0.89)
    assert found.kappa == pytest.approx(0.68, abs=0.005)
    assert found.interval is not None
    assert found.interval.low < 0.68 < found.interval.high


def test_the_same_verdict_everywhere_says_nothing_about_agreement() -> None:
    assert agreement([("pass", "pass")] * 20).kappa is None
    assert agreement([]).kappa is None


def test_reviewers_who_disagree_always_have_a_negative_kappa() -> None:
    found = agreement([("pass", "fail"), ("fail", "pass")] * 10)
    assert found.kappa == -1


def test_saturation_counts_new_kinds_in_each_ten_cases() -> None:
    reviewed = [["labs"], ["labs", "dates"], *[[]] * 8, ["sex"], ["sex"], *[["labs"]] * 3]
    found = saturation(reviewed)
    assert (found.cases, found.kinds, found.new_kinds) == (15, 3, (2, 1))
    # dates once, sex twice
    assert (found.once, found.twice, found.unseen) == (1, 1, 0.0)


def test_kinds_met_once_estimate_those_that_nobody_met() -> None:
    assert saturation([["a"], ["b"], ["c"], ["d"]]).unseen == pytest.approx(3 / 4 * 4 * 3 / 2)
    assert saturation([["a", "b"], ["a", "b"]]).unseen == 0
    assert saturation([]).unseen == 0


PATIENTS = st.lists(st.tuples(st.integers(0, 200).map(str), st.booleans()), min_size=1, max_size=300)


@given(PATIENTS, st.integers(0, 5))
def test_a_patient_is_in_one_part_whatever_the_order(labelled: list[tuple[str, bool]], seed: int) -> None:
    parts = split(labelled, seed)
    assert set(parts) == {patient for patient, _ in labelled}
    assert split(reversed(labelled), seed) == parts


def test_both_classes_have_the_shares() -> None:
    labelled = [(str(number), number < 100) for number in range(400)]
    parts = split(labelled, 3)
    assert Counter(parts[str(number)] for number in range(100)) == {"train": 15, "dev": 45, "test": 40}
    assert Counter(parts[str(number)] for number in range(100, 400)) == {"train": 45, "dev": 135, "test": 120}
    assert split(labelled, 4) != parts


@given(PATIENTS, PATIENTS)
def test_new_labels_move_nobody(first: list[tuple[str, bool]], later: list[tuple[str, bool]]) -> None:
    parts = split(first)
    grown = split([*first, *later], known=parts)
    assert {patient: grown[patient] for patient in parts} == parts


def test_an_example_of_the_test_split_is_an_error() -> None:
    refuse_leaks({"a": "train", "b": "test"}, ["a", "unlabelled"])
    with pytest.raises(LeakError, match=r"1 examples of the prompt are not of the training split \(test\)") as caught:
        refuse_leaks({"a": "train", "patient-7": "test"}, ["a", "patient-7"])
    assert "patient-7" not in str(caught.value)
