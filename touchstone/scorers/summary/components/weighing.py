"""Phase 4 of Loss V3 (§5): the components computed from the NLI answers, and their weighted sum. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from touchstone.scorers.summary.components import entities, facts, flow, headings, length, semantic
from touchstone.scorers.summary.components.nli_round import Block
from touchstone.scorers.summary.components.rulings import NO_RULINGS, Rulings
from touchstone.scorers.summary.components.support import for_sentences
from touchstone.scorers.summary.conflicts import finding as conflicts
from touchstone.scorers.summary.conflicts.altered import altered_facts
from touchstone.scorers.summary.conflicts.conflict import Conflict
from touchstone.scorers.summary.lexical import shares, words
from touchstone.scorers.summary.premises import NEIGHBOURS
from touchstone.scorers.summary.total import total

if TYPE_CHECKING:
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.summary.components.preparing import Prepared
    from touchstone.scorers.summary.components.questions import Asked
    from touchstone.scorers.summary.components.support import Calibration
    from touchstone.scorers.summary.sentences import Window
    from touchstone.scorers.summary.settings import SummarySettings
    from touchstone.scorers.summary.vectors import Matrix, Vector, Vectors


def support_of(block: Block, probabilities: Floats, vectors: Vectors, calibration: Calibration | None) -> Matrix:
    """Support of each hypothesis (row) by each premise (column): entailment, or the calibrated combination; 0 if it was not asked."""
    entailment = block.entailment(probabilities)
    if calibration is None or not entailment.size:
        return entailment
    contained = np.asarray(shares(*([words(text) for text in texts] for texts in (block.premises, block.hypotheses)))) if calibration.needs_words else 0.0
    cosines = vectors.cosines(block.premises, block.hypotheses) if calibration.needs_vectors else 0.0
    combined = calibration.support(entailment, block.contradiction(probabilities), contained, cosines)
    return np.asarray(np.where(block.numbers >= 0, combined, 0.0), dtype=np.float64)


def borne_by_parts(support: Matrix, windows: Sequence[Window]) -> Matrix:
    """Support by windows (columns), in which a run of more than two sentences counts only as far as a sentence of it, or two neighbours, does.

    A model calls long premises entailing whatever they say. A run whose parts are no windows keeps its own support.
    """
    bounded = support.copy()
    for column, window in enumerate(windows):
        end = window.first + window.size
        parts = [place for place, part in enumerate(windows) if part.size <= NEIGHBOURS and window.first <= part.first and part.first + part.size <= end]
        if window.size > NEIGHBOURS and parts:
            bounded[:, column] = np.minimum(support[:, column], support[:, parts].max(axis=1, initial=0.0))
    return bounded


def without_wrong(support: Matrix, windows: Sequence[Window], wrong: Mapping[int, set[int]]) -> Matrix:
    """Support of facts (rows) by windows (columns), 0 if a window holds a sentence that states the fact wrongly: words would say that it is there."""
    kept = support.copy()
    for fact, sentences in wrong.items():
        for column, window in enumerate(windows):
            if any(window.first <= sentence < window.first + window.size for sentence in sentences):
                kept[fact, column] = 0.0
    return kept


@dataclass(slots=True)
class EntityMatch:
    """One entity. `ratio`: of its best mention, None if there is none; `context`: the best cosine, None where none was needed."""

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

    `faithful`, `recalled`: support of each sentence and of each fact, with the judge's rulings; the matrices are the models' alone.
    `stated_wrongly`, `altered`: facts that a sentence in conflict, or an altered one, is about. `by_facts`: support of outline points that are headings, by
    their facts.
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
    stated_wrongly: set[int] = field(default_factory=set)
    altered: set[int] = field(default_factory=set)
    by_facts: dict[int, float] = field(default_factory=dict)
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
    rulings: Rulings = NO_RULINGS,
) -> Components:
    """Compute every component (§5, phase 4). `tokens`: of the whole text, then of each sentence. `rulings`: the judge's, if one was asked.

    Components without anything to compare (no entities, no outline) are left out of `losses`.
    """
    calibrated = for_sentences(calibration)
    sentences = _sentences(prepared, asked, probabilities, vectors, settings, calibrated, rulings)
    windows = prepared.generated.windows
    fact_support = borne_by_parts(support_of(asked.facts, probabilities, vectors, calibration), windows)
    wrong = rulings.still_wrong(asked.wrong_facts)
    if calibration is not None:
        fact_support = without_wrong(fact_support, windows, wrong)
    recalled = rulings.over_facts(facts.best(fact_support))
    recall, precision = facts.mean(recalled), facts.precision(sentences.faithful, sentences.in_conflict, settings.conflicts.weight)
    losses = {"facts": facts.facts_loss(precision, recall, settings.beta)}
    parts = {"recall": recall, "precision": precision}

    found = match_entities(prepared, vectors, settings)
    if found:
        losses["entities"] = entities.entities_loss(sum(entity.matched for entity in found), len(found))

    outline_support = borne_by_parts(support_of(asked.outline, probabilities, vectors, calibrated), windows)
    # A heading says nothing that a text could entail; its facts stand for it. Only where the outline has vectors.
    about = vectors.cosines(asked.facts.hypotheses, asked.outline.hypotheses) if settings.looks_near else np.zeros((0, 0))
    by_facts = headings.heading_support(asked.outline.hypotheses, asked.facts.hypotheses, recalled, about) if settings.looks_near and settings.headings else {}
    covered = flow.covered(outline_support, settings.thresholds.coverage, by_facts)
    places = _places(headings.with_headings(outline_support, fact_support, about, by_facts), windows, asked.outline, covered)
    if asked.outline.hypotheses:
        coverage = len(covered) / len(asked.outline.hypotheses)
        in_order = flow.order(places, coverage)
        parts |= {"coverage": coverage, "order": in_order}
        losses["flow"] = flow.flow_loss(coverage, in_order, settings.order_weight)

    similarity = semantic.cosine(*vectors.of([prepared.generated.text, prepared.gold.text]))
    losses["semantic"] = semantic.semantic_loss(similarity)
    target = length.get_target_summary_length(prepared.datum.entry.token_count, settings.compression)
    # Only if the source counts: forms that look at the narrative alone would take true statements for invented ones.
    unborne = length.unborne_tokens(tokens[1:], sentences.borne) if settings.looks_near else 0.0
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
        by_facts=by_facts,
        sentence_support=sentences.support,
        sentence_contradiction=sentences.contradiction,
        faithful=[float(value) for value in sentences.faithful],
        recalled=[float(value) for value in recalled],
        conflicts=sentences.conflicts,
        withdrawn=sentences.withdrawn,
        stated_wrongly=set(wrong),
        altered=altered_facts(sentences.conflicts, asked.facts.hypotheses),
        entities=found,
        covered=covered,
        places=places,
    )


class _Sentences(NamedTuple):
    """The sentences of a summary against their units. `faithful`, `borne`: support of each sentence, for precision and for length."""

    support: Matrix
    contradiction: Matrix
    faithful: Vector
    borne: list[float]
    conflicts: list[Conflict]
    withdrawn: list[Conflict]

    @property
    def in_conflict(self) -> set[int]:
        return conflicts.sentences_of(self.conflicts)


def _sentences(
    prepared: Prepared,
    asked: Asked,
    probabilities: Floats,
    vectors: Vectors,
    settings: SummarySettings,
    calibration: Calibration | None,
    rulings: Rulings,
) -> _Sentences:
    """Support of each sentence by its units, and the conflicts; the judge's rulings, if any, decide."""
    clause_of = asked.clause_of
    entailment = facts.of_weakest(asked.sentences.entailment(probabilities), clause_of)
    contradiction = facts.of_any(asked.sentences.contradiction(probabilities), clause_of)
    support = facts.of_weakest(support_of(asked.sentences, probabilities, vectors, calibration), clause_of) if settings.looks_near else entailment
    faithful = rulings.over_sentences(facts.faithfulness(support, entailment, contradiction, settings.precision))
    to_facts = vectors.cosines(asked.facts.hypotheses, prepared.generated.sentences) if rulings.facts else np.zeros((0, 0))
    revised = rulings.revise(_all_conflicts(asked, prepared.generated.sentences, support, entailment, contradiction, settings), asked.statements, to_facts)
    in_conflict = conflicts.sentences_of(revised.conflicts)
    borne = [0.0 if index in in_conflict else value for index, value in enumerate(rulings.over_sentences(facts.best(support)).tolist())]
    return _Sentences(support, contradiction, faithful, borne, revised.conflicts, revised.withdrawn)


