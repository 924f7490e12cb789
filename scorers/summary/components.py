"""Phases 2 to 4 of Loss V3: the texts that need vectors, the pairs to ask, and the components computed from the answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from touchstone.scorers.summary import entities, facts, flow, length, semantic
from touchstone.scorers.summary.asking import Block, Round, nearest_k
from touchstone.scorers.summary.lexical import shares, words
from touchstone.scorers.summary.total import total

if TYPE_CHECKING:
    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.summary.facts import Matrix
    from touchstone.scorers.summary.preparing import Prepared
    from touchstone.scorers.summary.settings import SummarySettings
    from touchstone.scorers.summary.support import Calibration


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Texts with their vectors."""

    rows: Mapping[str, int]
    values: Floats

    def of(self, texts: Sequence[str]) -> Floats:
        """Their vectors, one row each."""
        return self.values[[self.rows[text] for text in texts]]

    def cosines(self, premises: Sequence[str], hypotheses: Sequence[str]) -> Matrix:
        """The cosine of each hypothesis (row) with each premise (column); vectors have length 1."""
        if not premises or not hypotheses:
            return np.zeros((len(hypotheses), len(premises)))
        return np.asarray(np.clip(self.of(hypotheses) @ self.of(premises).T, -1, 1), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Questions:
    """Premises and hypotheses of the three questions: facts in the summary, outline in the summary, sentences in the gold."""

    windows: list[str]
    facts: list[str]
    outline: list[str]
    sentences: list[str]
    units: list[str]

    @classmethod
    def of(cls, prepared: Prepared) -> Questions:
        """The questions of a case; units of the gold: its facts, then its windows."""
        summary = prepared.datum.summary
        key_facts = list(summary.key_facts)
        return cls(prepared.generated.premises, key_facts, list(summary.logical_outline), prepared.generated.sentences, [*key_facts, *prepared.gold.premises])

    @property
    def blocks(self) -> tuple[tuple[list[str], list[str]], ...]:
        """(premises, hypotheses) of facts, outline, sentences."""
        return ((self.windows, self.facts), (self.windows, self.outline), (self.units, self.sentences))

    @property
    def texts(self) -> list[str]:
        """Every text in them."""
        return [*self.windows, *self.facts, *self.outline, *self.sentences, *self.units]


def texts_to_embed(prepared: Prepared, questions: Questions, settings: SummarySettings, calibration: Calibration | None) -> list[str]:
    """Distinct texts whose vectors are needed: both narratives, the contexts of entities, and every question's where it is filtered or combined."""
    texts = [prepared.generated.text, prepared.gold.text]
    for sought in prepared.sought:
        if sought.needs_context:
            texts += prepared.contexts(0, sought.generated, settings.context_words)
            texts += prepared.contexts(1, sought.gold, settings.context_words)
    if settings.prefilter_top_k or (calibration is not None and calibration.needs_vectors):
        texts += questions.texts
    return list(dict.fromkeys(texts))


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The NLI round of a case."""

    pairs: list[tuple[str, str]]
    facts: Block
    outline: Block
    sentences: Block


def ask(questions: Questions, vectors: Vectors, settings: SummarySettings) -> Asked:
    """Collate every pair of the case into one list (§5, phase 3)."""
    round_ = Round()
    top_k = settings.prefilter_top_k
    blocks = [
        round_.ask(premises, hypotheses, nearest_k(vectors.cosines(premises, hypotheses), top_k) if top_k else None)
        for premises, hypotheses in questions.blocks
    ]
    return Asked(round_.pairs, *blocks)


def support_of(block: Block, probabilities: Floats, vectors: Vectors, calibration: Calibration | None) -> Matrix:
    """Support of each hypothesis (row) by each premise (column): entailment, or the calibrated combination; 0 where it was not asked."""
    entailment = block.entailment(probabilities)
    if calibration is None or not entailment.size:
        return entailment
    contained = np.asarray(shares([words(text) for text in block.premises], [words(text) for text in block.hypotheses]))
    cosines = vectors.cosines(block.premises, block.hypotheses) if calibration.needs_vectors else 0.0
    combined = calibration.support(entailment, block.contradiction(probabilities), contained, cosines)
    return np.asarray(np.where(block.numbers >= 0, combined, 0.0), dtype=np.float64)


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
    """Every number of a case. `values`: the specification's, loss first; the rest are their inputs."""

    values: dict[str, float]
    losses: dict[str, float]
    target: int
    tokens: int
    fact_support: Matrix
    outline_support: Matrix
    sentence_support: Matrix
    sentence_contradiction: Matrix
    faithful: list[float]
    entities: list[EntityMatch] = field(default_factory=list)
    covered: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)


def weigh(
    prepared: Prepared, asked: Asked, probabilities: Floats, vectors: Vectors, tokens: int, settings: SummarySettings, calibration: Calibration | None
) -> Components:
    """Aggregate (§5, phase 4). Components without anything to ask for (no entities, no outline) are left out of `losses`."""
    fact_support = support_of(asked.facts, probabilities, vectors, calibration)
    # Words show whether a statement is present, not whether it is true: precision stays the model's own.
    sentence_support = support_of(asked.sentences, probabilities, vectors, None)
    contradiction = asked.sentences.contradiction(probabilities)
    faithful = facts.faithfulness(sentence_support, contradiction, settings.precision)
    recall, precision = facts.mean(facts.best(fact_support)), facts.mean(faithful)
    parts = {"recall": recall, "precision": precision}
    losses = {"facts": facts.facts_loss(precision, recall, settings.beta)}

    found = match_entities(prepared, vectors, settings)
    if found:
        losses["entities"] = entities.entities_loss(sum(entity.matched for entity in found), len(found))

    # The threshold of coverage is one of entailment: half of a mean with words could be words alone.
    outline_support = support_of(asked.outline, probabilities, vectors, None)
    covered = flow.covered(outline_support, settings.thresholds.coverage)
    columns = flow.nearest(outline_support)
    places = [prepared.generated.windows[columns[index]].first for index in covered]
    if asked.outline.hypotheses:
        coverage = len(covered) / len(asked.outline.hypotheses)
        in_order = flow.order(places, coverage)
        parts |= {"coverage": coverage, "order": in_order}
        losses["flow"] = flow.flow_loss(coverage, in_order, settings.order_weight)

    here, there = vectors.of([prepared.generated.text, prepared.gold.text])
    similarity = semantic.cosine(here, there)
    losses["semantic"] = semantic.semantic_loss(similarity)
    target = length.get_target_summary_length(prepared.datum.entry.token_count, settings.compression)
    losses["length"] = length.length_loss(tokens, target)
    values = {"loss": total(losses, settings.weights)}
    values |= {f"{name}_loss": loss for name, loss in losses.items()} | parts | {"cosine": max(0.0, similarity)}
    return Components(
        values=values,
        losses=losses,
        target=target,
        tokens=tokens,
        fact_support=fact_support,
        outline_support=outline_support,
        sentence_support=sentence_support,
        sentence_contradiction=contradiction,
        faithful=[float(value) for value in faithful],
        entities=found,
        covered=covered,
        places=places,
    )
