"""Details of a Loss V3 scorecard: ids and indices; texts only where the settings allow it (`quote`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.reporting.findings import LABEL_BOUND, SEVERITIES
from touchstone.scorers.reporting.words import some, visible
from touchstone.scorers.summary.components import facts, flow
from touchstone.scorers.summary.components.questions import named_units
from touchstone.scorers.summary.conflicts.conflict import ALTERED, CONTRADICTION, DISPUTED, JUDGED, UNSUPPORTED, Conflict
from touchstone.scorers.summary.golds import digest_of
from touchstone.scorers.summary.hard_fails.breaches import MESSAGES, Breach
from touchstone.scorers.summary.omissions import missing_facts, quoted, uncovered_points
from touchstone.scorers.summary.reading.evidence import CONFLICTS_SHOWN_MAX

if TYPE_CHECKING:
    from touchstone.scorers.summary.certainty import Certainty
    from touchstone.scorers.summary.components.preparing import Prepared
    from touchstone.scorers.summary.components.questions import Asked
    from touchstone.scorers.summary.components.weighing import Components
    from touchstone.scorers.summary.labels import Labelled
    from touchstone.scorers.summary.sentences import Window
    from touchstone.scorers.summary.settings import Labels, SummarySettings
    from touchstone.scorers.summary.vectors import Matrix

#: Code of the finding about statements that the model could not decide.
UNSURE = "unsure"
#: So many of them are named in its message; the details have all.
UNSURE_SHOWN_MAX = 8
#: Decimal places of numbers in the details.
DIGITS = 4


def findings_of(breaches: Sequence[Breach]) -> tuple[Finding, ...]:
    """One critical finding per hard fail."""
    return tuple(Finding(severity="critical", code=breach.rule, path=breach.path, message=MESSAGES[breach.rule]) for breach in breaches)


#: Message of each conflict. `{unit}`: the statement it is about.
CONFLICT_WORDS = {
    "number": "a number differs from {unit}",
    "quantity": "a quantity differs from {unit}",
    "date": "a date differs from {unit}",
    "duration": "a duration differs from {unit}",
    "money": "an amount of money differs from {unit}",
    "percentage": "a percentage differs from {unit}",
    "name": "a name where {unit} has another",
    "negation": "the sentence denies what {unit} states, or states what it denies",
    "antonym": "a word is the opposite of what {unit} says",
    "relation": "a word that says how much, how many, how often or in what order differs from {unit}",
    "laterality": "the side of the body differs from {unit}",
    "allergy": "the allergy differs from {unit}",
    "unknown_name": "a name that neither the gold nor its source has",
    "unknown_number": "a number, an amount or a date that neither the gold nor its source has, and that does not follow from what they say",
    "unknown_code": "a code that neither the gold nor its source has",
    CONTRADICTION: "the sentence contradicts {unit}, by the model's judgement",
    UNSUPPORTED: "nothing in the gold supports the sentence",
    ALTERED: "the sentence is {unit} with other words, and the model does not see that they say the same",
    JUDGED: "the sentence contradicts {unit}, as the judge reads it",
    DISPUTED: "a rule reads a clinical value, an allergy or a side of the body that differs from {unit}; the judge does not: look at it",
}
#: What to do, where that is not plain from the message.
ADVICE = {
    UNSUPPORTED: "take it out, or say what the source says",
    ALTERED: "read both; where they say the same, nothing needs to be done",
}
NO_UNIT = "the gold"
PLACES = {"fact": "key fact {0}", "gold": "sentence {0} of the gold narrative", "source": "sentence {0} of the source text"}


def worst_first(conflicts: Sequence[Conflict]) -> list[Conflict]:
    """Conflicts in the order of their severity, then of their sentences: findings and details list them alike."""
    return sorted(conflicts, key=lambda one: (SEVERITIES.index(_severity(one)), one.sentence))


def conflict_findings(conflicts: Sequence[Conflict], prepared: Prepared, *, quote: bool) -> tuple[Finding, ...]:
    """One finding per conflict, the worst first, with the sentence's path and the unit it is about; the words only with `quote`."""
    return tuple(_finding(conflict, prepared, quote=quote) for conflict in worst_first(conflicts)[:CONFLICTS_SHOWN_MAX])


def bound_finding(found: Labelled) -> tuple[Finding, ...]:
    """The finding that explains a label that is lower than the loss alone would make it; empty if it is not."""
    message = f"the label is {found.label} because of {' and '.join(found.because)}; by the loss alone it would be {found.by_loss}"
    return (Finding(severity="info", code=LABEL_BOUND, path="loss", message=message),) if found.because else ()


def unsure_finding(certainty: Certainty, labels: Labels) -> tuple[Finding, ...]:
    """The finding that says which statements the model could not decide; empty if there are none. It is minor where they are too many for a Pass."""
    said = [
        f"{name} {some(tuple(str(index + 1) for index in unsure), UNSURE_SHOWN_MAX)} ({len(unsure)} of {whole})"
        for name, unsure, whole in (("sentence", certainty.unsure_sentences, certainty.sentences), ("key fact", certainty.unsure_facts, certainty.facts))
        if unsure
    ]
    message = f"the model is unsure of {' and of '.join(said)}; read them, or ask a judge (support: judge)"
    return (Finding(severity="minor" if certainty.too_unsure(labels) else "info", code=UNSURE, path="generated", message=message),) if said else ()


