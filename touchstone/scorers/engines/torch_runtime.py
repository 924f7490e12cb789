"""Models that torch computes: sequence classifiers of transformers with their adapters, and encoders of sentence-transformers."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from touchstone.scorers.engines.tokens import TOKENS_UNBOUNDED, words_of
from touchstone.scorers.engines.torch_device import TorchDevice, device_failed, is_out_of_memory
from touchstone.scorers.engines.weights import labels_of

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.engines.catalogue import Located

    Inputs = dict[str, torch.Tensor]

#: Families whose position ids start after the padding id.
SHIFTED_POSITIONS = ("roberta", "camembert", "mpnet", "longformer", "data2vec-text", "esm", "ibert")


#: The window of a model that names no bound.
USUAL_WINDOW = 512


class _TorchModel:
    """The part that both kinds of model share."""

    def __init__(self, model: Any, tokenizer: Any, device: TorchDevice) -> None:
        self.words = words_of(tokenizer)
        self.step = device.step
        self.batch_tokens = device.batch_tokens
        self.inputs = device.inputs
        self.release = device.release
        self.is_out_of_memory = is_out_of_memory
        self._model = model.eval().requires_grad_(False).to(device=device.device, dtype=device.dtype)
        self._turn = device.turn

    def rows(self, inputs: Inputs) -> Floats:
        """One row per text or pair. Raises: Unavailable."""
        try:
            with self._turn, torch.inference_mode():
                rows: Floats = self._computed(inputs).cpu().numpy()
                return rows
        except RuntimeError as error:
            if (failed := device_failed(error)) is not None:
                raise failed from None
            raise

    def _computed(self, inputs: Inputs) -> torch.Tensor:
        raise NotImplementedError


class TorchClassifier(_TorchModel):
    """A sequence classifier of transformers."""

    def __init__(self, model: Any, tokenizer: Any, device: TorchDevice) -> None:
        super().__init__(model, tokenizer, device)
        self.labels: Mapping[int, str] = model.config.id2label
        self.window = window_of(model, tokenizer)

    def _computed(self, inputs: Inputs) -> torch.Tensor:
        probabilities: torch.Tensor = self._model(**inputs).logits.float().softmax(-1)
        return probabilities


class TorchEncoder(_TorchModel):
    """A `SentenceTransformer`."""

    def __init__(self, model: Any, device: TorchDevice) -> None:
        super().__init__(model, model.tokenizer, device)
        self.window = int(model.max_seq_length or model.tokenizer.model_max_length)
        self.prompt = str((model.prompts or {}).get(model.default_prompt_name or "", "") or "")
        self.dimensions = int(model.get_embedding_dimension())

    def _computed(self, inputs: Inputs) -> torch.Tensor:
        return torch.nn.functional.normalize(self._model(dict(inputs))["sentence_embedding"].float(), dim=-1)


def window_of(model: Any, tokenizer: Any) -> int:
    """Tokens that a pair may have, special ones counted."""
    config = model.config
    limits = [int(tokenizer.model_max_length)]
    positions = getattr(config, "max_position_embeddings", None)
    if positions and positions > 0:
        shifted = any(family in str(config.model_type) for family in SHIFTED_POSITIONS)
        limits.append(positions - (config.pad_token_id + 1 if shifted else 0))
    window = min(limits)
    return window if window < TOKENS_UNBOUNDED else USUAL_WINDOW


def open_classifier(located: Located, settings: EngineSettings, numbers: str, turn: threading.Lock) -> TorchClassifier:
    """Load a classifier, and its adapter. Raises: ConfigError, or what the libraries raise for a folder that is no model."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    if located.adapter is None:
        model = AutoModelForSequenceClassification.from_pretrained(located.base, local_files_only=True)
    else:
        model = _adapted(located.base, located.adapter)
    return TorchClassifier(model, AutoTokenizer.from_pretrained(located.base, local_files_only=True), TorchDevice.of(settings, numbers, turn))


def open_encoder(folder: Path, settings: EngineSettings, numbers: str, turn: threading.Lock) -> TorchEncoder:
    """Load an encoder. Raises: as `open_classifier`."""
    from sentence_transformers import SentenceTransformer

    return TorchEncoder(SentenceTransformer(str(folder), device="cpu", local_files_only=True), TorchDevice.of(settings, numbers, turn))


def _adapted(base: Path, adapter: Path) -> Any:
    """A low-rank adapter merged into its base."""
    from peft import PeftModel
    from transformers import AutoModelForSequenceClassification

    labels = labels_of(adapter)
    plain = AutoModelForSequenceClassification.from_pretrained(
        base,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
        local_files_only=True,
    )
    return PeftModel.from_pretrained(plain, str(adapter)).merge_and_unload()
