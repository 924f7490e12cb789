import math
import random
import sys
import time
from statistics import fmean

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from touchstone.schemas.reports.intervals import Interval
from touchstone.scorers.reporting import intervals
from touchstone.scorers.reporting.intervals import Rate, mean_interval, mean_intervals, wilson

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def drawn(count: int, seed: int = 1) -> list[float]:
    """Scores as a suite yields them: skewed, between 0 and 1."""
    draw = random.Random(seed)
    return [draw.betavariate(6, 2) for _ in range(count)]


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_published_values(count: int, total: int, low: float, high: float) -> None:
    interval = wilson(count, total)
    assert interval is not None
    assert (interval.low, interval.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_all_and_none_have_exact_ends_and_still_a_width() -> None:
    none, all_ = wilson(0, 5), wilson(5, 5)
    assert none is not None
    assert all_ is not None
    assert (none.low, all_.high) == (0.0, 1.0)
    assert none.high == pytest.approx(1 - all_.low) == pytest.approx(0.4344824648)


def test_of_nothing_there_is_no_interval() -> None:
    assert Rate(0, 0).interval is None
    assert Rate(0, 0).share == 0.0
    assert mean_interval([]) is None
    assert mean_interval([0.5]) is None


@given(st.integers(1, 10**9).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_wilson_holds_its_rate_and_stays_a_share(counted: tuple[int, int]) -> None:
    interval = wilson(*counted)
    assert interval is not None
    assert 0 <= interval.low <= counted[0] / counted[1] <= interval.high <= 1


@settings(max_examples=30, deadline=None)
@given(st.lists(FINITE, min_size=2, max_size=80))
@example([sys.float_info.max] * 3)
@example([sys.float_info.max, -sys.float_info.max, 0.0])
def test_any_finite_values_have_an_interval_among_them(values: list[float]) -> None:
    interval = mean_interval(values)
    assert interval is not None
    assert min(values) <= interval.low <= interval.high <= max(values)


@pytest.mark.parametrize("count", [2, 10, 64, 65, 500])
def test_the_same_values_in_any_order_give_the_same_numbers(count: int) -> None:
    values = drawn(count)
    shuffled = random.Random(7).sample(values, count)
    assert mean_interval(values) == mean_interval(shuffled) == mean_interval(iter(values))


def test_equal_values_have_an_interval_without_width() -> None:
    assert mean_interval([0.1] * 7) == Interval(low=0.1, high=0.1)


def test_two_values_have_their_range() -> None:
    interval = mean_interval([0.25, 0.75])
    assert interval is not None
    assert (interval.low, interval.high) == (pytest.approx(0.25), pytest.approx(0.75))


def test_at_the_bound_the_calculated_interval_is_the_resampled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    values = drawn(intervals.RESAMPLED_MAX)
    resampled = mean_interval(values)
    monkeypatch.setattr(intervals, "RESAMPLED_MAX", 1)
    calculated = mean_interval(values)
    assert resampled is not None
    assert calculated is not None
    width = resampled.high - resampled.low
    assert abs(resampled.low - calculated.low) < 0.05 * width
    assert abs(resampled.high - calculated.high) < 0.05 * width


def test_more_cases_make_a_narrower_interval_around_the_mean() -> None:
    widths = []
    for count in (10, 100, 1_000, 10_000):
        values = drawn(count)
        interval = mean_interval(values)
        assert interval is not None
        assert interval.low < math.fsum(values) / count < interval.high
        widths.append(interval.high - interval.low)
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("count", [20, 100])
def test_nineteen_of_twenty_intervals_hold_the_true_mean(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "RESAMPLES", 400)
    held = 0
    for seed in range(200):
        interval = mean_interval(drawn(count, seed))
        assert interval is not None
        held += interval.low <= 0.75 <= interval.high
    # The bootstrap of twenty values is known to be a little narrow.
    assert 0.88 <= held / 200 <= 0.99


def test_a_hundred_thousand_cases_cost_no_resampling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "_resampled", None)
    values = drawn(100_000)
    begun = time.process_time()
    assert mean_interval(values) is not None
    assert time.process_time() - begun < 2  # some 50 ms on an idle machine


def test_only_means_that_have_an_interval_are_listed() -> None:
    assert set(mean_intervals({"a": [0.1, 0.2], "b": [0.1], "c": []})) == {"a"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_interval_of_a_mean_is_the_one_of_scipy(seed: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy comes with the extra nli; it is the second source here")
    values = drawn(40, seed)
    theirs = stats.bootstrap((values,), fmean, vectorized=False, n_resamples=4_000, method="BCa", rng=seed).confidence_interval
    ours = mean_interval(values)
    assert ours is not None
    width = theirs.high - theirs.low
    assert abs(ours.low - theirs.low) < 0.06 * width
    assert abs(ours.high - theirs.high) < 0.06 * width
