"""Support of a statement: the model's entailment, or a calibrated combination of it with words and vectors."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from touchstone.scorers.base import ConfigError
from touchstone.scorers.installing import install_again

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.summary.settings import SummarySettings

#: Features of a pair that a combination may use.
FEATURES = ("entailment", "entailment_logit", "contradiction", "containment", "cosine")
#: Probabilities are kept this far from 0 and 1 before their logit, which has no value there.
EDGE = 1e-4

Link = Literal["identity", "logistic"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A weighted sum of `features`, through `link` into [0, 1] (identity: cut off there). `fitted_on`: the data, for people."""

    features: tuple[str, ...]
    weights: tuple[float, ...]
    bias: float
    link: Link = "logistic"
    fitted_on: str = ""

    @property
    def needs_vectors(self) -> bool:
        """True if both texts' embeddings are needed."""
        return "cosine" in self.features

    @property
    def needs_words(self) -> bool:
        """True if the words of both texts are needed."""
        return "containment" in self.features

    def support(self, entailment: ArrayLike, contradiction: ArrayLike, containment: ArrayLike, cosine: ArrayLike = 0.0) -> NDArray[np.float64]:
        """How far the premise supports the hypothesis, in [0, 1]; arrays of one shape, or numbers."""
        import numpy as np

        e = np.asarray(entailment, dtype=np.float64)
        inner = np.clip(e, EDGE, 1 - EDGE)
        by_name = {
            "entailment": e,
            "entailment_logit": np.log(inner / (1 - inner)),
            "contradiction": np.asarray(contradiction, dtype=np.float64),
            "containment": np.asarray(containment, dtype=np.float64),
            "cosine": np.asarray(cosine, dtype=np.float64),
        }
        z = sum((weight * by_name[name] for name, weight in zip(self.features, self.weights, strict=True)), start=np.float64(self.bias))
        return np.asarray(np.clip(z, 0, 1) if self.link == "identity" else 1 / (1 + np.exp(-np.clip(z, -60, 60))), dtype=np.float64)


#: `nli+lexical`: the plain mean of entailment and shared words. Nothing was fitted.
MEAN_WITH_WORDS = Calibration(("entailment", "containment"), (0.5, 0.5), 0.0, "identity", "nothing: a plain mean")


def for_sentences(calibration: Calibration | None) -> Calibration | None:
    """The calibration for precision and coverage. A mean with words is for recall alone: half of it is words, which hide what is said wrongly."""
    return calibration if calibration is not MEAN_WITH_WORDS else None


def calibration_for(settings: SummarySettings) -> Calibration | None:
    """How support is made of a pair's features; None: it is the entailment. Raises `ConfigError`."""
    from touchstone.scorers.engines.catalogue import answering

    if settings.supported_by == "nli":
        return None
    if settings.supported_by == "nli+lexical":
        return MEAN_WITH_WORDS
    if answering(settings.engines) is None:
        raise ConfigError("support: calibrated is known for Touchstone's own models only; set support to nli or nli+lexical, or nli_model to small or base")
    calibration = own_calibration(settings.engines)
    if calibration is None:
        raise ConfigError(f"support: calibrated needs calibration.json beside the model; set support to nli, or {install_again()}")
    return calibration


def own_calibration(engines: EngineSettings) -> Calibration | None:
    """The calibration beside the answering model; None for models that are not Touchstone's. Raises `ConfigError` if it cannot be read."""
    from touchstone.scorers.engines.catalogue import answering

    own = answering(engines)
    path = None if own is None else own.adapter / "calibration.json"
    return load_calibration(path) if path is not None and path.is_file() else None


@lru_cache(maxsize=4)
def load_calibration(path: Path) -> Calibration:
    """Read `{"features": […], "weights": […], "bias": …, "link": "identity"|"logistic", "fitted_on": "…"}`. Raises `ConfigError`."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        features = tuple(document["features"])
        link = document.get("link", "logistic")
        if not features or not set(features) <= set(FEATURES) or len(set(features)) != len(features) or link not in get_args(Link):
            raise ConfigError(f"{path.name}: features are some of {', '.join(FEATURES)}, and link is identity or logistic; write it again")
        weights = _numbers(document["weights"])
        (bias,) = _numbers([document["bias"]])
        if len(weights) != len(features):
            raise ConfigError(f"{path.name}: has {len(weights)} weights for {len(features)} features; write it again")
        return Calibration(features, tuple(weights), bias, link, str(document.get("fitted_on", "")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path.name}: is not a calibration ({type(error).__name__}); it has features, weights, bias and link") from None


def _numbers(values: Sequence[Any]) -> list[float]:
    """Finite numbers. Raises: ValueError."""
    numbers = [float(value) for value in values]
    if not all(map(math.isfinite, numbers)):
        raise ValueError
    return numbers
