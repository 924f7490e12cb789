"""The runtime and the number type of an engine, decided from the settings and this machine before any heavy library is imported."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.catalogue import answering, gpu_here
from touchstone.scorers.engines.encoder_shape import LABELS, Task, shape_of
from touchstone.scorers.engines.encoders import encoder_of
from touchstone.scorers.engines.processor import adds_bytes_in_32_bits, computes_bfloat16
from touchstone.scorers.engines.weights import ADAPTER_CONFIG, folder_here
from touchstone.scorers.installing import install_extras

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings

Runtime = Literal["torch", "onnx"]
Numbers = Literal["int8", "float32", "bfloat16", "float16"]

NO_TORCH = "needs torch, which is not installed"
NO_ONNX = "needs ONNX Runtime, which is not installed"
#: `auto` takes ONNX Runtime on a CPU even if torch is installed.
ONNX_IS_DEFAULT = True
#: The speed of int8 on this processor. Its answers are the same on every one.
VNNI = "this processor multiplies bytes at full speed (VNNI or ARM)"
NO_VNNI = "without VNNI, or where it is not reported, a slower product of bytes gives the same answers"
#: The libraries of each runtime.
TORCH_LIBRARIES = ("torch", "transformers", "sentence_transformers")
ONNX_LIBRARIES = ("onnxruntime", "tokenizers", "safetensors")
#: Heads that have a graph.
HEADS = ("BertForSequenceClassification", "MPNetForSequenceClassification")
#: An adapter can be merged without its library if these keys have these values, or are missing.
PLAIN_ADAPTER = {"use_dora": False, "use_rslora": False, "fan_in_fan_out": False, "lora_bias": False, "rank_pattern": {}, "alpha_pattern": {}, "bias": "none"}


@dataclass(frozen=True, slots=True)
class Plan:
    """How one engine computes. `numbers`: the type of its weights; all but float32 round. `why`: why these numbers, for people."""

    runtime: Runtime
    numbers: Numbers
    why: str = field(default="", compare=False)

    @property
    def mark(self) -> str:
        """The end of the model's name in results."""
        return "" if self.numbers == "float32" else f"+{self.numbers}"


def number_types(settings: EngineSettings) -> str:
    """The number types of both engines, or `unknown` if they cannot be planned: opening them says why.

    The runtime is not part of it: in float32 both give the same answers. Loads a library only if a GPU's driver is installed.
    """
    try:
        nli, embedder = plan(settings, "nli").numbers, plan(settings, "embedding").numbers
    except ConfigError:
        return "unknown"
    return nli if nli == embedder else f"{nli}, embedder {embedder}"


def numbers_note(settings: EngineSettings) -> str | None:
    """The NLI model's number type on this machine, and why; None if it cannot be planned: opening it says why."""
    try:
        planned = plan(settings, "nli")
    except ConfigError:
        return None
    return f"{planned.numbers} ({planned.why})"


def plan(settings: EngineSettings, task: Task) -> Plan:
    """Choose runtime and numbers. Raises: ConfigError if the settings contradict each other or name something that is not installed."""
    gpu = gpu_here(settings)
    why_not = _why_no_onnx(settings, task, gpu=gpu)
    if settings.runtime == "onnx" or settings.dtype == "int8":
        if why_not is not None:
            raise ConfigError(why_not)
        return _on_onnx(settings)
    if settings.runtime == "auto" and why_not is None and _installed(ONNX_LIBRARIES) and (ONNX_IS_DEFAULT or not _installed(TORCH_LIBRARIES)):
        return _on_onnx(settings)
    if not _installed(TORCH_LIBRARIES):
        because = f" ({why_not})" if settings.runtime == "auto" and why_not is not None and _installed(ONNX_LIBRARIES) else ""
        raise ConfigError(f"engines: this {NO_TORCH}; {install_extras('nli')}{because}")
    return _on_torch(settings, gpu=gpu)


def _on_onnx(settings: EngineSettings) -> Plan:
    chosen = "the default on a CPU" if settings.dtype == "auto" else f"dtype is set to {settings.dtype}"
    if settings.dtype == "float32":
        return Plan("onnx", "float32", chosen)
    return Plan("onnx", "int8", f"{chosen}; {VNNI if adds_bytes_in_32_bits() else NO_VNNI}")


