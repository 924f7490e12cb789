"""Writes an encoder's graph node by node, without weights.

Activations are rows of shape (texts × tokens, hidden); only attention separates the texts. Two things make it fast without changing an answer:
a head that reads the first token alone needs that token's row alone in the last layer, and what is multiplied by several matrices is quantised once.

int8: weights are int8 with one scale per output column. Activations are quantised where they are multiplied, row by row (x / scale + 128 as uint8, the scale
from the row's greatest magnitude), so that a text's answer does not depend on what shares its batch, as it does with one scale per tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from onnx import ModelProto, NodeProto, TensorProto, helper

from touchstone.scorers.engines.encoder_shape import GELU_LEAST, LABELS, Form, Shape, Task

#: Opsets of the nodes used, and the file format that the oldest supported runtime reads.
OPSET, IR_VERSION = 20, 10
CONTRIB = "com.microsoft"


class Rows(NamedTuple):
    """Rows ready to be multiplied; as bytes they have a scale each, and a byte for zero."""

    x: str
    scale: str = ""
    zero: str = ""


class Graph:
    """Nodes in order, the weights that they ask for, and small constants."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, TensorProto] = {}
        self._constants: dict[str, TensorProto] = {}
        self._count = 0

    def add(self, op: str, inputs: Sequence[str], *, contrib: bool = False, outputs: int = 1, name: str | None = None, **attributes: Any) -> str:
        """One node; returns the name of its first output."""
        self._count += 1
        made = [name or f"{op.lower()}_{self._count}", *(f"{op.lower()}_{self._count}_{number}" for number in range(1, outputs))]
        self.nodes.append(helper.make_node(op, inputs, made, name=made[0], domain=CONTRIB if contrib else "", **attributes))
        return made[0]

    def constant(self, name: str, kind: int, values: Sequence[float], dims: Sequence[int]) -> str:
        """A number or a short list that belongs to the structure."""
        self._constants[name] = helper.make_tensor(name, kind, dims, values)
        return name

    def initializers(self) -> list[TensorProto]:
        """Weights, then constants."""
        return [*self.weights.values(), *self._constants.values()]

    def whole(self, *values: int) -> str:
        """A list of whole numbers."""
        return self.constant("whole_" + "_".join(map(str, values)).replace("-", "m"), TensorProto.INT64, values, [len(values)])

    def number(self, value: float) -> str:
        """A float32 scalar."""
        return self.constant(f"number_{value:g}", TensorProto.FLOAT, [value], [])

    def weight(self, name: str, dims: Sequence[int], kind: int = TensorProto.FLOAT) -> str:
        """A tensor that is passed in when the graph is loaded."""
        tensor = TensorProto(name=name, data_type=kind, dims=dims, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="weights")
        self.weights[name] = tensor
        return name

    # Building blocks.

    def normalised(self, x: str, name: str, shape: Shape) -> str:
        """Layer normalisation."""
        return self.add(
            "LayerNormalization", [x, self.weight(f"{name}.weight", [shape.hidden]), self.weight(f"{name}.bias", [shape.hidden])], epsilon=shape.eps
        )

    def added(self, x: str, before: str, bias: str, name: str, shape: Shape) -> str:
        """The sum of three, normalised: a product, its bias, and the rows before it."""
        gamma, beta = self.weight(f"{name}.weight", [shape.hidden]), self.weight(f"{name}.bias", [shape.hidden])
        return self.add("SkipLayerNormalization", [x, before, gamma, beta, bias], contrib=True, epsilon=shape.eps)

    def ready(self, x: str) -> Rows:
        """Rows ready to be multiplied: as they are, or as bytes around 128 with a scale each."""
        if self.form == "float32":
            return Rows(x)
        greatest = self.add("ReduceMax", [x, self.whole(-1)])
        least = self.add("Neg", [self.add("ReduceMin", [x, self.whole(-1)])])
        return self._as_bytes(x, self.add("Max", [greatest, least, self.number(1e-9)]), 127, 128)

    def ready_even(self, x: str, name: str, size: int) -> Rows:
        """The same for columns of different magnitudes: each is divided by its usual magnitude first, and the matrix's rows are multiplied by it."""
        return self.ready(x if self.form == "float32" else self.add("Mul", [x, self.weight(f"{name}.even", [size])]))

    def ready_activated(self, x: str) -> Rows:
        """The same for the output of GELU, which is hardly below zero: all 255 steps are above its least value, and the bias corrects the product."""
        if self.form == "float32":
            return Rows(x)
        raised = self.add("Add", [x, self.number(-GELU_LEAST)])
        return self._as_bytes(raised, self.add("Max", [self.add("ReduceMax", [raised, self.whole(-1)]), self.number(1e-9)]), 255, 0)

    def _as_bytes(self, x: str, greatest: str, steps: int, zero: int) -> Rows:
        scaled = self.add("Mul", [x, self.add("Div", [self.number(steps), greatest])])
        zero_point = self.constant(f"byte_{zero}", TensorProto.UINT8, [zero], [])
        return Rows(self.add("QuantizeLinear", [scaled, self.number(1), zero_point]), self.add("Mul", [greatest, self.number(1 / steps)]), zero_point)

    def times(self, rows: Rows, name: str, size: tuple[int, int]) -> str:
        """Rows × a matrix of shape `size`, without its bias."""
        if self.form == "float32":
            return self.add("MatMul", [rows.x, self.weight(f"{name}.weight", size)])
        weight, scale = self.weight(f"{name}.weight", size, TensorProto.INT8), self.weight(f"{name}.scale", [size[1]])
        # ONNX Runtime's exact product for processors without VNNI rewrites weight and zero together, and asks for a zero of each node's own.
        zero = self.constant(f"{name}.zero", TensorProto.INT8, [0], [])
        product = self.add("MatMulIntegerToFloat", [rows.x, weight, self.number(1), scale, rows.zero, zero], contrib=True)
        return self.add("Mul", [product, rows.scale])

    def bias(self, name: str, size: int) -> str:
        """A linear layer's bias."""
        return self.weight(f"{name}.bias", [size])


