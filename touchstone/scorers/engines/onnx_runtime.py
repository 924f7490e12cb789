"""Models that ONNX Runtime computes on a CPU: a shipped graph without weights, and weights handed over in memory."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.encoder_shape import GRAPHS, Form, Shape, Task, shape_of
from touchstone.scorers.engines.loaded_model import CPU_BATCH_TOKENS
from touchstone.scorers.engines.machine import usable_cores
from touchstone.scorers.engines.onnx_weights import graph_weights, read_tensors
from touchstone.scorers.engines.processor import adds_bytes_in_32_bits
from touchstone.scorers.engines.tokens import read_words
from touchstone.scorers.engines.weights import labels_of

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.engines.catalogue import Located
    from touchstone.scorers.engines.tokens import Ids, Rectangle

    Inputs = dict[str, Ids]

#: Where the two likeliest labels of int8 differ by less than this for each layer, float32 decides: about one pair in sixteen. Each layer adds rounding.
CLOSE_PER_LAYER = 1 / 120
#: Words of the library's messages when memory is short.
NO_MEMORY = ("failed to allocate memory", "bad_alloc", "bad allocation", "out of memory")


class _OnnxModel:
    """The part that both kinds of model share."""

    step = 1
    batch_tokens = CPU_BATCH_TOKENS

    def __init__(self, shape: Shape, folder: Path, session: onnxruntime.InferenceSession, window: int, turn: threading.Lock) -> None:
        self.words = read_words(folder, typed=bool(shape.types))
        self.window = min(window, shape.window, self.words.tokens_max)
        self._session = session
        self._turn = turn

    def inputs(self, batch: Rectangle) -> Inputs:
        """The batch, by the names of the graph's inputs."""
        named = {"ids": batch.ids, "mask": batch.mask, "types": batch.types}
        return {name: array for name, array in named.items() if array is not None}

    def rows(self, inputs: Inputs) -> Floats:
        """One row per text or pair."""
        with self._turn:
            rows: Floats = self._session.run(None, inputs)[0]
        return rows

    def is_out_of_memory(self, error: BaseException) -> bool:
        """True if the error says that memory is short, in any of the library's ways."""
        is_library = type(error).__module__.startswith("onnxruntime") or isinstance(error, RuntimeError)
        return isinstance(error, MemoryError) or (is_library and any(words in str(error).lower() for words in NO_MEMORY))

    def release(self) -> None:
        """Do nothing: a run returns its memory when it ends."""


class OnnxClassifier(_OnnxModel):
    """A classifier. `exact`: the same in float32, for pairs between whose labels int8 cannot decide."""

    def __init__(self, shape: Shape, *loaded: Any, labels: Mapping[int, str], exact: onnxruntime.InferenceSession | None = None) -> None:
        super().__init__(shape, *loaded)
        self._close_difference = shape.layers * CLOSE_PER_LAYER
        self.labels = labels
        self._exact = exact

    def rows(self, inputs: Inputs) -> Floats:
        """Probabilities; close ones are computed again in float32."""
        with self._turn:
            rows: Floats = self._session.run(None, inputs)[0]
            if self._exact is None:
                return rows
            best = np.partition(rows, -2, axis=1)
            close = best[:, -1] - best[:, -2] < self._close_difference
            if close.any():
                longest = int(inputs["mask"][close].sum(axis=1).max())
                rows[close] = self._exact.run(None, {name: array[close, :longest] for name, array in inputs.items()})[0]
            return rows


class OnnxEncoder(_OnnxModel):
    """An encoder: a text's vector is the mean of its tokens' vectors."""

    prompt = ""

    def __init__(self, shape: Shape, *loaded: Any) -> None:
        super().__init__(shape, *loaded)
        self.dimensions = shape.hidden


@dataclass(frozen=True, slots=True)
class Source:
    """The files and settings that a session is made of."""

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
        labels = dict(enumerate(labels_of(located.adapter)))
    else:
        labels = {int(column): str(label) for column, label in _document(located.base / "config.json")["id2label"].items()}
    return OnnxClassifier(shape, located.base, session, shape.window, turn, labels=labels, exact=exact[0] if exact else None)


def open_encoder(folder: Path, settings: EngineSettings, numbers: str, turn: threading.Lock) -> OnnxEncoder:
    """Load an encoder. Raises: as `open_classifier`."""
    shape, session = open_session(Source(folder, None, "embedding", numbers, settings.threads))
    config = folder / "sentence_bert_config.json"
    window = _document(config).get("max_seq_length") if config.is_file() else None
    return OnnxEncoder(shape, folder, session, int(window or shape.window), turn)


def open_session(source: Source, graphs: Path = GRAPHS) -> tuple[Shape, onnxruntime.InferenceSession]:
    """A session of the model's graph. `graphs`: the folder of the graphs. Raises: ConfigError if the model has none."""
    shape, sessions = open_sessions(source, ["int8" if source.numbers == "int8" else "float32"], graphs)
    return shape, sessions[0]


def open_sessions(source: Source, forms: Sequence[Form], graphs: Path = GRAPHS) -> tuple[Shape, list[onnxruntime.InferenceSession]]:
    """Sessions in several number types that share the weights that are not quantised. Raises: as `open_session`."""
    shape = shape_of(_document(source.base / "config.json"))
    if shape is None or not all(shape.graph(source.task, form, graphs).is_file() for form in forms):
        raise ConfigError(f"no graph ships for the model in {source.base}; set runtime to torch")
    tensors = read_tensors(source.base, source.adapter, shape.family)
    return shape, [made_session(shape.graph(source.task, form, graphs), graph_weights(shape, tensors, source.task, form), source.threads) for form in forms]


def made_session(graph: Path, weights: Mapping[str, Any], threads: int) -> onnxruntime.InferenceSession:
    """A graph's session over weights that stay where they are in memory. `threads` 0: every core that the process may use."""
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or usable_cores()
    options.log_severity_level = 4  # its messages are for its developers; failures raise
    options.enable_mem_pattern = False  # batches have many shapes, and it would keep a pattern for each
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # an idle engine must not keep a core busy
    if not adds_bytes_in_32_bits():
        options.add_session_config_entry("session.x64quantprecision", "1")  # unsigned bytes, added exactly; the quickest product saturates
    options.add_external_initializers(list(weights), values)
    session = onnxruntime.InferenceSession(graph.read_bytes(), options, providers=["CPUExecutionProvider"])
    session.touchstone_weights = values  # the session reads them in place, so they must live as long
    return session


def _document(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
