import random
import sys
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.schemas.reports.intervals import Interval
from touchstone.scorers.reporting.intervals import Pairs, Rate, mean_difference, mean_interval, rate_difference


def drawn(count: int, seed: int, shape: float = 6) -> list[float]:
    draw = random.Random(seed)
    return [draw.betavariate(shape, 2) for _ in range(count)]


def known(interval: Interval | None) -> Interval:
    assert interval is not None
    return interval


@pytest.mark.parametrize(
    ("now", "before", "low", "high"),
    # Newcombe, Statistics in Medicine 17 (1998) 873, table II, method 10.
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0),
    ],
)
def test_independent_rates_give_the_published_values(now: tuple[int, int], before: tuple[int, int], low: float, high: float) -> None:
    interval = known(rate_difference(Rate(*before), Rate(*now)))
    assert (interval.low, interval.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_paired_rates_give_the_published_values() -> None:
    # Newcombe, Statistics in Medicine 17 (1998) 2635, method 10, of 36 pairs of two, 12 and 2 of one, and none of neither.
    interval = known(rate_difference(Rate(38, 50), Rate(48, 50), Pairs(both=36, before=2, now=12)))
    assert (interval.low, interval.high) == (pytest.approx(0.0569, abs=5e-5), pytest.approx(0.3404, abs=5e-5))


@given(st.tuples(*[st.integers(0, 50)] * 4).filter(any))
def test_pairs_the_other_way_round_have_the_difference_the_other_way_round(counts: tuple[int, int, int, int]) -> None:
    both, before, now, neither = counts
    pairs = Pairs(both, before, now, neither)
    one, other = Rate(both + before, pairs.total), Rate(both + now, pairs.total)
    there = known(rate_difference(one, other, pairs))
    back = known(rate_difference(other, one, Pairs(both, now, before, neither)))
    assert (there.low, there.high) == (pytest.approx(-back.high), pytest.approx(-back.low))
    assert -1 <= there.low <= other.share - one.share <= there.high <= 1


def test_cases_that_agree_make_the_interval_narrower_as_far_as_they_are_shared() -> None:
    before, now = Rate(50, 100), Rate(55, 100)
    alone, half, all_of_them = (known(rate_difference(before, now, pairs)) for pairs in (None, Pairs(25, 0, 2, 23), Pairs(50, 0, 5, 45)))
    assert all_of_them.high - all_of_them.low < half.high - half.low < alone.high - alone.low


def test_nothing_has_no_difference() -> None:
    assert rate_difference(Rate(0, 0), Rate(1, 2)) is None
    assert mean_difference([0.5], [0.1, 0.9]) is None
    assert mean_difference([], []) is None


def test_where_every_case_is_on_both_sides_the_differences_of_the_cases_are_what_counts() -> None:
    before = drawn(30, 1)
    now = [value + 0.01 * (number % 3) for number, value in enumerate(before)]
    paired = known(mean_difference(before, now, list(zip(before, now, strict=True))))
    assert paired == mean_interval([other - one for one, other in zip(before, now, strict=True)])
    assert paired.high - paired.low < 0.02
    alone = known(mean_difference(before, now))
    assert alone.low < 0 < alone.high


def test_some_shared_cases_make_the_interval_narrower_than_none() -> None:
    before, now = drawn(40, 1), [*drawn(40, 1)[:20], *drawn(20, 2)]
    shared = known(mean_difference(before, now, list(zip(before[:20], now[:20], strict=True))))
    alone = known(mean_difference(before, now))
    assert shared.high - shared.low < alone.high - alone.low


def test_two_shared_cases_of_forty_hardly_matter() -> None:
    before, now = drawn(40, 1), [*drawn(40, 1)[:2], *drawn(38, 2)]
    shared = known(mean_difference(before, now, list(zip(before[:2], now[:2], strict=True))))
    alone = known(mean_difference(before, now))
    assert 0.95 < (shared.high - shared.low) / (alone.high - alone.low) < 1


def test_shared_cases_that_do_not_vary_change_nothing() -> None:
    before, now = drawn(40, 1), drawn(41, 2)
    assert mean_difference(before, now, [(0.5, 0.5), (0.5, 0.6)]) == mean_difference(before, now)


def test_values_at_the_end_of_numbers_have_no_interval_rather_than_an_infinite_one() -> None:
    most = sys.float_info.max
    assert mean_difference([-most, -most], [most, most], [(-most, most), (-most, most)]) is None
    assert mean_difference([-most, most, 0.0], [most, most]) is None


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_interval_of_two_samples_is_the_one_of_scipy(seed: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy comes with the extra nli; it is the second source here")
    before, now = drawn(40, seed), drawn(55, seed + 10, 4)
    theirs = stats.bootstrap((now, before), lambda a, b: fmean(a) - fmean(b), vectorized=False, n_resamples=2_000, method="BCa", rng=seed).confidence_interval
    ours = known(mean_difference(before, now))
    width = theirs.high - theirs.low
    assert abs(ours.low - theirs.low) < 0.1 * width
    assert abs(ours.high - theirs.high) < 0.1 * width


@pytest.mark.parametrize(("count", "kept"), [(12, 0.5), (40, 0.0), (40, 0.9)])
def test_nineteen_of_twenty_intervals_of_paired_rates_hold_the_true_difference(count: int, kept: float) -> None:
    draw = random.Random(3)
    held = 0
    for _ in range(400):
        counts = [0, 0, 0, 0]
        for _ in range(count):
            one = draw.random() < 0.7
            other = one if draw.random() < kept else draw.random() < 0.8
            counts[(not one) * 2 + (not other) if one == other else (1 if one else 2)] += 1
        both, before, now, neither = counts
        interval = known(rate_difference(Rate(both + before, count), Rate(both + now, count), Pairs(both, before, now, neither)))
        held += interval.low <= (1 - kept) * 0.1 <= interval.high
    assert held / 400 >= 0.93
