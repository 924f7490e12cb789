import asyncio
import itertools
import threading
from typing import Any

import numpy as np
import pytest

from tests.lazily import lazily
from tests.scorers.engines.tiny import SENTENCES, classifier
from touchstone.schemas.settings.engines import EngineSettings
from touchstone.scorers.base import ConfigError, Unavailable
from touchstone.scorers.engines.base import TextTooLong
from touchstone.scorers.engines.batcher import ItemFailed

with lazily():
    import torch

    from touchstone.scorers.engines.nli import NliEngine, Piece, columns_of
    from touchstone.scorers.engines.torch_device import TorchDevice
    from touchstone.scorers.engines.torch_runtime import TorchClassifier

pytestmark = [pytest.mark.xdist_group("models"), pytest.mark.usefixtures("one_torch_thread")]

PAIRS = list(itertools.product(SENTENCES, SENTENCES))


def engine(kind: str = "bert", labels: tuple[str, ...] = ("entailment", "neutral", "contradiction"), **changed: Any) -> NliEngine:
    model, tokenizer = classifier(kind, labels)
    settings = EngineSettings(**changed)
    device = TorchDevice(torch.device("cpu"), torch.float32, threading.Lock())
    return NliEngine(TorchClassifier(model, tokenizer, device), settings, name="tiny@0")


def direct(kind: str, pairs: list[tuple[str, str]]) -> np.ndarray[Any, Any]:
    """What the libraries themselves answer, one pair at a time."""
    model, tokenizer = classifier(kind)
    model.eval()
    out = []
    for premise, hypothesis in pairs:
        with torch.inference_mode():
            out.append(model(**tokenizer([premise], [hypothesis], return_tensors="pt", truncation=False, padding=False)).logits[0].softmax(-1).numpy())
    return np.stack(out)


@pytest.mark.parametrize("kind", ["bert", "roberta", "deberta"])
def test_pairs_from_ids_are_what_the_tokenizer_makes_of_the_texts(kind: str) -> None:
    made = engine(kind)
    _, tokenizer = classifier(kind)
    tokens = made._tokenizer.tokens(SENTENCES)
    pieces = [Piece(tokens[premise], 0, len(tokens[premise]), tokens[hypothesis]) for premise, hypothesis in PAIRS]
    batch = made.layout(pieces)
    for row, (premise, hypothesis) in enumerate(PAIRS):
        # As lists: asked for one pair, the library takes an empty hypothesis for none.
        wanted = {name: rows[0] for name, rows in tokenizer([premise], [hypothesis], truncation=False, padding=False).items()}
        length = len(wanted["input_ids"])
        assert batch.ids[row, :length].tolist() == wanted["input_ids"]
        assert batch.mask[row].tolist() == [1] * length + [0] * (batch.mask.shape[1] - length)
        assert set(batch.ids[row, length:].tolist()) <= {tokenizer.pad_token_id}
        if kind == "roberta":
            assert batch.types is None
        else:
            assert batch.types is not None
            assert batch.types[row, :length].tolist() == wanted["token_type_ids"]


@pytest.mark.parametrize("kind", ["bert", "roberta", "deberta"])
async def test_one_by_one_all_at_once_and_streamed_are_equal_and_what_the_libraries_answer(kind: str) -> None:
    made = engine(kind, batch_tokens=256)
    at_once = await made.entail(PAIRS)
    assert at_once.shape == (len(PAIRS), 3)
    assert at_once.dtype == np.float32
    np.testing.assert_allclose(at_once.sum(1), 1, atol=1e-5)
    alone = np.concatenate([await made.entail([pair]) for pair in PAIRS[::5]])
    np.testing.assert_allclose(at_once[::5], alone, atol=1e-3)
    streamed = await asyncio.gather(*(made.entail(PAIRS[start : start + 3]) for start in range(0, len(PAIRS), 3)))
    np.testing.assert_allclose(at_once, np.concatenate(streamed), atol=1e-3)
    np.testing.assert_allclose(at_once, direct(kind, PAIRS), atol=1e-4)
    await made.close()


