"""Models that ONNX Runtime computes on a CPU: a shipped graph without weights, and weights handed over in memory."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.encoder_shape import GRAPHS, Form, Shape, Task, shape_of
from touchstone.scorers.engines.onnx_weights import graph_weights, read_tensors
from touchstone.scorers.engines.pending_calls import Limits
from touchstone.scorers.engines.processor import adds_bytes_in_32_bits
from touchstone.scorers.engines.tokens import read_words

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.engines.catalogue import Located
    from touchstone.scorers.engines.tokens import Ids, Rectangle

    Inputs = dict[str, Ids]

LABELS = ("entailment", "neutral", "contradiction")
BATCH_TOKENS = 4_096
#: Where int8's two likeliest labels lie nearer than this for each layer, which adds rounding, float32 decides: about one pair in sixteen.
CLOSE_PER_LAYER = 1 / 120
#: Names by which the library says that memory is short.
NO_MEMORY = ("failed to allocate memory", "bad_alloc", "bad allocation", "out of memory")


class _OnOnnx:
    """What both kinds of model share."""

    step = 1

    def __init__(self, shape: Shape, folder: Path, session: onnxruntime.InferenceSession, window: int, turn: threading.Lock) -> None:
        self.words = read_words(folder, typed=bool(shape.types))
        self.window = min(window, shape.window, self.words.tokens_max)
        self._session = session
        self._turn = turn

    def limits(self, settings: EngineSettings) -> Limits:
        """The bounds of a batcher before it."""
        return Limits(
            batch_tokens=settings.batch_tokens or BATCH_TOKENS,
            wait_s=settings.batch_wait_ms_max / 1000,
            look_ahead_items=settings.look_ahead_items,
            queue_items_max=settings.queue_items_max,
        )

    def inputs(self, batch: Rectangle) -> Inputs:
        """The batch by the names of the graph's inputs."""
        named = {"ids": batch.ids, "mask": batch.mask, "types": batch.types}
        return {name: array for name, array in named.items() if array is not None}

    def rows(self, inputs: Inputs) -> Floats:
        """One row per text or pair."""
        with self._turn:
            rows: Floats = self._session.run(None, inputs)[0]
        return rows

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Whether the memory was too small, by any of the names that the library gives it."""
        said = str(error).lower() if type(error).__module__.startswith("onnxruntime") or isinstance(error, RuntimeError) else ""
        return isinstance(error, MemoryError) or any(name in said for name in NO_MEMORY)

    def release(self) -> None:
        """Nothing: the memory of a run goes back when it ends."""


class OnnxClassifier(_OnOnnx):
    """A classifier with the labels of its folder. `exact`: the same in float32, for pairs whose label int8 leaves open."""

    def __init__(self, shape: Shape, *given: Any, labels: Mapping[int, str], exact: onnxruntime.InferenceSession | None = None) -> None:
        super().__init__(shape, *given)
        self._close = shape.layers * CLOSE_PER_LAYER
        self.labels = labels
        self._exact = exact

    def rows(self, inputs: Inputs) -> Floats:
        """Probabilities; the close ones are computed again."""
        with self._turn:
            rows: Floats = self._session.run(None, inputs)[0]
            if self._exact is None:
                return rows
            best = np.partition(rows, -2, axis=1)
            close = best[:, -1] - best[:, -2] < self._close
            if close.any():
                longest = int(inputs["mask"][close].sum(axis=1).max())
                rows[close] = self._exact.run(None, {name: array[close, :longest] for name, array in inputs.items()})[0]
            return rows


class OnnxEncoder(_OnOnnx):
    """An encoder whose vectors are the means of its tokens'."""

    prompt = ""

    def __init__(self, shape: Shape, *given: Any) -> None:
        super().__init__(shape, *given)
        self.dimensions = shape.hidden


@dataclass(frozen=True, slots=True)
class Source:
    """What a session is made of."""

    base: Path
    adapter: Path | None
    task: Task
    numbers: str
    threads: int


def open_classifier(located: Located, settings: EngineSettings, numbers: str, turn: threading.Lock) -> OnnxClassifier:
    """Load a classifier, its adapter merged in. Raises: ConfigError, or what the libraries raise for a folder that is no model."""
    source = Source(located.base, located.adapter, "nli", numbers, settings.threads)
    shape, (session, *exact) = open_sessions(source, ["int8", "float32"] if numbers == "int8" else ["float32"])
    if located.adapter is not None:
        recipe = located.adapter / "recipe.json"
        labels = dict(enumerate(_document(recipe).get("labels", LABELS) if recipe.is_file() else LABELS))
    else:
        labels = {int(column): str(label) for column, label in _document(located.base / "config.json")["id2label"].items()}
    return OnnxClassifier(shape, located.base, session, shape.window, turn, labels=labels, exact=exact[0] if exact else None)


def open_encoder(folder: Path, settings: EngineSettings, numbers: str, turn: threading.Lock) -> OnnxEncoder:
    """Load an encoder. Raises: as `open_classifier`."""
    shape, session = open_session(Source(folder, None, "embedding", numbers, settings.threads))
    told = folder / "sentence_bert_config.json"
    window = _document(told).get("max_seq_length") if told.is_file() else None
    return OnnxEncoder(shape, folder, session, int(window or shape.window), turn)


def open_session(source: Source, graphs: Path = GRAPHS) -> tuple[Shape, onnxruntime.InferenceSession]:
    """A graph with its weights in memory. `graphs`: the folder of the graphs. Raises: ConfigError where there is none for the model."""
    shape, sessions = open_sessions(source, ["int8" if source.numbers == "int8" else "float32"], graphs)
    return shape, sessions[0]


def open_sessions(source: Source, forms: Sequence[Form], graphs: Path = GRAPHS) -> tuple[Shape, list[onnxruntime.InferenceSession]]:
    """The same in several number types over one reading of the weights: what is not quantised is in memory once."""
    shape = shape_of(_document(source.base / "config.json"))
    if shape is None or not all(shape.graph(source.task, form, graphs).is_file() for form in forms):
        raise ConfigError(f"no graph ships for the model in {source.base}; set runtime to torch")
    tensors = read_tensors(source.base, source.adapter, shape.family)
    return shape, [made_session(shape.graph(source.task, form, graphs), graph_weights(shape, tensors, source.task, form), source.threads) for form in forms]


def made_session(graph: Path, weights: Mapping[str, Any], threads: int) -> onnxruntime.InferenceSession:
    """A graph's session over weights that stay where they are in memory. `threads` 0: every core that the process may use."""
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or cores()
    options.log_severity_level = 4  # what it says is for its makers; failures raise
    options.enable_mem_pattern = False  # batches have many shapes, and a pattern would be kept for each
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # an idle engine must not keep a core busy
    if not adds_bytes_in_32_bits():
        options.add_session_config_entry("session.x64quantprecision", "1")  # exact sums by unsigned bytes: the quickest product would saturate
    options.add_external_initializers(list(weights), values)
    session = onnxruntime.InferenceSession(graph.read_bytes(), options, providers=["CPUExecutionProvider"])
    session.touchstone_weights = values  # the session reads them where they are, so they live as long
    return session


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _document(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
