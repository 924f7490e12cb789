from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from touchstone.scorers.summary.components.facts import facts_loss, precision
from touchstone.scorers.summary.components.length import COUNTS_FROM, length_loss, unborne_tokens
from touchstone.scorers.summary.settings import Weights
from touchstone.scorers.summary.total import total

SHARE = st.floats(0, 1)
SENTENCES = st.lists(st.tuples(st.integers(1, 80), SHARE), min_size=1, max_size=25)


@given(st.integers(0, 5_000), st.integers(1, 2_500))
def test_a_text_of_which_all_is_borne_has_the_distance_to_its_target(tokens: int, target: int) -> None:
    assert length_loss(tokens, target, 0.0) == pytest.approx(min(1.0, np.log1p(abs(tokens - target) / target)))


@given(st.integers(0, 5_000), st.integers(1, 2_500), st.integers(1, 500), st.floats(0, 1))
def test_tokens_that_nothing_bears_never_lower_the_loss_of_length(tokens: int, target: int, more: int, share: float) -> None:
    unborne = share * tokens
    assert length_loss(tokens + more, target, unborne + more) >= length_loss(tokens, target, unborne) - 1e-12


def test_a_sentence_counts_by_its_support() -> None:
    assert unborne_tokens([10, 10, 10, 10], [0.0, COUNTS_FROM / 2, COUNTS_FROM, 1.0]) == pytest.approx(15)
    assert unborne_tokens([], []) == 0


def test_half_a_text_made_up_is_as_short_as_its_other_half() -> None:
    assert length_loss(300, 300, 150) == pytest.approx(length_loss(150, 300))


@given(st.lists(SHARE, min_size=1, max_size=12), st.integers(1, 4), st.floats(0, 0.499), st.integers(1, 5), st.floats(0, 10))
def test_sentences_with_a_little_support_do_not_thin_conflicts_out(borne: list[float], conflicts: int, little: float, more: int, weight: float) -> None:
    text = np.array([*borne, *[1.0] * conflicts])
    in_conflict = set(range(len(borne), len(text)))
    assume(little <= precision(text, in_conflict, 0))
    longer = np.array([*text, *[little] * more])
    assert precision(longer, in_conflict, weight) <= precision(text, in_conflict, weight) + 1e-12


def _loss(sentences: list[tuple[int, float]], recall: float, target: int, rest: float) -> float:
    """The total loss of a text without conflicts, of which entities, flow and meaning cost `rest`."""
    tokens, support = zip(*sentences, strict=True)
    facts = facts_loss(precision(np.array(support), set(), 6), recall)
    length = length_loss(sum(tokens), target, unborne_tokens(tokens, support))
    return total({"facts": facts, "entities": rest, "flow": rest, "semantic": rest, "length": length}, Weights())


@settings(deadline=None)
@given(SENTENCES, SHARE, st.integers(50, 2_500), SHARE, st.lists(st.integers(1, 200), min_size=1, max_size=10))
def test_made_up_sentences_never_pay(sentences: list[tuple[int, float]], recall: float, target: int, rest: float, made_up: list[int]) -> None:
    longer = [*sentences, *((tokens, 0.0) for tokens in made_up)]
    assert _loss(longer, recall, target, rest) >= _loss(sentences, recall, target, rest) - 1e-12
