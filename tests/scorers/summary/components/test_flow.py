from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scorers.summary.fakes import FACTS, TableEngines, case, gold, scorer
from touchstone.scorers.summary.components.flow import TIE, WINDOW_TIE, covered, flow_loss, inversions, nearest, order, places


def test_flow_of_four_points_with_one_inversion() -> None:
    # covered 0, 1, 3 at sentences 2, 0, 1: of 3 pairs two are inverted (2 > 0, 2 > 1) → Order 1/3; Coverage 3/4; L = 1 − (.7·.75 + .3/3) = .375
    support = np.array([[0.1, 0.2, 0.9], [0.6, 0.1, 0.0], [0.49, 0.1, 0.2], [0.1, 0.5, 0.2]])
    points = covered(support, 0.5)
    found = [places(support)[point] for point in points]
    assert (points, found) == ([0, 1, 3], [2, 0, 1])
    assert inversions(found) == 2
    assert order(found, 0.75) == pytest.approx(1 / 3)
    assert flow_loss(0.75, 1 / 3) == pytest.approx(0.375)


@pytest.mark.parametrize(
    ("found", "coverage", "expected"),
    [([], 0.0, 0.0), ([3], 0.25, 0.25), ([1, 1, 1], 1, 1.0), ([3, 2, 1], 1, 0.0), ([0, 2, 1, 3], 1, 5 / 6)],
)
def test_order(found: list[int], coverage: float, expected: float) -> None:
    assert order(found, coverage) == pytest.approx(expected)


@given(st.permutations(range(6)))
def test_no_permutation_is_more_in_order_than_the_outline(found: list[int]) -> None:
    assert order(found, 1.0) <= order(sorted(found), 1.0) == 1.0


def test_a_point_lies_in_its_best_sentence() -> None:
    assert places(np.array([[0.1, 0.5, 0.5 + 2 * TIE]])) == [2]


def test_of_sentences_that_support_a_point_alike_the_closest_in_wording_is_its_place() -> None:
    support = np.array([[0.1, 0.95, 0.95 + TIE / 2]])
    assert places(support) == [1]
    assert places(support, np.array([[0.7, 0.2, 0.6]])) == [2]  # the closest of all supports nothing


def test_equal_sentences_have_one_place() -> None:
    assert places(np.array([[0.2, 0.9, 0.9], [0.2, 0.9, 0.9]]), np.array([[0.0, 0.5, 0.5], [0.0, 0.5, 0.5]])) == [1, 1]


def test_without_sentences_there_is_no_place() -> None:
    assert places(np.zeros((2, 0))) == []


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_a_copy_is_in_order_and_its_reverse_is_not_whatever_noise_a_model_adds(count: int, seed: int) -> None:
    # Each point is one sentence's; a model gives it .9 to 1, and every third other sentence nearly as much.
    random = np.random.default_rng(seed)
    support = random.uniform(0, 0.4, (count, count))
    support[random.random((count, count)) < 1 / 3] = random.uniform(0.9, 1.0)
    np.fill_diagonal(support, random.uniform(0.92, 1.0, count))
    closeness = random.uniform(0, 0.5, (count, count))
    np.fill_diagonal(closeness, 0.8)
    assert order(places(support, closeness), 1.0) == 1.0
    assert order(places(support[:, ::-1], closeness[:, ::-1]), 1.0) == 0.0


def test_a_longer_window_that_supports_as_much_is_not_the_evidence() -> None:
    # the second sentence alone, and the window of two that begins one sentence earlier
    assert nearest(np.array([[0.1, 0.90, 0.90 + WINDOW_TIE / 2]])) == [1]
    assert nearest(np.array([[0.1, 0.90, 0.90 + 2 * WINDOW_TIE]])) == [2]


def test_longer_windows_cover_points_and_do_not_place_them() -> None:
    # Each point's own sentence entails it, and every window around that sentence a little more.
    def answer(premise: str, hypothesis: str) -> tuple[float, float]:
        held = hypothesis.strip(".") in premise
        return (0.80 + 0.002 * len(premise) ** 0.5 if held else 0.0), 0.0

    datum = gold(logical_outline=(FACTS[0], FACTS[2], FACTS[5], FACTS[9]))

    def flow_of(text: str) -> tuple[float | None, float | None]:
        values = asyncio.run(scorer(TableEngines(answer)).score(case(text, datum=datum))).values
        return values["coverage"], values["order"]

    assert flow_of(" ".join(FACTS)) == (1.0, 1.0)
    assert flow_of(" ".join(reversed(FACTS))) == (1.0, 0.0)