def graph_of(shape: Shape, task: Task, form: Form) -> ModelProto:
    """The graph of an encoder. Inputs `ids`, `mask` and, if the family has them, `types`, each int64 of shape (texts, tokens).

    Outputs: `probabilities` (texts, 3), or `vectors` (texts, hidden) of length 1: the mean over a text's tokens.
    """
    graph = Graph(form)
    rows, tokens, shaped = _embedded(graph, shape)
    mask = graph.add("Cast", ["mask"], to=TensorProto.INT32)
    nearness = _nearness(graph, shape, tokens) if shape.buckets else ""
    for layer in range(shape.layers):
        rows = _layer(graph, shape, f"layer.{layer}", rows, shaped, mask, nearness, first_only=task == "nli" and layer == shape.layers - 1)
    if task == "nli":
        dense = graph.add("Gemm", [rows, graph.weight("head.weight", [shape.hidden, shape.hidden]), graph.bias("head", shape.hidden)])
        out = graph.add("Gemm", [graph.add("Tanh", [dense]), graph.weight("labels.weight", [shape.hidden, LABELS]), graph.bias("labels", LABELS)])
        graph.add("Softmax", [out], axis=-1, name="probabilities")
        output, width = "probabilities", LABELS
    else:
        _mean(graph, rows, shaped)
        output, width = "vectors", shape.hidden
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in ("ids", "mask", *(["types"] if shape.types else []))]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["texts", width])]
    made = helper.make_graph(graph.nodes, f"{shape.name}.{task}.{form}", inputs, outputs, initializer=graph.initializers())
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION, producer_name="touchstone")


