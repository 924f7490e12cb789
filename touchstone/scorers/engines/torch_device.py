"""The device of a model that torch computes: its choice, batch limits and memory errors."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from touchstone.scorers.base import ConfigError, Lost, Unavailable
from touchstone.scorers.engines.batcher import Limits

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.tokens import Rectangle

#: Measured on two cores: what a layer makes of 4,096 tokens stays nearer to the caches (5 to 15 % quicker than 8,192), and padding is less.
CPU_BATCH_TOKENS = 4_096
GPU_BATCH_TOKENS = 65_536


def device_of(name: str) -> torch.device:
    """`auto`, `cpu`, `cuda` or `cuda:n`. Raises: ConfigError when that GPU is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda":
        there = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= there:
            raise ConfigError(f"device {name!r} is not available (GPUs that torch sees: {there}); set device to auto or cpu, or install torch for this GPU")
    return device


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the memory was too small, by any of the names that torch gives it."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    said = str(error).lower() if isinstance(error, RuntimeError) else ""
    return "out of memory" in said or "can't allocate memory" in said


@dataclass(frozen=True)
class Place:
    """A device that models share. `turn`: held for a forward, so that two models on one device do not fight for its cores."""

    device: torch.device
    dtype: torch.dtype
    turn: threading.Lock

    @classmethod
    def of(cls, settings: EngineSettings, numbers: str, turn: threading.Lock) -> Place:
        """The place that the settings name. `numbers`: the planned type of the weights. Raises: ConfigError."""
        device = device_of(settings.device)
        if settings.threads:
            torch.set_num_threads(settings.threads)
        return cls(device, getattr(torch, numbers), turn)

    @property
    def step(self) -> int:
        """Lengths are padded to multiples of it: tensor cores want eight, a CPU pays for each token."""
        return 8 if self.device.type == "cuda" else 1

    def limits(self, settings: EngineSettings) -> Limits:
        """The bounds of a batcher here."""
        return Limits(
            batch_tokens=settings.batch_tokens or (GPU_BATCH_TOKENS if self.device.type == "cuda" else CPU_BATCH_TOKENS),
            wait_s=settings.batch_wait_ms_max / 1000,
            look_ahead_items=settings.look_ahead_items,
            queue_items_max=settings.queue_items_max,
            step=self.step,
        )

    def release(self) -> None:
        """Give cached memory back after an out-of-memory error."""
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def inputs(self, batch: Rectangle) -> dict[str, torch.Tensor]:
        """The batch as the model's arguments, on the device; from pinned memory, so that the copy runs beside the forward before it."""
        named = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
        tensors = {name: torch.from_numpy(array) for name, array in named.items() if array is not None}
        if self.device.type != "cuda":
            return tensors
        stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        with torch.cuda.stream(stream):
            there = {name: tensor.pin_memory().to(self.device, non_blocking=True) for name, tensor in tensors.items()}
        stream.synchronize()  # holds the collector's thread only
        return there


def device_failed(error: BaseException) -> Unavailable | None:
    """`Unavailable` for an error that no smaller batch avoids: the GPU's context is lost."""
    if isinstance(error, torch.AcceleratorError) and not is_out_of_memory(error):
        return Lost("device_failed")
    return None
