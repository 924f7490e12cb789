"""Models that torch computes: any sequence classifier of transformers, any encoder of sentence-transformers, with an adapter merged in."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from touchstone.scorers.engines.tokens import words_of
from touchstone.scorers.engines.torch_device import Place, device_failed, is_out_of_memory

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.engines.catalogue import Located
    from touchstone.scorers.engines.tokens import Rectangle

    Inputs = dict[str, torch.Tensor]

LABELS = ("entailment", "neutral", "contradiction")
#: How attention is computed, by device; None: the library's choice, fused where the model can (on a CPU it was never slower than plain).
ATTENTION: dict[str, str | None] = {"cpu": None, "cuda": None}
#: Families whose position ids start after the padding id.
SHIFTED_POSITIONS = ("roberta", "camembert", "mpnet", "longformer", "data2vec-text", "esm", "ibert")


class _OnTorch:
    """What both kinds of model share."""

    def __init__(self, model: Any, tokenizer: Any, place: Place) -> None:
        self.words = words_of(tokenizer)
        self.step = place.step
        self.release = place.release
        self.limits = place.limits
        self.is_out_of_memory = is_out_of_memory
        self._model = model.eval().requires_grad_(False).to(device=place.device, dtype=place.dtype)
        self._place = place

    def inputs(self, batch: Rectangle) -> Inputs:
        """The batch on the device."""
        return self._place.inputs(batch)

    def rows(self, inputs: Inputs) -> Floats:
        """One row per text or pair. Raises: Unavailable."""
        try:
            with self._place.turn, torch.inference_mode():
                rows: Floats = self._computed(inputs).cpu().numpy()
                return rows
        except RuntimeError as error:
            if (failed := device_failed(error)) is not None:
                raise failed from None
            raise

    def _computed(self, inputs: Inputs) -> torch.Tensor:
        raise NotImplementedError


class TorchClassifier(_OnTorch):
    """A sequence classifier of transformers."""

    def __init__(self, model: Any, tokenizer: Any, place: Place) -> None:
        super().__init__(model, tokenizer, place)
        self.labels: Mapping[int, str] = model.config.id2label
        self.window = window_of(model, tokenizer)

    def _computed(self, inputs: Inputs) -> torch.Tensor:
        probabilities: torch.Tensor = self._model(**inputs).logits.float().softmax(-1)
        return probabilities


class TorchEncoder(_OnTorch):
    """A `SentenceTransformer`."""

    def __init__(self, model: Any, place: Place) -> None:
        super().__init__(model, model.tokenizer, place)
        self.window = int(model.max_seq_length or model.tokenizer.model_max_length)
        self.prompt = str((model.prompts or {}).get(model.default_prompt_name or "", "") or "")
        self.dimensions = int(model.get_embedding_dimension())

    def _computed(self, inputs: Inputs) -> torch.Tensor:
        return torch.nn.functional.normalize(self._model(dict(inputs))["sentence_embedding"].float(), dim=-1)


def window_of(model: Any, tokenizer: Any) -> int:
    """The tokens that a pair may have, special ones counted."""
    config = model.config
    limits = [int(tokenizer.model_max_length)]
    positions = getattr(config, "max_position_embeddings", None)
    if positions and positions > 0:
        shifted = any(family in str(config.model_type) for family in SHIFTED_POSITIONS)
        limits.append(positions - (config.pad_token_id + 1 if shifted else 0))
    window = min(limits)
    return window if window < 1_000_000 else 512


def open_classifier(located: Located, settings: EngineSettings, numbers: str, turn: threading.Lock) -> TorchClassifier:
    """Load a classifier, and its adapter. Raises: ConfigError, or what the libraries raise for a folder that is no model."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    place = Place.of(settings, numbers, turn)
    attention = ATTENTION[place.device.type]
    if located.adapter is None:
        model = AutoModelForSequenceClassification.from_pretrained(located.base, attn_implementation=attention, local_files_only=True)
    else:
        model = _adapted(located.base, located.adapter, attention)
    return TorchClassifier(model, AutoTokenizer.from_pretrained(located.base, local_files_only=True), place)


def open_encoder(folder: Path, settings: EngineSettings, numbers: str, turn: threading.Lock) -> TorchEncoder:
    """Load an encoder. Raises: as `open_classifier`."""
    from sentence_transformers import SentenceTransformer

    return TorchEncoder(SentenceTransformer(str(folder), device="cpu", local_files_only=True), Place.of(settings, numbers, turn))


def _adapted(base: Path, adapter: Path, attention: str | None) -> Any:
    """A low-rank adapter merged into its base. Labels: the recipe's, else Touchstone's in order."""
    from peft import PeftModel
    from transformers import AutoModelForSequenceClassification

    recipe = adapter / "recipe.json"
    labels = json.loads(recipe.read_text(encoding="utf-8")).get("labels", LABELS) if recipe.is_file() else LABELS
    plain = AutoModelForSequenceClassification.from_pretrained(
        base,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
        attn_implementation=attention,
        local_files_only=True,
    )
    return PeftModel.from_pretrained(plain, str(adapter)).merge_and_unload()
