"""Opens engines from settings: finds the weights, loads them without library output, and warms the models up on their device."""

from __future__ import annotations

import asyncio
import atexit
import gc
import json
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchstone.scorers.base import ConfigError, Reading
from touchstone.scorers.engines.weights import ADAPTER_CONFIG, DEFAULT_ADAPTER, DEFAULT_BASE, default_base, digest_of, folder_of, hub_is_off

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.devices import Place
    from touchstone.scorers.engines.embedder import EmbedderEngine
    from touchstone.scorers.engines.nli import NliEngine

LABELS = ("entailment", "neutral", "contradiction")
#: How attention is computed, by device; None: the library's choice, fused where the model can (on a CPU it was never slower than plain).
ATTENTION: dict[str, str | None] = {"cpu": None, "cuda": None}
NO_EXTRA = "this needs the models' libraries; install touchstone-stream[nli]"


class OpenEngines:
    """`Engines` over one NLI model and one embedder."""

    def __init__(self, nli: NliEngine, embedder: EmbedderEngine) -> None:
        self._nli = nli
        self._embedder = embedder

    @property
    def nli(self) -> NliEngine:
        """The inference engine."""
        return self._nli

    @property
    def embedder(self) -> EmbedderEngine:
        """The embedding engine."""
        return self._embedder

    def readings(self) -> Iterable[Reading]:
        """Current readings of both."""
        yield from self._nli.readings()
        yield from self._embedder.readings()

    async def close(self) -> None:
        """Finish what is in flight, refuse what is new, end the threads."""
        await asyncio.gather(self._nli.close(), self._embedder.close())


def open_engines(settings: EngineSettings) -> OpenEngines:
    """Load both models; some seconds. Raises: ConfigError that names the setting to correct, or the extra to install."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # set, so that the library does not warn about it after a fork
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        from touchstone.scorers.engines.devices import Place
    except ImportError:
        raise ConfigError(NO_EXTRA) from None
    with _quiet():
        place = Place.of(settings)
        nli = open_nli(settings, place)
        embedder = open_embedder(settings, place)
        if settings.warm_up:
            nli.warm_up()
            embedder.warm_up()
    _set_libraries_aside()
    return OpenEngines(nli, embedder)


def open_nli(settings: EngineSettings, place: Place) -> NliEngine:
    """The NLI engine alone. Raises: ConfigError."""
    try:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        from touchstone.scorers.engines.nli import NliEngine
    except ImportError:
        raise ConfigError(NO_EXTRA) from None
    offline = hub_is_off(settings.offline)
    folder = DEFAULT_ADAPTER if settings.nli_model == "default" else folder_of(settings.nli_model, settings.nli_revision, offline=offline, setting="nli_model")
    if settings.nli_model == "default" and not (folder / ADAPTER_CONFIG).is_file():
        raise ConfigError(f"nli_model: the default model is not in this installation ({folder}); install touchstone-stream again, or name another")
    with _readable("nli_model", folder):
        attention = ATTENTION[place.device.type]
        if (folder / ADAPTER_CONFIG).is_file():
            words, model = _adapted(folder, attention, offline=offline)
            folders = [words, folder]
        else:
            model = AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation=attention, local_files_only=True)
            folders, words = [folder], folder
        tokenizer = AutoTokenizer.from_pretrained(words, local_files_only=True)
        name = f"{_name(settings.nli_model, folder)}@{digest_of(*folders)}"
    return NliEngine(model, tokenizer, place, settings, name=name)


def open_embedder(settings: EngineSettings, place: Place) -> EmbedderEngine:
    """The embedder alone. Raises: ConfigError."""
    try:
        from sentence_transformers import SentenceTransformer

        from touchstone.scorers.engines.embedder import EmbedderEngine
        from touchstone.scorers.engines.weights import default_base

        default = settings.embedder_model == "default"
        folder = default_base() if default else None
    except ImportError:
        raise ConfigError(NO_EXTRA) from None
    if folder is None:
        folder = folder_of(settings.embedder_model, settings.embedder_revision, offline=hub_is_off(settings.offline), setting="embedder_model")
    with _readable("embedder_model", folder):
        model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        name = f"{DEFAULT_BASE if default else _name(settings.embedder_model, folder)}@{digest_of(folder)}"
    return EmbedderEngine(model, place, settings, name=name)


def _adapted(folder: Path, attention: str | None, *, offline: bool) -> tuple[Path, Any]:
    """A low-rank adapter merged into its base: (the base's folder, the model). Labels: the recipe's, else Touchstone's in order."""
    from peft import PeftModel
    from transformers import AutoModelForSequenceClassification

    named = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))["base_model_name_or_path"]
    base = default_base() if named == DEFAULT_BASE else folder_of(named, None, offline=offline, setting=f"{folder.name}/{ADAPTER_CONFIG}")
    recipe = folder / "recipe.json"
    labels = json.loads(recipe.read_text(encoding="utf-8")).get("labels", LABELS) if recipe.is_file() else LABELS
    plain = AutoModelForSequenceClassification.from_pretrained(
        base,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
        attn_implementation=attention,
        local_files_only=True,
    )
    return base, PeftModel.from_pretrained(plain, str(folder)).merge_and_unload()


def _name(model: str, folder: Path) -> str:
    """The name of a model in results: never the path of a folder, which means nothing on another machine."""
    if model == "default":
        return folder.name
    return folder.resolve().name if Path(model).expanduser().is_dir() else model


def _set_libraries_aside() -> None:
    """Exclude the libraries' objects from garbage collection: they live as long as the process, and scanning them doubles the cost of a pair."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    atexit.unregister(gc.unfreeze)
    atexit.register(gc.unfreeze)  # some libraries complain at the end of what was never collected


@contextmanager
def _readable(setting: str, folder: Path) -> Iterator[None]:
    """Turn the libraries' errors about a folder that is not a model into one line."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(f"{NO_EXTRA} (no module {error.name!r})") from None
    except ConfigError:
        raise
    except Exception as error:  # the libraries' errors for broken weights and configs have no common type
        raise ConfigError(f"{setting}: {folder} is not a readable model ({type(error).__name__}); it needs config.json, weights and a tokenizer") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and no advice from the libraries: a worker's output is read by programs."""
    try:
        from huggingface_hub.utils.tqdm import disable_progress_bars
        from transformers.utils import logging
    except ImportError:
        raise ConfigError(NO_EXTRA) from None
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    disable_progress_bars()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
