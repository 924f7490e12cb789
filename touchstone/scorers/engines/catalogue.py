"""The NLI models that Touchstone names, the choice of `default` on this machine, and the folders of any model in the settings.

An adapter is Touchstone's own and ships with it; the encoder below it is published by others (`encoders.py`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.encoders import MINILM, MPNET, Encoder, encoder_of
from touchstone.scorers.engines.weights import ADAPTER_CONFIG, DEFAULT_BASE, SHIPPED, digest_of, folder_here, folder_of, hub_is_off
from touchstone.scorers.installing import install_again

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings

#: Words for the model that fits the device.
DEFAULT = ("default", "auto")
#: Files that show, without loading a library, that torch may see a GPU: NVIDIA's driver, its bridge in Windows' Linux, or AMD's.
_GPU_DRIVERS = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg", "/dev/kfd")


@dataclass(frozen=True, slots=True)
class NamedModel:
    """An adapter that ships with Touchstone, over an encoder."""

    name: str
    alias: str
    encoder: Encoder

    @property
    def adapter(self) -> Path:
        """The folder of the adapter, its card and its measured scores."""
        return SHIPPED / self.name

    @property
    def is_shipped(self) -> bool:
        """True if the adapter is part of this installation."""
        return (self.adapter / ADAPTER_CONFIG).is_file()

    def scores(self) -> dict[str, Any] | None:
        """Its measured scores, as `python -m touchstone.ops.lab models evaluate` writes them; None if there are none yet."""
        return _document(self.adapter / "scores.json")

    def speed(self) -> dict[str, Any] | None:
        """Its measured pairs a second: a list `runs` with runtime, numbers, figure and machine; None if nothing was measured yet."""
        return _document(self.adapter / "speed.json")


SMALL = NamedModel("touchstone-nli-minilm-l6", "small", MINILM)
BASE = NamedModel("touchstone-nli-base", "base", MPNET)
MODELS = (SMALL, BASE)


@dataclass(frozen=True, slots=True)
class Choice:
    """The model that `default` means here. `why`: for people. `falls_back`: the larger model would fit the GPU, but is not available."""

    model: NamedModel
    why: str
    falls_back: bool = False


@dataclass(frozen=True, slots=True)
class Located:
    """A model's folders. `base`: config, tokenizer and weights. `adapter`: the changes that are merged into them.

    `name`: as in results, without the digest. `choice`: the reason, if the settings left the model open.
    """

    name: str
    base: Path
    adapter: Path | None
    choice: Choice | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders whose content decides the scores."""
        return (self.base,) if self.adapter is None else (self.base, self.adapter)

    @property
    def digest(self) -> str:
        """Twelve hex digits that identify the content."""
        return digest_of(*self.folders)


def named(model: str) -> NamedModel | None:
    """The model with that name or alias; None for `default`, a folder or a hub name."""
    return next((each for each in MODELS if model in {each.name, each.alias}), None)


def gpu_here(settings: EngineSettings) -> bool:
    """True if the models will run on a GPU. Torch is only loaded if a GPU's driver is installed."""
    if settings.device == "cpu" or getattr(settings, "runtime", "auto") == "onnx":
        return False
    if settings.device != "auto":
        return True
    if find_spec("torch") is None or not any(Path(driver).exists() for driver in _GPU_DRIVERS):
        return False
    import torch

    return bool(torch.cuda.is_available())


def choose(settings: EngineSettings, *, gpu: bool | None = None) -> Choice:
    """The model that `default` means: base on a GPU if its weights are on this machine, else small. Fetches nothing."""
    if not (gpu_here(settings) if gpu is None else gpu):
        return Choice(SMALL, f"{SMALL.name}, because the models run on a CPU")
    if not BASE.is_shipped:
        return Choice(SMALL, f"{SMALL.name} although there is a GPU: {BASE.name} is not in this installation", falls_back=True)
    if BASE.encoder.find(settings.base_folder) is None:
        why = f"{SMALL.name} although there is a GPU: the weights of {BASE.encoder.title} are not on this machine; to have {BASE.name}"
        return Choice(SMALL, f"{why}, run: touchstone models fetch {BASE.alias}", falls_back=True)
    return Choice(BASE, f"{BASE.name}, because the models run on a GPU")


