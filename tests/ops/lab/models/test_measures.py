import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.ops.lab.models.measures import auroc, balanced_accuracy, best_threshold, interval, pearson, ranks, spearman


def test_tied_values_share_their_rank() -> None:
    assert ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]


def test_auroc_counts_pairs_in_the_right_order_and_ties_half() -> None:
    # Positives .9 and .4, negatives .4 and .1: (.9>.4) (.9>.1) (.4=.4: half) (.4>.1) = 3.5 of 4.
    assert auroc(np.array([0.9, 0.4, 0.4, 0.1]), np.array([1, 1, 0, 0])) == pytest.approx(3.5 / 4)
    assert np.isnan(auroc(np.array([0.1, 0.2]), np.array([1, 1])))


def test_correlations_of_a_line_and_of_a_monotone_curve() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    assert pearson(x, 2 * x + 1) == pytest.approx(1)
    assert spearman(x, np.exp(x)) == pytest.approx(1)
    assert pearson(x, np.exp(x)) < 1
    assert np.isnan(pearson(x, np.ones(4)))


def test_balanced_accuracy_is_the_mean_of_both_recalls() -> None:
    # One of two positives is found, three of four negatives: (1/2 + 3/4) / 2.
    assert balanced_accuracy(np.array([1, 0, 1, 0, 0, 0]), np.array([1, 1, 0, 0, 0, 0])) == pytest.approx(0.625)


def test_the_best_threshold_separates_what_can_be_separated() -> None:
    scores, positive = np.array([0.1, 0.2, 0.7, 0.9]), np.array([0, 0, 1, 1])
    threshold = best_threshold(scores, positive)
    assert 0.2 < threshold < 0.7
    assert balanced_accuracy((scores >= threshold).astype(float), positive) == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=60))
def test_auroc_of_the_opposite_is_the_complement(rows: list[tuple[int, bool]]) -> None:
    scores, positive = np.array([float(row[0]) for row in rows]), np.array([float(row[1]) for row in rows])
    one, other = auroc(scores, positive), auroc(-scores, positive)
    assert (np.isnan(one) and np.isnan(other)) or one + other == pytest.approx(1)


def test_an_interval_holds_the_figure_and_is_the_same_every_time() -> None:
    values = np.random.default_rng(1).random(200)
    found = interval(lambda rows: float(values[rows].mean()), 200)
    assert found is not None
    assert found[0] < values.mean() < found[1]
    assert interval(lambda rows: float(values[rows].mean()), 200) == found


def test_an_interval_over_documents_is_wider_than_over_rows() -> None:
    groups = np.repeat(np.arange(10), 30)
    values = groups.astype(float)
    by_row = interval(lambda rows: float(values[rows].mean()), 300)
    by_group = interval(lambda rows: float(values[rows].mean()), 300, groups=groups)
    assert by_row is not None
    assert by_group is not None
    assert by_group[1] - by_group[0] > 3 * (by_row[1] - by_row[0])
