"""Phases 2 and 3 of Loss V3 (§5): the texts that need vectors, and the pairs of the one NLI round of a case. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from touchstone.scorers.summary.components.nli_round import Block, Round, nearest_k
from touchstone.scorers.summary.conflicts import finding as conflicts
from touchstone.scorers.summary.conflicts.conflict import Conflict, Unit, units_of

if TYPE_CHECKING:
    from touchstone.scorers.summary.components.preparing import Prepared
    from touchstone.scorers.summary.components.support import Calibration
    from touchstone.scorers.summary.settings import SummarySettings
    from touchstone.scorers.summary.vectors import Matrix, Vectors

#: The place of the sentences among the blocks of questions.
SENTENCES = 2


@dataclass(frozen=True, slots=True)
class Questions:
    """Premises and hypotheses of the three questions: facts in the summary, outline in the summary, sentences in the gold.

    `units`: texts that may support a sentence: the gold's facts, windows of its narrative and, with `looks_near`, of its source.
    `statements`: the single ones among them, which a sentence can be in conflict with.
    """

    windows: list[str]
    facts: list[str]
    outline: list[str]
    sentences: list[str]
    units: list[str]
    statements: list[Unit]

    @classmethod
    def of(cls, prepared: Prepared, settings: SummarySettings) -> Questions:
        """The questions of a case."""
        summary = prepared.datum.summary
        key_facts = list(summary.key_facts)
        units = list(named_units(prepared, single=settings.looks_near))
        statements = units_of(key_facts, prepared.gold.sentences, prepared.source.sentences)
        return cls(prepared.generated.premises, key_facts, list(summary.logical_outline), prepared.generated.sentences, units, statements)

    @property
    def blocks(self) -> tuple[tuple[list[str], list[str]], ...]:
        """(premises, hypotheses) of facts, outline, sentences."""
        return ((self.windows, self.facts), (self.windows, self.outline), (self.units, self.sentences))

    @property
    def texts(self) -> list[str]:
        """Every text in them."""
        return [*self.windows, *self.facts, *self.outline, *self.sentences, *self.units]


def named_units(prepared: Prepared, *, single: bool) -> dict[str, dict[str, Any]]:
    """Texts that may support a sentence, each once, with their names in details: facts, then windows of the narrative, then of the source.

    `single`: the narrative's single sentences are included even if no window has that size.
    """
    named: dict[str, dict[str, Any]] = {}
    for index, fact in enumerate(prepared.datum.summary.key_facts):
        named.setdefault(fact, {"fact": index})
    for place, text in (("gold", prepared.gold), ("source", prepared.source)):
        for window, premise in zip(text.windows, text.premises, strict=True):
            named.setdefault(premise, {place: [window.first, window.size]})
    if single:
        for index, sentence in enumerate(prepared.gold.sentences):
            named.setdefault(sentence, {"gold": [index, 1]})
    return named


def texts_to_embed(prepared: Prepared, questions: Questions, settings: SummarySettings, calibration: Calibration | None) -> list[str]:
    """Distinct texts whose vectors are needed: both narratives, the contexts of entities, and every question's where it is filtered or combined."""
    texts = [prepared.generated.text, prepared.gold.text]
    for sought in prepared.sought:
        if sought.needs_context:
            texts += prepared.contexts(0, sought.generated, settings.context_words)
            texts += prepared.contexts(1, sought.gold, settings.context_words)
    if settings.prefilter_top_k or settings.looks_near or (calibration is not None and calibration.needs_vectors):
        texts += questions.texts
    return list(dict.fromkeys(texts))


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The NLI round of a case, and the conflicts that rules found without it. `about`: cosines of sentences with statements."""

    pairs: list[tuple[str, str]]
    facts: Block
    outline: Block
    sentences: Block
    about: Matrix
    statements: list[Unit]
    conflicts: list[Conflict]
    wrong_facts: Mapping[int, set[int]]


def ask(questions: Questions, vectors: Vectors, settings: SummarySettings) -> Asked:
    """Collate every pair of the case into one list (§5, phase 3), and compare each sentence with the statements near it."""
    round_ = Round()
    top_k = settings.prefilter_top_k
    blocks = []
    for place, (premises, hypotheses) in enumerate(questions.blocks):
        count = min(filter(None, (top_k, settings.nearest_units)), default=0) if place == SENTENCES and settings.looks_near else top_k
        blocks.append(round_.ask(premises, hypotheses, nearest_k(vectors.cosines(premises, hypotheses), count) if count else None))
    of_facts, of_outline, of_sentences = blocks
    if not settings.looks_near:
        return Asked(round_.pairs, of_facts, of_outline, of_sentences, np.zeros((len(questions.sentences), 0)), [], [], {})
    about = vectors.cosines([unit.text for unit in questions.statements], questions.sentences)
    of_sentences = _with_nearest_statement(round_, of_sentences, questions, about)
    found = conflicts.by_rule(questions.sentences, questions.statements, about, settings.conflicts)
    to_facts = vectors.cosines(questions.facts, questions.sentences)
    wrong = conflicts.facts_in_conflict(found, questions.sentences, questions.facts, to_facts, settings.conflicts)
    return Asked(round_.pairs, of_facts, of_outline, of_sentences, about, questions.statements, found, wrong)


def _with_nearest_statement(round_: Round, block: Block, questions: Questions, about: Matrix) -> Block:
    """The same questions, and each sentence's of the statement nearest to it, which longer units around it may have crowded out."""
    if not questions.statements:
        return block
    columns = {text: column for column, text in enumerate(questions.units)}
    kept = block.numbers >= 0
    for row, place in enumerate(about.argmax(axis=1)):
        kept[row, columns[questions.statements[place].text]] = True
    return round_.ask(block.premises, block.hypotheses, kept)