async def test_the_label_order_is_that_of_the_models_config() -> None:
    plain, permuted = engine(), engine(labels=("CONTRADICTION", "Entailment", "neutral"))
    first, second = await plain.entail(PAIRS[:5]), await permuted.entail(PAIRS[:5])
    # The same weights: the plain model's columns 0, 1, 2 are the other's contradiction, entailment, neutral.
    np.testing.assert_allclose(second, first[:, [1, 2, 0]], atol=1e-6)
    await plain.close()
    await permuted.close()


async def test_a_two_way_model_has_no_neutral() -> None:
    made = engine(labels=("not_entailment", "entailment"))
    rows = await made.entail(PAIRS[:5])
    assert (rows[:, 1] == 0).all()
    np.testing.assert_allclose(rows[:, 0] + rows[:, 2], 1, atol=1e-6)
    await made.close()


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        (("entailment", "neutral", "contradiction"), ((0,), (1,), (2,))),
        (("CONTRADICTION", "ENTAILMENT", "NEUTRAL"), ((1,), (2,), (0,))),
        (("entailment", "not_entailment"), ((0,), (), (1,))),
        (("non-entailment", "entailment"), ((1,), (), (0,))),
    ],
)
def test_labels_are_recognised(labels: tuple[str, ...], columns: tuple[tuple[int, ...], ...]) -> None:
    assert columns_of(dict(enumerate(labels))) == columns


@pytest.mark.parametrize(
    "labels", [("LABEL_0", "LABEL_1", "LABEL_2"), ("positive", "negative"), ("entailment", "neutral"), ("entailment",), ("a", "b", "c", "d")]
)
def test_labels_that_are_not_understood_are_named(labels: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=f"0: {labels[0]}.*id2label"):
        columns_of(dict(enumerate(labels)))


async def test_each_text_is_tokenized_once() -> None:
    made = engine()
    await made.entail(PAIRS)
    await made.entail(PAIRS)
    assert made._tokenizer.cache.misses == len(SENTENCES)
    await made.close()


async def test_without_a_memory_of_texts_the_answers_are_the_same() -> None:
    with_memory, without = engine(), engine(text_cache_items=0)
    np.testing.assert_allclose(await with_memory.entail(PAIRS), await without.entail(PAIRS), atol=1e-4)
    await with_memory.close()
    await without.close()


async def test_identical_pairs_are_computed_once() -> None:
    made = engine()
    made._tokenizer.tokens(SENTENCES)  # so that every call submits in the same turn
    rows = await asyncio.gather(*(made.entail([PAIRS[1], PAIRS[1], PAIRS[2]]) for _ in range(10)))
    items = next(reading for reading in made.readings() if reading.name == "engine_batch_size_items")
    assert items.value == 2
    assert all((row == rows[0]).all() for row in rows)
    await made.close()


async def test_a_pair_that_makes_the_model_fail_raises_for_its_own_calls_only() -> None:
    made = engine()
    poison = int(made._tokenizer.tokens(["warfarin"])["warfarin"].ids[0])
    model = made._loaded._model

    def moody(**inputs: torch.Tensor) -> Any:
        if (inputs["input_ids"] == poison).any():
            raise RuntimeError("not this one")
        return model(**inputs)

    made._loaded._model = moody
    wanted = direct("bert", [(SENTENCES[1], SENTENCES[2])])
    calls = [[(SENTENCES[1], SENTENCES[2])], [(SENTENCES[0], SENTENCES[1]), (SENTENCES[1], SENTENCES[2])], [(SENTENCES[1], SENTENCES[2])] * 3]
    first, second, third = await asyncio.gather(*(made.entail(call) for call in calls), return_exceptions=True)
    assert isinstance(second, ItemFailed)
    np.testing.assert_allclose(np.asarray(first), wanted, atol=1e-4)
    np.testing.assert_allclose(np.asarray(third), np.repeat(wanted, 3, axis=0), atol=1e-4)
    await made.close()


