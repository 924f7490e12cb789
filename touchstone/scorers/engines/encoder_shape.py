"""The shape of an encoder, on which its graph depends, and the name of the graph's file. Imports no model library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

GRAPHS = Path(__file__).parent / "graphs"

Task = Literal["nli", "embedding"]
Form = Literal["int8", "float32"]

#: The labels of a head that has a graph.
LABELS = 3
#: GELU's least value is above this.
GELU_LEAST = -0.17
#: Keys that a config may leave out, with the family's own defaults.
FAMILY_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "bert": {"layer_norm_eps": 1e-12, "hidden_act": "gelu", "position_embedding_type": "absolute", "pad_token_id": 0},
    "mpnet": {"layer_norm_eps": 1e-12, "hidden_act": "gelu", "relative_attention_num_buckets": 32, "pad_token_id": 1},
}


@dataclass(frozen=True, slots=True)
class Shape:
    """An encoder of the BERT or the MPNet family. `first`: the position of a text's first token; `types`: segment types; `buckets`: of relative positions."""

    family: Literal["bert", "mpnet"]
    layers: int
    hidden: int
    heads: int
    intermediate: int
    words: int
    positions: int
    first: int
    types: int
    buckets: int
    eps: float

    @property
    def window(self) -> int:
        """Tokens that it can read, special ones counted."""
        return self.positions - self.first

    @property
    def name(self) -> str:
        """The whole shape as a file name."""
        sizes = f"l{self.layers}-h{self.hidden}-a{self.heads}-f{self.intermediate}-w{self.words}-p{self.positions}"
        return f"{self.family}-{sizes}-e{self.eps:g}"

    def graph(self, task: Task, form: Form, folder: Path = GRAPHS) -> Path:
        """The file of its graph, whether or not it exists."""
        return folder / f"{self.name}.{task}.{form}.onnx"


def shape_of(config: Mapping[str, Any]) -> Shape | None:
    """The shape in a model's config.json; None for a family without graphs."""
    family: Literal["bert", "mpnet"]
    if config.get("model_type") == "bert":
        family, mpnet = "bert", False
    elif config.get("model_type") == "mpnet":
        family, mpnet = "mpnet", True
    else:
        return None
    values = {**FAMILY_DEFAULTS[family], **config}
    if values["hidden_act"] != "gelu" or (not mpnet and values["position_embedding_type"] != "absolute") or values.get("is_decoder"):
        return None
    try:
        return Shape(
            family=family,
            layers=int(values["num_hidden_layers"]),
            hidden=int(values["hidden_size"]),
            heads=int(values["num_attention_heads"]),
            intermediate=int(values["intermediate_size"]),
            words=int(values["vocab_size"]),
            positions=int(values["max_position_embeddings"]),
            # MPNet numbers positions from its padding id + 1, as RoBERTa does.
            first=int(values["pad_token_id"]) + 1 if mpnet else 0,
            types=0 if mpnet else int(values["type_vocab_size"]),
            buckets=int(values["relative_attention_num_buckets"]) if mpnet else 0,
            eps=float(values["layer_norm_eps"]),
        )
    except (KeyError, TypeError, ValueError):
        return None
