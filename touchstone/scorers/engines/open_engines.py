"""Opens engines from settings: finds the weights, loads them without library output, and warms the models up on their device."""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from touchstone.scorers.base import ConfigError, Reading
from touchstone.scorers.engines.catalogue import locate, locate_embedder
from touchstone.scorers.engines.runtime_plan import plan
from touchstone.scorers.engines.weights import digest_of
from touchstone.scorers.installing import install_extras

if TYPE_CHECKING:
    from pathlib import Path

    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.embedder import EmbedderEngine
    from touchstone.scorers.engines.nli import NliEngine
    from touchstone.scorers.engines.runtime_plan import Plan

NO_LIBRARIES = "this needs the models' libraries; for CPUs"


@dataclass(frozen=True, slots=True)
class OpenEngines:
    """`Engines` over one NLI model and one embedder."""

    nli: NliEngine
    embedder: EmbedderEngine

    def readings(self) -> Iterable[Reading]:
        """Current readings of both."""
        yield from self.nli.readings()
        yield from self.embedder.readings()

    async def close(self) -> None:
        """Finish what is in flight, refuse what is new, end the threads."""
        await asyncio.gather(self.nli.close(), self.embedder.close())


def open_engines(settings: EngineSettings) -> OpenEngines:
    """Load both models, which takes seconds. Raises: ConfigError that names the setting to correct, or the extra to install."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # set, so that the library does not warn about it after a fork
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    plans = plan(settings, "nli"), plan(settings, "embedding")
    with _quiet(torch=any(each.runtime == "torch" for each in plans)):
        turn = threading.Lock()
        nli = open_nli(settings, turn)
        embedder = open_embedder(settings, turn)
        if settings.warm_up:
            with _runs("nli_model"):
                nli.warm_up()
            with _runs("embedder_model"):
                embedder.warm_up()
    _exempt_libraries_from_gc()
    return OpenEngines(nli, embedder)


def open_nli(settings: EngineSettings, turn: threading.Lock | None = None) -> NliEngine:
    """The NLI engine alone. `turn`: held for each forward pass; engines on one device share it. Raises: ConfigError."""
    planned = plan(settings, "nli")
    with _readable("nli_model"):
        from touchstone.scorers.engines.nli import NliEngine

        located = locate(settings)
    with _readable("nli_model", located.folders[-1]):
        loaded = _library(planned).open_classifier(located, settings, planned.numbers, turn or threading.Lock())
        return NliEngine(loaded, settings, name=f"{located.name}@{located.digest}{planned.mark}")


def open_embedder(settings: EngineSettings, turn: threading.Lock | None = None) -> EmbedderEngine:
    """The embedder alone. `turn`: as for `open_nli`. Raises: ConfigError."""
    planned = plan(settings, "embedding")
    with _readable("embedder_model"):
        from touchstone.scorers.engines.embedder import EmbedderEngine

        name, folder = locate_embedder(settings)
    with _readable("embedder_model", folder):
        loaded = _library(planned).open_encoder(folder, settings, planned.numbers, turn or threading.Lock())
        return EmbedderEngine(loaded, settings, name=f"{name}@{digest_of(folder)}{planned.mark}")


def _library(planned: Plan) -> Any:
    """The module that loads models for the planned runtime; both have `open_classifier` and `open_encoder`."""
    if planned.runtime == "onnx":
        from touchstone.scorers.engines import onnx_runtime

        return onnx_runtime
    from touchstone.scorers.engines import torch_runtime

    return torch_runtime


def _exempt_libraries_from_gc() -> None:
    """Exclude the libraries' objects from garbage collection: they live as long as the process, and scanning them doubles the time of a pair."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    atexit.unregister(gc.unfreeze)
    atexit.register(gc.unfreeze)  # some libraries complain at exit about objects that were never collected


@contextmanager
def _runs(setting: str) -> Iterator[None]:
    """Turn an error of a model's first run into one line: its files were read, but it does not run on this device with these numbers."""
    try:
        yield
    except ConfigError:
        raise
    except Exception as error:  # each library and device has errors of its own
        raise ConfigError(f"{setting}: the model was read, but its first run failed ({type(error).__name__}); try another device, dtype or runtime") from error


@contextmanager
def _readable(setting: str, folder: Path | None = None) -> Iterator[None]:
    """Turn the libraries' errors about a folder that is not a model, and a missing library, into one line."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(f"{NO_LIBRARIES}, {install_extras('nli-onnx')} (no module {error.name!r}; with a GPU, the extra nli)") from None
    except ConfigError:
        raise
    except Exception as error:  # the libraries' errors for broken weights and configs have no common type
        if folder is None:
            raise
        raise ConfigError(f"{setting}: {folder} is not a readable model ({type(error).__name__}); it needs config.json, weights and a tokenizer") from error


@contextmanager
def _quiet(*, torch: bool) -> Iterator[None]:
    """Switch off the libraries' progress bars and warnings: programs read a worker's output."""
    if torch:
        try:
            from huggingface_hub.utils.tqdm import disable_progress_bars
            from transformers.utils import logging
        except ImportError:
            raise ConfigError(f"this needs torch and its libraries; {install_extras('nli')}") from None
        logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        disable_progress_bars()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
