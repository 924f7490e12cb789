import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.lazily import lazily
from tests.scorers.engines.tiny import SENTENCES, classifier, encoder, roberta_tokenizer, saved
from touchstone.ops.lab.build.graphs.command import SHAPES, files
from touchstone.ops.lab.build.graphs.command import main as build_graphs
from touchstone.ops.lab.build.graphs.encoder import CONTRIB, IR_VERSION, OPSET, Graph, Rows
from touchstone.schemas.settings.engines import EngineSettings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.encoder_shape import Shape, shape_of
from touchstone.scorers.engines.encoders import default_base
from touchstone.scorers.engines.weights import DEFAULT_ADAPTER

with lazily():
    import torch

    from touchstone.scorers.engines.onnx_runtime import OnnxClassifier, Source, made_session, open_session
    from touchstone.scorers.engines.onnx_weights import nearness, read_tensors
    from touchstone.scorers.engines.open_engines import open_engines
    from touchstone.scorers.engines.tokens import read_words, words_of

pytestmark = pytest.mark.xdist_group("models")

HERE = Path(__file__).parents[3]
PAIRS = [(premise, hypothesis) for premise in SENTENCES for hypothesis in SENTENCES if premise and hypothesis]
LONG = (f"{SENTENCES[0]} {SENTENCES[1]}", SENTENCES[2])


def config_of(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "config.json").read_text())
    return content


def graphs_for(folder: Path, model: Path) -> Path:
    shape = shape_of(config_of(model))
    assert shape is not None
    folder.mkdir(exist_ok=True)
    for path, content in files(folder, (shape,)).items():
        path.write_bytes(content)
    return folder


