"""Phase 4 of Loss V3 (§5): the components computed from the NLI answers, and their weighted sum. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from touchstone.scorers.summary.components import entities, facts, flow, length, semantic
from touchstone.scorers.summary.components.nli_round import Block
from touchstone.scorers.summary.components.rulings import NOTHING_SAID, Verdicts
from touchstone.scorers.summary.components.support import MEAN_WITH_WORDS
from touchstone.scorers.summary.conflicts import finding as conflicts
from touchstone.scorers.summary.conflicts.conflict import Conflict
from touchstone.scorers.summary.lexical import shares, words
from touchstone.scorers.summary.total import total

if TYPE_CHECKING:
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.summary.components.questions import Asked
    from touchstone.scorers.summary.components.support import Calibration
    from touchstone.scorers.summary.preparing import Prepared
    from touchstone.scorers.summary.sentences import Window
    from touchstone.scorers.summary.settings import SummarySettings
    from touchstone.scorers.summary.vectors import Matrix, Vectors


def support_of(block: Block, probabilities: Floats, vectors: Vectors, calibration: Calibration | None) -> Matrix:
    """Support of each hypothesis (row) by each premise (column): entailment, or the calibrated combination; 0 where it was not asked."""
    entailment = block.entailment(probabilities)
    if calibration is None or not entailment.size:
        return entailment
    contained = np.asarray(shares([words(text) for text in block.premises], [words(text) for text in block.hypotheses]))
    cosines = vectors.cosines(block.premises, block.hypotheses) if calibration.needs_vectors else 0.0
    combined = calibration.support(entailment, block.contradiction(probabilities), contained, cosines)
    return np.asarray(np.where(block.numbers >= 0, combined, 0.0), dtype=np.float64)


def without_wrong(support: Matrix, windows: Sequence[Window], wrong: Mapping[int, set[int]]) -> Matrix:
    """Support of facts (rows) by windows (columns), 0 where a window holds a sentence that states the fact wrongly: words would say that it is there."""
    kept = support.copy()
    for fact, sentences in wrong.items():
        for column, window in enumerate(windows):
            if any(window.first <= sentence < window.first + window.size for sentence in sentences):
                kept[fact, column] = 0.0
    return kept


@dataclass(slots=True)
class EntityMatch:
    """One entity. `ratio`: of its best mention, None where there is none; `context`: the best cosine, None where none was needed."""

    ratio: float | None
    context: float | None
    matched: bool


def match_entities(prepared: Prepared, vectors: Vectors, settings: SummarySettings) -> list[EntityMatch]:
    """Decide each entity: mentioned, and in the best pair of contexts near enough, unless the gold narrative does not name it."""
    found = []
    for sought in prepared.sought:
        ratio = max((mention.ratio for mention in sought.generated), default=None)
        if not sought.needs_context:
            found.append(EntityMatch(ratio, None, ratio is not None))
            continue
        here = prepared.contexts(0, sought.generated, settings.context_words)
        there = prepared.contexts(1, sought.gold, settings.context_words)
        context = float(vectors.cosines(there, here).max())
        found.append(EntityMatch(ratio, context, context >= settings.thresholds.context))
    return found


@dataclass(slots=True)
class Components:
    """Every number of a case. `values`: the specification's, loss first; the rest are their inputs.

    `faithful`, `recalled`: how far each sentence is borne, and each fact is there, the judge's word among them; the matrices are the models' alone.
    """

    values: dict[str, float]
    losses: dict[str, float]
    target: int
    tokens: int
    fact_support: Matrix
    outline_support: Matrix
    sentence_support: Matrix
    sentence_contradiction: Matrix
    faithful: list[float]
    recalled: list[float]
    conflicts: list[Conflict] = field(default_factory=list)
    withdrawn: list[Conflict] = field(default_factory=list)
    entities: list[EntityMatch] = field(default_factory=list)
    covered: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)


def weigh(
    prepared: Prepared,
    asked: Asked,
    probabilities: Floats,
    vectors: Vectors,
    tokens: Sequence[int],
    settings: SummarySettings,
    calibration: Calibration | None,
    verdicts: Verdicts = NOTHING_SAID,
) -> Components:
    """Aggregate (§5, phase 4). `tokens`: of the whole text, then of each sentence. `verdicts`: the judge's word, where it was asked.

    Components without anything to ask for (no entities, no outline) are left out of `losses`.
    """
    fact_support = support_of(asked.facts, probabilities, vectors, calibration)
    if calibration is not None:
        fact_support = without_wrong(fact_support, prepared.generated.windows, verdicts.still_wrong(asked.wrong_facts))
    entailment, contradiction = asked.sentences.entailment(probabilities), asked.sentences.contradiction(probabilities)
    # A mean with words is for recall alone: shared words hide what a sentence says wrongly, and half of the mean could be words alone.
    calibrated = calibration if calibration is not MEAN_WITH_WORDS else None
    sentence_support = support_of(asked.sentences, probabilities, vectors, calibrated) if settings.looks_near else entailment
    faithful = verdicts.over_sentences(facts.faithfulness(sentence_support, entailment, contradiction, settings.precision))
    found_by_models = _all_conflicts(asked, sentence_support, entailment, contradiction, settings)
    to_facts = vectors.cosines(asked.facts.hypotheses, prepared.generated.sentences) if verdicts.facts else np.zeros((0, 0))
    clashes, withdrawn = verdicts.revise(found_by_models, asked.statements, to_facts)
    recalled = verdicts.over_facts(facts.best(fact_support))
    recall = facts.mean(recalled)
    in_conflict = conflicts.sentences_of(clashes)
    precision = facts.precision(faithful, in_conflict, settings.conflicts.weight)
    parts = {"recall": recall, "precision": precision}
    losses = {"facts": facts.facts_loss(precision, recall, settings.beta)}

    found = match_entities(prepared, vectors, settings)
    if found:
        losses["entities"] = entities.entities_loss(sum(entity.matched for entity in found), len(found))

    outline_support = support_of(asked.outline, probabilities, vectors, calibrated)
    covered = flow.covered(outline_support, settings.thresholds.coverage)
    places = _places(outline_support, prepared.generated.windows, asked.outline, covered)
    if asked.outline.hypotheses:
        coverage = len(covered) / len(asked.outline.hypotheses)
        in_order = flow.order(places, coverage)
        parts |= {"coverage": coverage, "order": in_order}
        losses["flow"] = flow.flow_loss(coverage, in_order, settings.order_weight)

    here, there = vectors.of([prepared.generated.text, prepared.gold.text])
    similarity = semantic.cosine(here, there)
    losses["semantic"] = semantic.semantic_loss(similarity)
    target = length.get_target_summary_length(prepared.datum.entry.token_count, settings.compression)
    # Only where any unit may bear a sentence: the forms that look at the narrative alone would call what is true to the source invented.
    borne = [0.0 if index in in_conflict else support for index, support in enumerate(verdicts.over_sentences(facts.best(sentence_support)).tolist())]
    unborne = length.unborne_tokens(tokens[1:], borne) if settings.looks_near else 0.0
    losses["length"] = length.length_loss(tokens[0], target, unborne)
    values = {"loss": total(losses, settings.weights)}
    values |= {f"{name}_loss": loss for name, loss in losses.items()} | parts | {"cosine": max(0.0, similarity)}
    return Components(
        values=values,
        losses=losses,
        target=target,
        tokens=tokens[0],
        fact_support=fact_support,
        outline_support=outline_support,
        sentence_support=sentence_support,
        sentence_contradiction=contradiction,
        faithful=[float(value) for value in faithful],
        recalled=[float(value) for value in recalled],
        conflicts=clashes,
        withdrawn=withdrawn,
        entities=found,
        covered=covered,
        places=places,
    )


def _places(support: Matrix, windows: Sequence[Window], outline: Block, covered: Sequence[int]) -> list[int]:
    """The sentence of each covered point: its best window of the smallest size, which is one sentence unless settings say otherwise."""
    smallest = min((window.size for window in windows), default=1)
    columns = [column for column, window in enumerate(windows) if window.size == smallest]
    statements, single = [outline.hypotheses[index] for index in covered], [outline.premises[column] for column in columns]
    closeness = np.asarray(shares([words(text) for text in single], [words(text) for text in statements])).reshape(len(statements), len(single))
    return [windows[columns[place]].first for place in flow.places(support[np.ix_(covered, columns)], closeness)]


def _all_conflicts(asked: Asked, support: Matrix, entailment: Matrix, contradiction: Matrix, settings: SummarySettings) -> list[Conflict]:
    """What the rules found, and what the model adds: of sentences that no rule spoke of."""
    if not settings.looks_near:
        return []
    columns = {text: column for column, text in enumerate(asked.sentences.premises)}
    chosen = [columns[unit.text] for unit in asked.statements]
    said = conflicts.by_model(facts.best(support), facts.best(entailment), contradiction[:, chosen], asked.statements, asked.about, settings.conflicts)
    known = conflicts.sentences_of(asked.conflicts)
    return sorted([*asked.conflicts, *(one for one in said if one.sentence not in known)], key=lambda one: one.sentence)