async def test_an_answer_that_is_no_number_is_a_failure_not_a_score() -> None:
    made = engine()
    with torch.no_grad():
        made._loaded._model.classifier.bias.fill_(float("nan"))
    with pytest.raises(ItemFailed, match="NotANumber"):
        await made.entail(PAIRS[:2])
    await made.close()


async def test_a_long_premise_is_asked_in_overlapping_chunks_and_the_best_entailing_answers() -> None:
    made = engine()
    hypothesis = SENTENCES[2]
    premise = " ".join(SENTENCES[:5] * 6)
    tokens = made._tokenizer.tokens([premise, hypothesis])
    long, short = tokens[premise], tokens[hypothesis]
    works = made._works(long, short)
    assert len(works) > 2
    assert all(work.length <= made.window_tokens for work in works)
    spans = [(work.item.start, work.item.stop) for work in works]
    assert spans[0][0] == 0
    assert spans[-1][1] == len(long)
    assert all(after < before_end for (_, before_end), (after, _) in itertools.pairwise(spans))
    each = np.array([made._forward(made._prepare([work.item]))[0] for work in works])
    row = await made.entail([(SENTENCES[0], hypothesis), (premise, hypothesis)])
    np.testing.assert_allclose(row[1], each[each[:, 0].argmax()], atol=1e-4)
    np.testing.assert_allclose(row[0], direct("bert", [(SENTENCES[0], hypothesis)])[0], atol=1e-4)
    await made.close()


async def test_a_hypothesis_that_leaves_no_room_is_refused_with_its_size() -> None:
    made = engine()
    long = " ".join(SENTENCES[:5] * 3)
    size = len(made._tokenizer.tokens([long])[long])
    with pytest.raises(TextTooLong) as caught:
        await made.entail([(SENTENCES[0], long)])
    assert caught.value.tokens == size
    assert caught.value.tokens_max == made.window_tokens - 3 - 24
    assert SENTENCES[0] not in str(caught.value)
    await made.close()


async def test_a_roberta_like_model_is_never_asked_beyond_its_positions() -> None:
    made = engine("roberta")
    assert made.window_tokens == 96
    rows = await made.entail([(" ".join(SENTENCES * 8), SENTENCES[2])])
    assert np.isfinite(rows).all()
    await made.close()


async def test_text_that_is_not_unicode_is_scored_all_the_same() -> None:
    made = engine()
    assert (await made.entail([("lone \ud800 surrogate", "text")])).shape == (1, 3)
    await made.close()


async def test_no_pairs_no_rows() -> None:
    made = engine()
    assert (await made.entail([])).shape == (0, 3)


async def test_a_closed_engine_refuses() -> None:
    made = engine()
    await made.close()
    with pytest.raises(Unavailable, match="engine_closed"):
        await made.entail(PAIRS[:1])


def test_warming_up_runs_the_model_and_counts_nothing() -> None:
    made = engine()
    made.warm_up()
    assert all(reading.value == 0 for reading in made.readings() if reading.kind == "counter")


async def test_the_time_of_the_tokenizer_is_counted_once_for_each_call_that_brought_a_new_text() -> None:
    made = engine()
    await made.entail(PAIRS[:1])
    await made.entail(PAIRS[:1])
    await made.close()
    (took,) = [reading for reading in made.readings() if reading.name == "engine_tokenization_seconds"]
    assert took.buckets[-1] == (float("inf"), 1)
    assert took.value > 0


def test_the_readings_are_named_by_engine() -> None:
    names = [reading.name for reading in engine().readings()]
    assert {"engine_queue_depth_items", "engine_flushes", "engine_texts_tokenized"} <= set(names)
    assert all(("engine", "nli") in reading.labels for reading in engine().readings())
