"""The weighted sum of the components (Loss V3 §2)."""

from collections.abc import Mapping

from touchstone.scorers.summary.settings import Weights

COMPONENTS = ("facts", "entities", "flow", "semantic", "length")


def total(losses: Mapping[str, float], weights: Weights) -> float:
    """L: the mean of the components that are there, by their weights; a dropped one gives its weight to the others in proportion."""
    counted: dict[str, float] = {name: getattr(weights, name) for name in losses}
    return min(1.0, max(0.0, sum(counted[name] * loss for name, loss in losses.items()) / sum(counted.values())))


def missing(losses: Mapping[str, float]) -> tuple[str, ...]:
    """The components that were dropped."""
    return tuple(name for name in COMPONENTS if name not in losses)