def batch(model: Path, kind: str, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Pairs as the library's tokenizer lays them out, by the names of the graph's inputs."""
    _, tokenizer = classifier(kind)
    made = tokenizer([premise for premise, _ in pairs], [hypothesis for _, hypothesis in pairs], truncation=False, padding=True, return_tensors="np")
    names = {"input_ids": "ids", "attention_mask": "mask", "token_type_ids": "types"}
    return {names[name]: np.asarray(array, dtype=np.int64) for name, array in made.items() if kind == "bert" or name != "token_type_ids"}


def torch_answers(kind: str, pairs: list[tuple[str, str]]) -> Any:
    model, tokenizer = classifier(kind)
    with torch.inference_mode():
        return np.stack(
            [model.eval()(**tokenizer([one], [other], return_tensors="pt", truncation=False)).logits[0].softmax(-1).numpy() for one, other in pairs]
        )


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_in_float32_the_graph_answers_what_torch_answers(tmp_path: Path, kind: str) -> None:
    model = saved(tmp_path / "model", kind)
    _, session = open_session(Source(model, None, "nli", "float32", 1), graphs_for(tmp_path / "graphs", model))
    pairs = [*PAIRS[::4], LONG]
    np.testing.assert_allclose(session.run(None, batch(model, kind, pairs))[0], torch_answers(kind, pairs), atol=1e-4)


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_int8_stays_near_and_a_pairs_answer_does_not_depend_on_its_batch(tmp_path: Path, kind: str) -> None:
    model = saved(tmp_path / "model", kind)
    _, session = open_session(Source(model, None, "nli", "int8", 1), graphs_for(tmp_path / "graphs", model))
    pairs = [*PAIRS[::4], LONG]
    together = session.run(None, batch(model, kind, pairs))[0]
    alone = np.concatenate([session.run(None, batch(model, kind, [pair]))[0] for pair in pairs])
    np.testing.assert_allclose(together, alone, atol=1e-3)
    assert np.abs(together - torch_answers(kind, pairs)).mean() < 0.03


def test_the_greatest_products_of_bytes_are_added_exactly(tmp_path: Path) -> None:
    # On x86 without VNNI the quickest kernels add two products in 16 bits: 2 · 255 · 127 would become 32,767.
    graph = Graph("int8")
    rows = Rows("x", graph.number(1), graph.constant("byte_0", TensorProto.UINT8, [0], []))
    products = [graph.times(rows, name, (64, 8)) for name in ("one", "two")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.UINT8, ["rows", 64])]
    outputs = [helper.make_tensor_value_info(product, TensorProto.FLOAT, ["rows", 8]) for product in products]
    made = helper.make_graph(graph.nodes, "products", inputs, outputs, initializer=graph.initializers())
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
    path = tmp_path / "products.onnx"
    path.write_bytes(helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION).SerializeToString())
    one, scale = np.tile(np.array([127, -127, 64, 1], dtype=np.int8), (64, 2)), np.ones(8, dtype=np.float32)
    two = np.flip(one, axis=1).copy()
    session = made_session(path, {"one.weight": one, "one.scale": scale, "two.weight": two, "two.scale": scale}, threads=1)
    for count in (1, 7):
        x = np.full((count, 64), 255, dtype=np.uint8)
        for answer, weight in zip(session.run(None, {"x": x}), (one, two), strict=True):
            np.testing.assert_array_equal(answer, x.astype(np.int64) @ weight.astype(np.int64))


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
@pytest.mark.parametrize(("numbers", "cosine_min"), [("float32", 0.99999), ("int8", 0.99)])
def test_vectors_point_where_the_means_of_torch_point(tmp_path: Path, kind: str, numbers: str, cosine_min: float) -> None:
    from transformers import AutoModel

    folder = encoder(tmp_path / "model", kind)
    _, session = open_session(Source(folder, None, "embedding", numbers, 1), graphs_for(tmp_path / "graphs", folder))
    inputs = batch(folder, kind, [*PAIRS[:6], LONG])
    vectors = session.run(None, inputs)[0]
    model = AutoModel.from_pretrained(folder).eval()
    names = {"ids": "input_ids", "mask": "attention_mask", "types": "token_type_ids"}
    with torch.inference_mode():
        hidden = model(**{names[name]: torch.from_numpy(array) for name, array in inputs.items()}).last_hidden_state.numpy()
    wanted = (hidden * inputs["mask"][:, :, None]).sum(1)
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (vectors * wanted).sum(1).min() > cosine_min


def test_an_adapter_is_merged_as_its_own_library_merges_it(tmp_path: Path) -> None:
    from peft import LoraConfig, TaskType, get_peft_model

    model, _ = classifier("mpnet")
    base = saved(tmp_path / "base", "mpnet")
    lora = LoraConfig(
        r=2, lora_alpha=6, target_modules=["q", "o", "dense"], modules_to_save=["classifier"], task_type=TaskType.SEQ_CLS, init_lora_weights=False
    )
    lora.exclude_modules = ".*classifier.*"
    adapted = get_peft_model(model, lora).eval()
    adapted.save_pretrained(tmp_path / "adapter")
    wanted = {name.removeprefix("mpnet."): value.numpy() for name, value in adapted.merge_and_unload().state_dict().items()}
    found = read_tensors(base, tmp_path / "adapter", "mpnet")
    for name, value in found.items():
        np.testing.assert_allclose(value, wanted[name], atol=1e-5, err_msg=name)


def test_distances_count_in_attention_as_in_the_models_own_code() -> None:
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    shape = next(shape for shape in SHAPES if shape.family == "mpnet")
    distances = torch.arange(1 - shape.window, shape.window)
    buckets = MPNetEncoder.relative_position_bucket(distances[None, :], num_buckets=shape.buckets)[0].numpy()
    table = np.arange(shape.buckets, dtype=np.float32)[:, None]
    assert (nearness(table, shape)[0] == buckets).all()


def test_the_graphs_that_ship_are_what_the_command_makes(capsys: pytest.CaptureFixture[str]) -> None:
    assert build_graphs(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_a_graph_holds_no_weights() -> None:
    assert max(map(len, files().values())) < 100_000


def closed(tmp_path: Path, say: Callable[[str, int], None]) -> Any:
    class Session:
        def __init__(self, name: str, rows: list[list[float]]) -> None:
            self.name, self.answer = name, np.array(rows, dtype=np.float32)

        def run(self, _: None, inputs: dict[str, Any]) -> list[Any]:
            say(self.name, inputs["ids"].shape[1])
            return [self.answer.copy()]

    model = saved(tmp_path / "model")
    shape = shape_of(config_of(model))
    rough = Session("int8", [[0.9, 0.05, 0.05], [0.405, 0.4, 0.195]])
    return OnnxClassifier(shape, model, rough, 96, threading.Lock(), labels={}, exact=Session("float32", [[0.3, 0.5, 0.2]]))


def test_pairs_whose_label_int8_leaves_open_are_decided_in_float32(tmp_path: Path) -> None:
    said: list[tuple[str, int]] = []
    running = closed(tmp_path, lambda name, length: said.append((name, length)))
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])
    rows = running.rows({"ids": np.ones((2, 4), dtype=np.int64), "mask": mask})
    np.testing.assert_allclose(rows, [[0.9, 0.05, 0.05], [0.3, 0.5, 0.2]], atol=1e-6)
    assert said == [("int8", 4), ("float32", 2)]  # only the close pair, without its padding


def test_short_memory_is_known_by_the_words_of_the_library(tmp_path: Path) -> None:
    running = closed(tmp_path, lambda *_: None)
    assert running.is_out_of_memory(MemoryError())
    assert running.is_out_of_memory(RuntimeError("Failed to allocate memory for requested buffer of size 1"))
    assert not running.is_out_of_memory(RuntimeError("Invalid dimensions"))
    assert not running.is_out_of_memory(ValueError("Failed to allocate memory"))


def test_the_words_of_a_folder_are_those_of_the_library(tmp_path: Path) -> None:
    tokenizer = roberta_tokenizer()
    tokenizer.save_pretrained(tmp_path)
    words, wanted = read_words(tmp_path, typed=False), words_of(tokenizer)
    assert words.template(pair=True) == wanted.template(pair=True)
    assert (words.pad_id, words.tokens_max) == (wanted.pad_id, wanted.tokens_max)
    assert words.backend.encode(SENTENCES[5]).ids == wanted.backend.encode(SENTENCES[5]).ids


def test_a_tokenizer_without_padding_is_one_line(tmp_path: Path) -> None:
    roberta_tokenizer().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({name: value for name, value in config.items() if name != "pad_token"}))
    with pytest.raises(ConfigError, match="padding token"):
        read_words(tmp_path, typed=False)


@pytest.mark.parametrize(
    "changed", [{"model_type": "deberta-v2"}, {"hidden_act": "relu"}, {"position_embedding_type": "relative_key"}, {"num_hidden_layers": None}]
)
def test_a_config_that_no_graph_computes_has_no_shape(changed: dict[str, Any]) -> None:
    assert shape_of(config_of(default_base()) | changed) is None


def test_the_published_encoders_have_graphs() -> None:
    shape = shape_of(config_of(default_base()))
    assert isinstance(shape, Shape)
    assert shape in SHAPES
    assert all(each.graph(task, form).is_file() for each in SHAPES for task in ("nli", "embedding") for form in ("int8", "float32"))


needs_default = pytest.mark.skipif(not (DEFAULT_ADAPTER / "adapter_model.safetensors").is_file(), reason="the default adapter has not been trained here")

ANY = [
    ("The patient was discharged home on warfarin.", "The patient was discharged."),
    ("The patient was discharged home on warfarin.", "The patient was not discharged."),
    ("A man is playing a guitar on stage.", "Nobody is playing a guitar."),
    ("The company was founded in 1998 in Oslo.", "The company has 40 employees."),
    ("The council approved the plan by nine votes to four after a long debate about costs.", "Most of the council wanted the plan."),
]


@needs_default
@pytest.mark.slow
async def test_the_default_model_answers_in_float32_on_both_runtimes_alike() -> None:
    rows, vectors = [], []
    for runtime in ("torch", "onnx"):
        engines = open_engines(EngineSettings(runtime=runtime, dtype="float32", warm_up=False))
        rows.append(await engines.nli.entail(ANY))
        vectors.append(await engines.embedder.embed([text for pair in ANY for text in pair]))
        await engines.close()
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-4)
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-4)


@needs_default
@pytest.mark.slow
async def test_the_default_model_in_int8_is_the_same_in_any_batch_and_says_what_it_is() -> None:
    engines = open_engines(EngineSettings(runtime="onnx"))
    assert engines.nli.model.endswith("+int8")
    others = [(f"{premise} {number}", hypothesis) for number in range(12) for premise, hypothesis in ANY]
    alone = np.concatenate([await engines.nli.entail([pair]) for pair in ANY])
    many = (await engines.nli.entail([*others, *ANY]))[-len(ANY) :]
    np.testing.assert_allclose(alone, many, atol=1e-3)
    await engines.close()


@needs_default
@pytest.mark.slow
def test_scoring_with_onnx_imports_no_torch() -> None:
    code = """
import asyncio, sys
from touchstone.schemas.settings.engines import EngineSettings
from touchstone.scorers.engines.open_engines import open_engines
async def once():
    engines = open_engines(EngineSettings(runtime="onnx"))
    await engines.nli.entail([("a dog runs", "an animal moves")])
    await engines.embedder.embed(["a dog runs"])
    await engines.close()
asyncio.run(once())
heavy = {"torch", "transformers", "sentence_transformers", "peft"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
