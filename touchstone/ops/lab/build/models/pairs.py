"""Training pairs and their targets."""

from dataclasses import dataclass

LABELS: tuple[str, ...] = ("entailment", "neutral", "contradiction")
NEUTRAL, CONTRADICTION, NOT_ENTAILMENT = 1, 2, 3
TARGETS = {"entailment": 0, "neutral": 1, "contradiction": 2, "not_entailment": NOT_ENTAILMENT}


@dataclass(frozen=True, slots=True)
class Pair:
    """One training pair; `target` is an index into LABELS, or NOT_ENTAILMENT. `taught`: a teacher's probabilities of LABELS, which then count instead."""

    premise: str
    hypothesis: str
    target: int
    taught: tuple[float, float, float] | None = None