def _places(support: Matrix, windows: Sequence[Window], outline: Block, covered: Sequence[int]) -> list[int]:
    """The sentence of each covered point: its best window of the smallest size, which is one sentence unless settings say otherwise."""
    smallest = min((window.size for window in windows), default=1)
    columns = [column for column, window in enumerate(windows) if window.size == smallest]
    statements, single = [outline.hypotheses[index] for index in covered], [outline.premises[column] for column in columns]
    closeness = np.asarray(shares([words(text) for text in single], [words(text) for text in statements])).reshape(len(statements), len(single))
    return [windows[columns[place]].first for place in flow.places(support[np.ix_(covered, columns)], closeness)]


def _all_conflicts(
    asked: Asked, sentences: Sequence[str], support: Matrix, entailment: Matrix, contradiction: Matrix, settings: SummarySettings
) -> list[Conflict]:
    """Conflicts that rules found, and those of the model for sentences without one."""
    if not settings.looks_near:
        return []
    columns = {text: column for column, text in enumerate(asked.sentences.premises)}
    chosen = [columns[unit.text] for unit in asked.statements]
    by_model = conflicts.by_model(facts.best(support), facts.best(entailment), contradiction[:, chosen], asked.statements, asked.about, settings.conflicts)
    already = conflicts.sentences_of(asked.conflicts)
    found = [*asked.conflicts, *(one for one in by_model if one.sentence not in already)]
    named = {one.sentence for one in found}
    answers = facts.best(entailment), facts.best(contradiction)
    copied = conflicts.by_wording(sentences, answers, asked.statements, asked.about, settings.conflicts, named)
    return sorted([*found, *copied], key=lambda one: one.sentence)