def _on_torch(settings: EngineSettings, *, gpu: bool) -> Plan:
    if settings.dtype != "auto":
        return Plan("torch", settings.dtype, f"dtype is set to {settings.dtype}")
    device = "GPU" if gpu else "processor"
    if _computes_bfloat16(gpu=gpu):
        return Plan("torch", "bfloat16", f"the {device} computes it")
    return Plan("torch", "float32", f"the {device} does not compute bfloat16")


def _computes_bfloat16(*, gpu: bool) -> bool:
    if not gpu:
        return computes_bfloat16()
    import torch

    return bool(torch.cuda.is_bf16_supported(including_emulation=False))


def _installed(libraries: tuple[str, ...]) -> bool:
    return all(find_spec(name) is not None for name in libraries)


def _why_no_onnx(settings: EngineSettings, task: Task, *, gpu: bool) -> str | None:
    """Why ONNX Runtime cannot compute this; None if it can. Whether it is installed is checked only if the settings name it."""
    named = settings.runtime == "onnx" or settings.dtype == "int8"
    asked = "runtime: onnx" if settings.runtime == "onnx" else "dtype: int8"
    if settings.runtime == "torch":
        return "dtype: int8 is ONNX Runtime's; set runtime to auto or onnx, or another dtype"
    if settings.dtype in {"bfloat16", "float16"}:
        return f"runtime: onnx computes in int8 or float32, not in {settings.dtype}; set dtype to auto, int8 or float32, or runtime to torch"
    if gpu or settings.device.startswith("cuda"):
        return f"{asked} runs on CPUs; set device to cpu, or runtime to torch"
    if named and not _installed(ONNX_LIBRARIES):
        return f"{asked} {NO_ONNX}; {install_extras('nli-onnx')}"
    if not _has_graph(settings, task):
        setting = "nli_model" if task == "nli" else "embedder_model"
        return f"{setting}: {getattr(settings, setting)} has no graph for ONNX Runtime; set runtime to torch, dtype to auto, or {setting} to default"
    return None


def _has_graph(settings: EngineSettings, task: Task) -> bool:
    """True if a graph ships for the model. Hub models are not fetched to find out: they have none."""
    if task == "embedding":
        if settings.embedder_model == "default":
            return True
        folder = folder_here(settings.embedder_model)
        return folder is not None and _encodes(folder) and _graph_ships(folder, task)
    if answering(settings) is not None:
        return True
    if (folder := folder_here(settings.nli_model)) is None:
        return False
    adapter = _document(folder / ADAPTER_CONFIG)
    if not adapter:
        config = _document(folder / "config.json")
        heads = config.get("architectures") or []
        return any(head in heads for head in HEADS) and _has_labels(config.get("id2label", {})) and _graph_ships(folder, task)
    if adapter.get("peft_type") != "LORA" or any(adapter.get(name, plain) not in (plain, None) for name, plain in PLAIN_ADAPTER.items()):
        return False
    if not _has_labels(_document(folder / "recipe.json").get("labels", [""] * LABELS)):
        return False
    name = str(adapter.get("base_model_name_or_path"))
    base = folder_here(name)
    return encoder_of(name) is not None or (base is not None and _graph_ships(base, task))


def _has_labels(content: object) -> bool:
    """True if there are as many labels as a head with a graph has."""
    return isinstance(content, (list, dict)) and len(content) == LABELS


def _graph_ships(folder: Path, task: Task) -> bool:
    shape = shape_of(_document(folder / "config.json"))
    is_complete = (folder / "tokenizer.json").is_file() and (folder / "model.safetensors").is_file()
    return is_complete and shape is not None and shape.graph(task, "int8").is_file()


def _encodes(folder: Path) -> bool:
    """True if the folder's vectors are normalised means of its tokens' vectors, without a prompt: the only kind that has a graph."""
    pooling = _document(folder / "1_Pooling" / "config.json")
    others = [name for name, value in pooling.items() if name.startswith("pooling_mode_") and value is True and name != "pooling_mode_mean_tokens"]
    prompts = _document(folder / "config_sentence_transformers.json").get("default_prompt_name")
    return bool(pooling.get("pooling_mode_mean_tokens")) and not others and not prompts and not (folder / "2_Dense").is_dir()


def _document(path: Path) -> dict[str, Any]:
    """A JSON object; an empty one if it cannot be read, which opening the model reports."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
