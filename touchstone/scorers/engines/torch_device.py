"""The device of a model that torch computes: its choice, batch limits and memory errors."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from touchstone.scorers.base import ConfigError, Lost, Unavailable
from touchstone.scorers.engines.loaded_model import CPU_BATCH_TOKENS

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.tokens import Rectangle

GPU_BATCH_TOKENS = 65_536


def device_of(name: str) -> torch.device:
    """`auto`, `cpu`, `cuda` or `cuda:n`. Raises: ConfigError if that GPU is missing."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise ConfigError(f"device {name!r} is not available (GPUs that torch sees: {count}); set device to auto or cpu, or install torch for this GPU")
    return device


def is_out_of_memory(error: BaseException) -> bool:
    """True if the error says that memory is short, in any of torch's ways."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    message = str(error).lower() if isinstance(error, RuntimeError) else ""
    return "out of memory" in message or "can't allocate memory" in message


def device_failed(error: BaseException) -> Unavailable | None:
    """`Unavailable` for an error that no smaller batch avoids: the GPU's context is lost."""
    if isinstance(error, torch.AcceleratorError) and not is_out_of_memory(error):
        return Lost("device_failed")
    return None


@dataclass(frozen=True)
class TorchDevice:
    """A device that models share. `turn`: held for a forward pass, so that two models do not compete for its cores."""

    device: torch.device
    dtype: torch.dtype
    turn: threading.Lock

    @classmethod
    def of(cls, settings: EngineSettings, numbers: str, turn: threading.Lock) -> TorchDevice:
        """The device that the settings name. `numbers`: the planned type of the weights. Raises: ConfigError."""
        device = device_of(settings.device)
        if settings.threads:
            torch.set_num_threads(settings.threads)
        return cls(device, getattr(torch, numbers), turn)

    @property
    def is_gpu(self) -> bool:
        """True on a GPU."""
        return self.device.type == "cuda"

    @property
    def step(self) -> int:
        """Lengths are padded to multiples of it: tensor cores compute eights, a CPU pays for each token."""
        return 8 if self.is_gpu else 1

    @property
    def batch_tokens(self) -> int:
        """Padded tokens of a batch, unless the settings name a number."""
        return GPU_BATCH_TOKENS if self.is_gpu else CPU_BATCH_TOKENS

    def release(self) -> None:
        """Give cached memory back after an out-of-memory error."""
        if self.is_gpu:
            torch.cuda.empty_cache()

    def inputs(self, batch: Rectangle) -> dict[str, torch.Tensor]:
        """The batch as the model's arguments, on the device; from pinned memory, so that it is copied while the batch before it is computed."""
        named = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
        tensors = {name: torch.from_numpy(array) for name, array in named.items() if array is not None}
        if not self.is_gpu:
            return tensors
        stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        with torch.cuda.stream(stream):
            copies = {name: tensor.pin_memory().to(self.device, non_blocking=True) for name, tensor in tensors.items()}
        stream.synchronize()  # holds the collector's thread only
        return copies
