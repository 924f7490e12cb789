"""What counts as support of a statement: the model's entailment, or a calibrated combination of it with words and vectors."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorers.base import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

FEATURES = ("entailment_logit", "contradiction", "containment", "cosine")
#: Probabilities are kept this far from 0 and 1 before their logit, which has no value there.
EDGE = 1e-4


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic combination over `FEATURES`. `fitted_on`: the data, for people."""

    weights: tuple[float, float, float, float]
    bias: float
    fitted_on: str = ""

    def support(self, entailment: ArrayLike, contradiction: ArrayLike, containment: ArrayLike, cosine: ArrayLike) -> NDArray[np.float64]:
        """The probability that the premise supports the hypothesis; arrays of one shape, or numbers."""
        import numpy as np

        e = np.clip(np.asarray(entailment, dtype=np.float64), EDGE, 1 - EDGE)
        w = self.weights
        z = (
            w[0] * np.log(e / (1 - e))
            + w[1] * np.asarray(contradiction, dtype=np.float64)
            + w[2] * np.asarray(containment)
            + w[3] * np.asarray(cosine)
            + self.bias
        )
        return np.asarray(1 / (1 + np.exp(-np.clip(z, -60, 60))), dtype=np.float64)


def default_calibration() -> Calibration | None:
    """The calibration that comes with the default model; None where it has none. Raises `ConfigError` for one that cannot be read."""
    from scorers.engines.weights import DEFAULT_ADAPTER

    path = DEFAULT_ADAPTER / "calibration.json"
    return load_calibration(path) if path.is_file() else None


@lru_cache(maxsize=4)
def load_calibration(path: Path) -> Calibration:
    """Read `{"features": […], "weights": […], "bias": …, "fitted_on": "…"}`. Raises `ConfigError`."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if tuple(document["features"]) != FEATURES:
            raise ConfigError(f"{path.name}: features are not {', '.join(FEATURES)}; fit it again")
        weights = _numbers(document["weights"])
        (bias,) = _numbers([document["bias"]])
        return Calibration((weights[0], weights[1], weights[2], weights[3]), bias, str(document.get("fitted_on", "")))
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise ConfigError(f"{path.name}: is no calibration ({type(error).__name__}); it has features, weights, bias") from None


def _numbers(values: Sequence[Any]) -> list[float]:
    """Finite numbers. Raises: ValueError."""
    numbers = [float(value) for value in values]
    if not all(map(math.isfinite, numbers)):
        raise ValueError
    return numbers
