"""Details of a Loss V3 scorecard: ids and indices; texts only where the settings allow it (`quote`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from touchstone.schemas.result import Finding
from touchstone.scorers.summary import facts, flow
from touchstone.scorers.summary.guardrails import MESSAGES, Breach

if TYPE_CHECKING:
    from touchstone.scorers.summary.components import Asked, Components
    from touchstone.scorers.summary.facts import Matrix
    from touchstone.scorers.summary.preparing import Prepared
    from touchstone.scorers.summary.sentences import Window
    from touchstone.scorers.summary.settings import SummarySettings

#: Decimal places of numbers in the details.
DIGITS = 4


def findings_of(breaches: Sequence[Breach]) -> tuple[Finding, ...]:
    """One critical finding per hard fail."""
    return tuple(Finding(severity="critical", code=breach.rule, path=breach.path, message=MESSAGES[breach.rule]) for breach in breaches)


def hard_fail_details(prepared: Prepared, *, quote: bool) -> dict[str, Any]:
    """Which rules failed and where; with `quote` the sentences too."""
    first = prepared.breaches[0]
    told: dict[str, Any] = {"hard_fail": {"rule": first.rule, "sentences": [breach.sentence for breach in prepared.breaches if breach.sentence is not None]}}
    if quote and prepared.generated.spans:
        sentences = prepared.generated.sentences
        told["hard_fail"]["quoted"] = [sentences[index] for index in told["hard_fail"]["sentences"]]
    return told


def details_of(prepared: Prepared, asked: Asked, components: Components, settings: SummarySettings) -> dict[str, Any]:
    """The breakdown of a loss. Indices count from 0, in the order of the gold's lists and of the text."""
    fact_best = facts.best(components.fact_support)
    matched = [index for index, entity in enumerate(components.entities) if entity.matched]
    told: dict[str, Any] = {
        "facts": {"support": _rounded(fact_best), "sentences": _rounded(components.faithful)},
        "entities": {
            "matched": matched,
            "missing": [index for index, entity in enumerate(components.entities) if entity.ratio is None],
            "other_context": [index for index, entity in enumerate(components.entities) if entity.ratio is not None and not entity.matched],
        },
        "flow": {"covered": components.covered, "places": components.places, "inversions": flow.inversions(components.places)},
        "length": {"tokens": components.tokens, "target": components.target, "source_tokens": prepared.datum.entry.token_count},
        "sentences": {"generated": len(prepared.generated.spans), "gold": len(prepared.gold.spans)},
        "pairs": len(asked.pairs),
    }
    if settings.evidence == "ids" or settings.quote:
        told["evidence"] = _evidence(prepared, components)
    if settings.quote:
        told["quoted"] = _quoted(prepared)
    return told


def _evidence(prepared: Prepared, components: Components) -> dict[str, Any]:
    """Which window supports each fact and outline point best, and which unit of the gold each sentence."""
    count = len(prepared.datum.summary.key_facts)
    generated, gold = prepared.generated.windows, prepared.gold.windows
    borne = [{"fact": column} if column < count else {"gold": _window(gold[column - count])} for column in flow.nearest(components.sentence_support)]
    return {
        "facts": [_window(generated[column]) for column in flow.nearest(components.fact_support)],
        "outline": [_window(generated[column]) for column in flow.nearest(components.outline_support)],
        "outline_support": _rounded(facts.best(components.outline_support)),
        "sentences": borne,
        "sentence_support": _rounded(facts.best(components.sentence_support)),
        "sentence_contradiction": _rounded(facts.best(components.sentence_contradiction)),
        "entities": [{"ratio": _round(entity.ratio), "context": _round(entity.context)} for entity in components.entities],
    }


def _quoted(prepared: Prepared) -> dict[str, Any]:
    """The texts behind the indices."""
    summary = prepared.datum.summary
    return {
        "facts": list(summary.key_facts),
        "outline": list(summary.logical_outline),
        "entities": list(prepared.entities),
        "sentences": prepared.generated.sentences,
    }


def _window(window: Window) -> list[int]:
    """A window as [index of its first sentence, how many]."""
    return [window.first, window.size]


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def _rounded(values: Matrix | Sequence[float]) -> list[float]:
    return [round(float(value), DIGITS) for value in values]