def _embedded(graph: Graph, shape: Shape) -> tuple[str, str, str]:
    """(Rows of the first layer, number of tokens per text, the shape (texts, tokens, hidden))."""
    size = graph.add("Shape", ["ids"])
    tokens = graph.add("Gather", [size, graph.whole(1)])
    shaped = graph.add("Concat", [size, graph.whole(shape.hidden)], axis=0)
    words = graph.add("Gather", [graph.weight("words", [shape.words, shape.hidden]), "ids"])
    places = graph.add("Slice", [graph.weight("places", [shape.window, shape.hidden]), graph.whole(0), tokens, graph.whole(0)])
    total = graph.add("Add", [words, places])
    if shape.types:
        total = graph.add("Add", [total, graph.add("Gather", [graph.weight("types_", [shape.types, shape.hidden]), "types"])])
    normal = graph.normalised(total, "embeddings", shape)
    return graph.add("Reshape", [normal, graph.whole(-1, shape.hidden)]), tokens, shaped


def _nearness(graph: Graph, shape: Shape, tokens: str) -> str:
    """MPNet's addition to attention by distance, shape (1, heads, tokens, tokens)."""
    table = graph.weight("nearness", [shape.heads, 2 * shape.window - 1])
    numbers = graph.add(
        "Range", [graph.constant("zero", TensorProto.INT64, [0], []), graph.add("Squeeze", [tokens]), graph.constant("one", TensorProto.INT64, [1], [])]
    )
    distance = graph.add("Sub", [graph.add("Unsqueeze", [numbers, graph.whole(0)]), graph.add("Unsqueeze", [numbers, graph.whole(1)])])
    found = graph.add("Gather", [table, graph.add("Add", [distance, graph.whole(shape.window - 1)])], axis=1)
    return graph.add("Unsqueeze", [found, graph.whole(0)])


def _layer(graph: Graph, shape: Shape, name: str, rows: str, shaped: str, mask: str, nearness: str, *, first_only: bool) -> str:
    """One layer. `first_only`: only the first token's row of each text is computed; attention still reads all of them."""
    hidden, inner = shape.hidden, shape.intermediate
    ready = graph.ready(rows)
    key, value = (graph.add("Reshape", [graph.times(ready, f"{name}.{part}", (hidden, hidden)), shaped]) for part in ("k", "v"))
    if first_only:
        rows = graph.add("Gather", [graph.add("Reshape", [rows, shaped]), graph.constant("zero", TensorProto.INT64, [0], [])], axis=1)
        query = graph.add("Unsqueeze", [graph.times(graph.ready(rows), f"{name}.q", (hidden, hidden)), graph.whole(1)])
        nearness = graph.add("Slice", [nearness, graph.whole(0), graph.whole(1), graph.whole(2)]) if nearness else ""
    else:
        query = graph.add("Reshape", [graph.times(ready, f"{name}.q", (hidden, hidden)), shaped])
    seen = graph.add("MultiHeadAttention", [query, key, value, graph.bias(f"{name}.qkv", 3 * hidden), mask, nearness], contrib=True, num_heads=shape.heads)
    seen = graph.add("Reshape", [seen, graph.whole(-1, hidden)])
    out = graph.times(graph.ready(seen), f"{name}.o", (hidden, hidden))
    between = graph.added(out, rows, graph.bias(f"{name}.o", hidden), f"{name}.between", shape)
    up = graph.add(
        "BiasGelu", [graph.times(graph.ready_even(between, f"{name}.up", hidden), f"{name}.up", (hidden, inner)), graph.bias(f"{name}.up", inner)], contrib=True
    )
    down = graph.times(graph.ready_activated(up), f"{name}.down", (inner, hidden))
    return graph.added(down, between, graph.bias(f"{name}.down", hidden), f"{name}.after", shape)


def _mean(graph: Graph, rows: str, shaped: str) -> None:
    """Vectors of length 1 in the direction of the mean, so the number of tokens does not matter."""
    chosen = graph.add("Unsqueeze", [graph.add("Cast", ["mask"], to=TensorProto.FLOAT), graph.whole(1)])
    total = graph.add("Squeeze", [graph.add("MatMul", [chosen, graph.add("Reshape", [rows, shaped])]), graph.whole(1)])
    graph.add("LpNormalization", [total], axis=-1, p=2, name="vectors")


def content_of(shape: Shape, task: Task, form: Form) -> bytes:
    """The content of the graph's file."""
    content: bytes = graph_of(shape, task, form).SerializeToString(deterministic=True)
    return content
