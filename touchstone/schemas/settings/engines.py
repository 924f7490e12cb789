"""Settings of the engines: which models, where they run, and how their batches are formed."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from touchstone.schemas.settings.house import Section


class EngineSettings(Section):
    """One NLI model and one embedder on one device. `default`: the models that Touchstone ships adapters for."""

    nli_model: str = Field(
        "default", min_length=1, max_length=500, description="default (what fits the device), small, base, a folder, or a name on the model hub"
    )
    nli_revision: str | None = Field(None, description="commit of a hub model; without it, scores may change when the hub's model does")
    embedder_model: str = Field("default", min_length=1, max_length=500, description="default, a folder, or a name on the model hub")
    embedder_revision: str | None = None
    base_folder: Path | None = Field(
        None, description="folder with the weights that adapters are trained on (or with a folder of them for each encoder); else packages and the model hub"
    )
    offline: bool = Field(False, description="never ask a model hub: a model that is not on this machine is an error")
    device: str = Field("auto", pattern=r"^(auto|cpu|cuda(:[0-9]{1,2})?)$")
    runtime: Literal["auto", "torch", "onnx"] = Field(
        "auto", description="auto: ONNX Runtime on a CPU for models that it has a graph for, torch on GPUs and for all others"
    )
    dtype: Literal["auto", "int8", "float32", "bfloat16", "float16"] = Field(
        "auto", description="auto: int8 by ONNX Runtime; by torch, bfloat16 where the device computes it fast, else float32"
    )
    threads: Annotated[int, Field(ge=0, le=256)] = Field(0, description="CPU threads of a forward pass; 0: the library's choice")
    batch_tokens: Annotated[int, Field(ge=0, le=1_048_576)] = Field(0, description="padded tokens per batch; 0: 4,096 on a CPU, 65,536 on a GPU")
    batch_wait_ms_max: Annotated[float, Field(ge=0, le=10_000)] = Field(
        20, description="how long the oldest item waits for a batch to fill while the device is busy"
    )
    look_ahead_items: Annotated[int, Field(ge=1, le=1_000_000)] = Field(4_096, description="queued items that are sorted by length together")
    queue_items_max: Annotated[int, Field(ge=1, le=10_000_000)] = Field(65_536, description="queued items; a caller waits while the queue is full")
    text_cache_items: Annotated[int, Field(ge=0, le=1_000_000)] = Field(20_000, description="texts whose tokens are cached")
    warm_up: bool = Field(True, description="run the model once before the first case")
