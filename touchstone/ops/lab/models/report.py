"""An evaluation as one document: the figures of the model, of each support and of the floors, and the absent sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from touchstone.ops.lab.models.measures import Vector
from touchstone.ops.lab.models.run import PREMISES_MAX, evaluate, load
from touchstone.ops.lab.models.sets import SETS, Answer, Support
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.base import Engines
from touchstone.scorers.summary.components.support import MEAN_WITH_WORDS, Calibration
from touchstone.scorers.summary.lexical import containment
from touchstone.scorers.summary.sentences import split, windows


def _entailment(answer: Answer) -> Vector:
    return answer.entailment


def _containment(answer: Answer) -> Vector:
    return answer.containment


def _cosine(answer: Answer) -> Vector:
    return answer.cosine


PLAIN = Support("nli", _entailment, _entailment, contradicts=True)


def _by(name: str, calibration: Calibration) -> Support:
    """A combination of features. As the scorer has it: words show whether something is present, only the model whether it is true."""

    def combined(answer: Answer) -> Vector:
        return calibration.support(answer.entailment, answer.contradiction, answer.containment, answer.cosine)

    return Support(name, combined, _entailment, contradicts=True)


WITH_WORDS = _by("nli+lexical", MEAN_WITH_WORDS)
FLOORS = (Support("lexical", _containment, _containment, contradicts=False), Support("cosine", _cosine, _cosine, contradicts=False))


def window_texts(text: str, sizes: tuple[int, ...] = (1, 2, 5)) -> list[str]:
    """The sliding windows of a text, as text."""
    spans = split(text)
    return [text[window.start : window.end] for window in windows(spans, sizes)]


async def measured(
    engines: Engines, data: Path, *, support: str, size: int | None, only: str | None, say: Callable[[str], None], calibration: Calibration | None
) -> dict[str, Any]:
    """Measure `engines` on the sets of `data`. `sets` holds the figures of the configured support. Raises `ConfigError`."""
    loaded, absent = load(data, size=size, windows=window_texts)
    if only is not None:
        wanted = [name.strip() for name in only.split(",")]
        known = [each.prefix for each in SETS]
        if unknown := [name for name in wanted if name not in known]:
            raise ConfigError(f"--only {unknown[0]}: no such set; choose from {', '.join(known)}")
        loaded = {name: each for name, each in loaded.items() if name in wanted}
    supports = [PLAIN, WITH_WORDS, *([] if calibration is None else [_by("calibrated", calibration)])]
    found = await evaluate(loaded, engines, [*supports, *FLOORS], containment, lambda name, done, total: say(f"{name}: {done:,} of {total:,} pairs"))
    say("")
    named = {each.name: found[each.name] for each in supports}
    return {
        "model": engines.nli.model,
        "embedder": engines.embedder.model,
        "support": support if support in named else PLAIN.name,
        "sample": size,
        "premises_max": PREMISES_MAX,
        # Only the model itself distinguishes three answers.
        "sets": named[PLAIN.name] | named.get(support, {}),
        "supports": named,
        "floors": {each.name: found[each.name] for each in FLOORS},
        "absent": absent,
        "undefined": [name for name in loaded if not any(name in figures for figures in named.values())],
    }
