from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.streams.process.metrics import LATENCY_BUCKETS_S, SCORE_BUCKETS, Histogram


@pytest.mark.parametrize("threshold", [0.5, 0.6, 0.8, 1.0])
def test_every_threshold_of_the_specifications_is_a_boundary(threshold: float) -> None:
    assert threshold in SCORE_BUCKETS


@given(st.lists(st.floats(0, 4000, allow_nan=False), max_size=40), st.floats(4000, 5000))
def test_ages_counted_together_fall_where_they_would_one_by_one(ages: list[float], now: float) -> None:
    together = Histogram(LATENCY_BUCKETS_S)
    stamps = sorted(now - age for age in ages)
    together.observe_ages(stamps, now)
    counts = [0] * (len(LATENCY_BUCKETS_S) + 1)
    for stamp in stamps:
        # the comparison that the joint count makes: stamp >= now - bound
        counts[next((n for n, bound in enumerate(LATENCY_BUCKETS_S) if stamp >= now - bound), len(LATENCY_BUCKETS_S))] += 1
    cumulative, total = together.cumulative()
    running = 0
    for (_, seen), count in zip(cumulative, counts, strict=True):
        running += count
        assert seen == running
    assert total == pytest.approx(sum(now - stamp for stamp in stamps), abs=1e-6)


def test_a_value_on_a_bound_counts_as_at_most_that_bound() -> None:
    histogram = Histogram((0.5, 1.0))
    histogram.observe(0.5)
    assert histogram.cumulative()[0][0] == ("0.5", 1.0)
    assert bisect_left((0.5, 1.0), 0.5) == 0