def answering(settings: EngineSettings, *, gpu: bool | None = None) -> NamedModel | None:
    """The named model that will be used; None if a folder or a hub model will be. Fetches nothing."""
    return choose(settings, gpu=gpu).model if settings.nli_model in DEFAULT else named(settings.nli_model)


def identity(settings: EngineSettings) -> str:
    """The NLI model in a configuration digest: never a path; with a digest of its content if it is Touchstone's own or in a folder."""
    model = answering(settings)
    if model is not None:
        return f"{model.name}@{_digest(model.adapter)}"
    if (folder := folder_here(settings.nli_model)) is not None:
        return f"{folder.resolve().name}@{_digest(folder)}"
    return f"{settings.nli_model}@{settings.nli_revision}" if settings.nli_revision else settings.nli_model


def locate(settings: EngineSettings, *, gpu: bool | None = None) -> Located:
    """The folders of the NLI model in the settings, fetched or unpacked first if need be. Raises: ConfigError."""
    choice = choose(settings, gpu=gpu) if settings.nli_model in DEFAULT else None
    model = choice.model if choice is not None else named(settings.nli_model)
    if model is not None:
        if not model.is_shipped:
            raise ConfigError(f"nli_model: {model.name} is not in this installation ({model.adapter}); name another, or {install_again()}")
        return Located(model.name, base_folder_of(model.encoder.name, settings), model.adapter, choice)
    folder = folder_of(settings.nli_model, settings.nli_revision, offline=hub_is_off(settings.offline), setting="nli_model")
    name = settings.nli_model if folder_here(settings.nli_model) is None else folder.resolve().name
    if not (folder / ADAPTER_CONFIG).is_file():
        return Located(name, folder, None)
    try:
        base = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))["base_model_name_or_path"]
    except (OSError, ValueError, KeyError, TypeError):
        base = None
    if not base or not isinstance(base, str):
        raise ConfigError(f"nli_model: {folder / ADAPTER_CONFIG} does not say base_model_name_or_path; save the adapter again") from None
    return Located(name, base_folder_of(base, settings, setting=f"{folder.name}/{ADAPTER_CONFIG}"), folder)


def locate_embedder(settings: EngineSettings) -> tuple[str, Path]:
    """The embedder's name in results, without the digest, and its folder, fetched first if need be. Raises: ConfigError."""
    if settings.embedder_model == "default":
        return DEFAULT_BASE, base_folder_of(DEFAULT_BASE, settings, setting="embedder_model")
    folder = folder_of(settings.embedder_model, settings.embedder_revision, offline=hub_is_off(settings.offline), setting="embedder_model")
    return settings.embedder_model if folder_here(settings.embedder_model) is None else folder.resolve().name, folder


def base_folder_of(name: str, settings: EngineSettings | None = None, *, setting: str = "nli_model") -> Path:
    """The folder of a base model that an adapter names: an encoder of the catalogue, a folder, or a hub model. Raises: ConfigError."""
    offline = hub_is_off(settings.offline if settings is not None else False)
    encoder = encoder_of(name)
    if encoder is None:
        return folder_of(name, None, offline=offline, setting=setting)
    return encoder.fetch(settings.base_folder if settings is not None else None, offline=offline, setting=setting)


def _digest(folder: Path) -> str:
    """The digest of a folder's model; `absent` if it cannot be read, which opening it reports."""
    try:
        return digest_of(folder) if folder.is_dir() else "absent"
    except (OSError, ValueError):
        return "absent"


def _document(path: Path) -> dict[str, Any] | None:
    """A JSON object beside an adapter; None if there is no file. Raises: ConfigError for any other content."""
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        content = None
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: is not a JSON object; {install_again()}")
    return content