def unsure_details(certainty: Certainty) -> dict[str, Any]:
    """Statements that the model, or the judge after it, left undecided: indices from 0."""
    return {"unsure": {"facts": list(certainty.unsure_facts), "sentences": list(certainty.unsure_sentences)}}


def _finding(conflict: Conflict, prepared: Prepared, *, quote: bool) -> Finding:
    """A conflict in words. Units are counted from 1 in words, and from 0 in the details."""
    unit = conflict.unit
    message = CONFLICT_WORDS[conflict.rule].format(unit=PLACES[unit.place].format(unit.index + 1) if unit else NO_UNIT)
    if quote and unit is not None and conflict.here and conflict.there:
        here = prepared.generated.sentences[conflict.sentence][slice(*conflict.here)]
        message += f": {visible(here)!r} and {visible(unit.text[slice(*conflict.there)])!r}"
    elif quote and conflict.rule == UNSUPPORTED:
        message += f": {quoted(prepared.generated.sentences[conflict.sentence])}"
    elif quote and conflict.here:
        message += f": {visible(prepared.generated.sentences[conflict.sentence][slice(*conflict.here)])!r}"
    path = f"generated.sentences[{conflict.sentence}]"
    return Finding(severity=_severity(conflict), code=_code(conflict), path=path, message=message, suggestion=ADVICE.get(conflict.rule))


def _severity(conflict: Conflict) -> Severity:
    return "critical" if conflict.clinical else "minor" if conflict.rule in {UNSUPPORTED, ALTERED} else "major"


def _code(conflict: Conflict) -> str:
    """`conflict.quantity`, …; `unsupported`, `altered`, `disputed`."""
    return f"conflict.{conflict.rule}" if conflict.is_conflict else conflict.rule


def _conflict_details(conflict: Conflict) -> dict[str, Any]:
    """A conflict for programs: indices from 0, and the places of the words in sentence and unit."""
    details: dict[str, Any] = {"rule": conflict.rule, "sentence": conflict.sentence, "clinical": conflict.clinical}
    if conflict.unit is not None:
        details[conflict.unit.place] = conflict.unit.index
    if conflict.here:
        details["here"] = list(conflict.here)
    if conflict.there:
        details["there"] = list(conflict.there)
    return details


def hard_fail_details(prepared: Prepared, *, quote: bool) -> dict[str, Any]:
    """Which rules failed and where; with `quote` the sentences too."""
    first = prepared.breaches[0]
    details: dict[str, Any] = {"hard_fail": {"rule": first.rule, "sentences": [breach.sentence for breach in prepared.breaches if breach.sentence is not None]}}
    if quote and prepared.generated.spans:
        sentences = prepared.generated.sentences
        details["hard_fail"]["quoted"] = [sentences[index] for index in details["hard_fail"]["sentences"]]
    return details


def details_of(prepared: Prepared, asked: Asked, components: Components, settings: SummarySettings) -> dict[str, Any]:
    """The breakdown of a loss. Indices count from 0, in the order of the gold's lists and of the text."""
    matched = [index for index, entity in enumerate(components.entities) if entity.matched]
    details: dict[str, Any] = {
        "facts": {"support": _rounded(components.recalled), "sentences": _rounded(components.faithful), "missing": missing_facts(components)},
        "entities": {
            "matched": matched,
            "missing": [index for index, entity in enumerate(components.entities) if entity.ratio is None],
            "other_context": [index for index, entity in enumerate(components.entities) if entity.ratio is not None and not entity.matched],
        },
        "flow": {
            "covered": components.covered,
            "places": components.places,
            "inversions": flow.inversions(components.places),
            "uncovered": uncovered_points(components),
        },
        "length": {"tokens": components.tokens, "target": components.target, "source_tokens": prepared.datum.entry.token_count},
        "sentences": {"generated": len(prepared.generated.spans), "gold": len(prepared.gold.spans)},
        "conflicts": [_conflict_details(conflict) for conflict in worst_first(components.conflicts)],
        "pairs": len(asked.pairs),
        "gold_digest": digest_of(prepared.datum),
    }
    if settings.evidence == "ids" or settings.quote:
        details["evidence"] = _evidence(prepared, components, single=settings.looks_near)
    if settings.quote:
        details["quoted"] = _quoted(prepared)
    return details


def _evidence(prepared: Prepared, components: Components, *, single: bool) -> dict[str, Any]:
    """Which window supports each fact and outline point best, and which unit of the gold each sentence."""
    generated, units = prepared.generated.windows, list(named_units(prepared, single=single).values())
    borne = [units[column] for column in flow.nearest(components.sentence_support)]
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
