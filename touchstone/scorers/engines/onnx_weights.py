"""The weights of an encoder as its graph takes them: read from safetensors, an adapter merged in, turned, quantised. Numpy alone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from touchstone.scorers.engines.encoder_shape import GELU_LEAST, Form, Shape, Task
from touchstone.scorers.engines.weights import ADAPTER_CONFIG

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Tensors = dict[str, Array]

WEIGHTS = "model.safetensors"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
#: int8 is used symmetrically: −128 stays free.
INT8_MAX = 127
#: The farthest distance with a bucket of its own kind, in MPNet's code and every model of its family.
DISTANCE_MAX = 128

#: Where each family keeps what the graph calls by one name.
LAYER_PARTS: Mapping[str, Mapping[str, str]] = {
    "bert": {
        "q": "attention.self.query",
        "k": "attention.self.key",
        "v": "attention.self.value",
        "o": "attention.output.dense",
        "between": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "after": "output.LayerNorm",
    },
    "mpnet": {
        "q": "attention.attn.q",
        "k": "attention.attn.k",
        "v": "attention.attn.v",
        "o": "attention.attn.o",
        "between": "attention.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "after": "output.LayerNorm",
    },
}
HEAD_PARTS: Mapping[str, tuple[str, str]] = {"bert": ("pooler.dense", "classifier"), "mpnet": ("classifier.dense", "classifier.out_proj")}


def read_tensors(base: Path, adapter: Path | None, family: str) -> Tensors:
    """The tensors of a model by the names of the bare encoder, an adapter's changes added: W + scale · B A. Raises: what safetensors raises, KeyError."""
    tensors = {_bare(name, family): value for name, value in _tensors(base / WEIGHTS).items()}
    if adapter is not None:
        _merge(tensors, adapter, family)
    return tensors


def _tensors(path: Path) -> Tensors:
    from safetensors.numpy import load_file

    return dict(load_file(path))


def _bare(name: str, family: str) -> str:
    return name.removeprefix("base_model.model.").removeprefix(f"{family}.")


def _merge(tensors: Tensors, adapter: Path, family: str) -> None:
    config = json.loads((adapter / ADAPTER_CONFIG).read_text(encoding="utf-8"))
    scale = np.float32(config["lora_alpha"] / config["r"])
    changes = {_bare(name, family): value.astype(np.float32) for name, value in _tensors(adapter / ADAPTER_WEIGHTS).items()}
    for name, value in changes.items():
        if name.endswith(".lora_A.weight"):
            target = name.removesuffix("lora_A.weight") + "weight"
            tensors[target] = tensors[target] + scale * (changes[name.replace(".lora_A.", ".lora_B.")] @ value)
        elif ".lora_" not in name:
            tensors[name] = value


def graph_weights(shape: Shape, tensors: Tensors, task: Task, form: Form) -> Tensors:
    """What the graph of that shape, task and form asks for, by its names. Raises: KeyError for a tensor that is not there."""
    made: Tensors = {
        "words": tensors["embeddings.word_embeddings.weight"],
        "places": tensors["embeddings.position_embeddings.weight"][shape.first :],
        **_norm("embeddings", "embeddings.LayerNorm", tensors),
    }
    if shape.types:
        made["types_"] = tensors["embeddings.token_type_embeddings.weight"]
    if shape.buckets:
        made["nearness"] = nearness(tensors["encoder.relative_attention_bias.weight"], shape)
    parts = LAYER_PARTS[shape.family]
    for number in range(shape.layers):
        name, source = f"layer.{number}", f"encoder.layer.{number}"
        made[f"{name}.qkv.bias"] = np.concatenate([tensors[f"{source}.{parts[part]}.bias"] for part in "qkv"])
        for part in ("between", "after"):
            made |= _norm(f"{name}.{part}", f"{source}.{parts[part]}", tensors)
        for part in ("o", "up", "down"):
            made[f"{name}.{part}.bias"] = tensors[f"{source}.{parts[part]}.bias"]
        for part in ("q", "k", "v", "o", "up", "down"):
            weight = tensors[f"{source}.{parts[part]}.weight"]
            if part == "up" and form == "int8":
                usual = _usual_sizes(made[f"{name}.between.weight"], made[f"{name}.between.bias"])
                made[f"{name}.up.even"] = 1 / usual
                weight = weight * usual
            made |= _linear(f"{name}.{part}", weight, form)
        if form == "int8":
            # The graph multiplies GELU's values less the least one: what that adds is taken from the bias.
            added = made[f"{name}.down.weight"].sum(axis=0, dtype=np.int64) * made[f"{name}.down.scale"]
            made[f"{name}.down.bias"] = made[f"{name}.down.bias"] + np.float32(GELU_LEAST) * added
    if task == "nli":
        for name, source in zip(("head", "labels"), HEAD_PARTS[shape.family], strict=True):
            made |= _linear(name, tensors[f"{source}.weight"], "float32") | {f"{name}.bias": tensors[f"{source}.bias"]}
    return {name: np.ascontiguousarray(value if value.dtype == np.int8 else value.astype(np.float32, copy=False)) for name, value in made.items()}


def _norm(name: str, source: str, tensors: Tensors) -> Tensors:
    return {f"{name}.weight": tensors[f"{source}.weight"], f"{name}.bias": tensors[f"{source}.bias"]}


def _usual_sizes(weight: Array, bias: Array) -> Array:
    """How large the columns of normalised rows become: three deviations and the mean, divided by their median."""
    sizes = 3 * np.abs(weight) + np.abs(bias)
    usual: Array = np.maximum(sizes / np.median(sizes), 1e-3).astype(np.float32)
    return usual


def _linear(name: str, weight: Array, form: Form) -> Tensors:
    """A linear layer's matrix, turned so that rows are multiplied from the left."""
    if form == "float32":
        return {f"{name}.weight": weight.T}
    scale = np.maximum(np.abs(weight).max(axis=1, keepdims=True), np.float32(1e-9)) / np.float32(INT8_MAX)
    return {f"{name}.weight": np.rint(weight / scale).astype(np.int8).T, f"{name}.scale": scale[:, 0]}


def nearness(table: Array, shape: Shape) -> Array:
    """What MPNet adds to attention by distance, shape (heads, 2 · window − 1), from its table by bucket.

    Half of the buckets are for tokens behind, half for those ahead; of each half, one half a distance each, the other widening up to `DISTANCE_MAX`.
    """
    distances = np.arange(1 - shape.window, shape.window)
    half = shape.buckets // 2
    near = half // 2
    far = np.maximum(np.abs(distances), 1).astype(np.float32)
    wide = near + (np.log(far / np.float32(near)) / np.float32(math.log(DISTANCE_MAX / near)) * np.float32(half - near)).astype(np.int64)
    buckets = np.where(np.abs(distances) < near, np.abs(distances), np.minimum(wide, half - 1)) + np.where(distances > 0, half, 0)
    turned: Array = table[buckets].T
    return turned
