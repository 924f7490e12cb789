import asyncio
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.lazily import lazily
from tests.scorers.engines.tiny import SENTENCES, encoder
from touchstone.schemas.settings.engines import EngineSettings
from touchstone.scorers.base import Unavailable
from touchstone.scorers.engines.encoders import default_base

with lazily():
    import torch
    from sentence_transformers import SentenceTransformer

    from touchstone.scorers.engines.embedder import EmbedderEngine
    from touchstone.scorers.engines.torch_device import TorchDevice
    from touchstone.scorers.engines.torch_runtime import TorchEncoder

pytestmark = [pytest.mark.xdist_group("models"), pytest.mark.usefixtures("one_torch_thread")]

LONG = " ".join(SENTENCES[:6] * 10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return encoder(tmp_path_factory.mktemp("encoder"))


def engine(folder: Path, **changed: Any) -> EmbedderEngine:
    model = SentenceTransformer(str(folder), device="cpu")
    device = TorchDevice(torch.device("cpu"), torch.float32, threading.Lock())
    return EmbedderEngine(TorchEncoder(model, device), EngineSettings(**changed), name="tiny@0")


def encoded(folder: Path, texts: list[str]) -> np.ndarray[Any, Any]:
    model = SentenceTransformer(str(folder), device="cpu")
    return np.asarray(model.encode(texts, normalize_embeddings=True, convert_to_numpy=True, batch_size=1))


async def test_short_texts_get_the_vectors_of_the_library(folder: Path) -> None:
    made = engine(folder)
    vectors = await made.embed(SENTENCES)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(SENTENCES), made.dimensions)
    np.testing.assert_allclose(vectors, encoded(folder, SENTENCES), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    await made.close()


async def test_a_long_text_is_the_mean_of_its_chunks_weighted_by_tokens(folder: Path) -> None:
    made = engine(folder)
    window = made._loaded.window - 2
    ids = made._tokenizer.tokens([LONG])[LONG].ids
    assert len(ids) > 2 * window
    chunks = made._chunks(len(ids))
    assert [start for start, _ in chunks[1:]] == [stop for _, stop in chunks[:-1]]  # nothing left out, nothing twice
    assert chunks[-1][1] == len(ids)
    assert max(stop - start for start, stop in chunks) <= window
    total = np.zeros(made.dimensions, dtype=np.float32)
    for start, stop in chunks:
        inputs = {
            "input_ids": torch.tensor([[*made._template.before, *ids[start:stop].tolist(), *made._template.after]]),
            "attention_mask": torch.ones(1, stop - start + 2, dtype=torch.long),
        }
        with torch.inference_mode():
            vector = made._loaded._model(inputs)["sentence_embedding"][0].numpy()
        total += vector / np.linalg.norm(vector) * (stop - start)
    [[*row]] = await made.embed([LONG])
    np.testing.assert_allclose(row, total / np.linalg.norm(total), atol=1e-5)
    await made.close()


async def test_a_larger_chunk_weighs_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = engine(folder)
    text = " ".join(SENTENCES[:4])
    length = len(made._tokenizer.tokens([text])[text])
    halves = [(0, 3), (3, length)]
    monkeypatch.setattr(made, "_chunks", lambda _: halves)
    [row] = await made.embed([text])
    parts = []
    for start, stop in halves:
        monkeypatch.setattr(made, "_chunks", lambda _, span=(start, stop): [span])
        made._vectors = type(made._vectors)(0)
        parts.append((await made.embed([text]))[0] * (stop - start))
    np.testing.assert_allclose(row, sum(parts) / np.linalg.norm(sum(parts)), atol=1e-5)
    await made.close()


async def test_the_end_of_a_long_text_counts(folder: Path) -> None:
    made = engine(folder)
    first, second = await made.embed([LONG, LONG + " A red dog runs quickly over the wet grass!" * 5])
    assert np.abs(first - second).max() > 1e-3
    await made.close()


async def test_alone_or_among_others_a_text_has_the_same_vector(folder: Path) -> None:
    made, other = engine(folder), engine(folder, batch_tokens=64)
    together = await made.embed([*SENTENCES, LONG])
    calls = await asyncio.gather(*(other.embed([text]) for text in [*SENTENCES, LONG]))
    np.testing.assert_allclose(together, np.concatenate(calls), atol=1e-5)
    await made.close()
    await other.close()


async def test_a_vector_is_computed_once_and_remembered(folder: Path) -> None:
    made = engine(folder)
    first = await made.embed([SENTENCES[0], SENTENCES[0], SENTENCES[1]])
    again = await made.embed([SENTENCES[1], SENTENCES[0]])
    assert (again == first[[2, 0]]).all()
    items = next(reading for reading in made.readings() if reading.name == "engine_batch_size_items")
    assert items.value == 2
    await made.close()


async def test_tokens_are_counted_without_special_ones_and_without_a_cut(folder: Path) -> None:
    made = engine(folder)
    counts = await made.count_tokens([SENTENCES[0], "", LONG])
    tokenizer = made._tokenizer._backend
    assert counts == [len(tokenizer.encode(text, add_special_tokens=False).ids) for text in (SENTENCES[0], "", LONG)]
    assert counts[1] == 0
    assert counts[2] > made._loaded.window


async def test_no_texts_no_vectors(folder: Path) -> None:
    made = engine(folder)
    assert (await made.embed([])).shape == (0, made.dimensions)
    assert await made.count_tokens([]) == []


async def test_a_closed_engine_refuses(folder: Path) -> None:
    made = engine(folder)
    await made.close()
    with pytest.raises(Unavailable, match="engine_closed"):
        await made.embed(["text"])


@pytest.mark.slow
async def test_the_default_weights_give_the_vectors_of_the_library() -> None:
    made = engine(default_base())
    texts = [text for text in SENTENCES if text.strip()] + ["A longer text. " * 40]
    np.testing.assert_allclose(await made.embed(texts), encoded(default_base(), texts), atol=1e-5)
    await made.close()
