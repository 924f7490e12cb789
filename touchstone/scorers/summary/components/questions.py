"""Phases 2 and 3 of Loss V3 (§5): the texts that need vectors, and the pairs of a case's first NLI round. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from touchstone.scorers.summary.components.nli_round import Block, Round, nearest_k
from touchstone.scorers.summary.conflicts import finding as conflicts
from touchstone.scorers.summary.conflicts.conflict import Conflict, Unit, units_of
from touchstone.scorers.summary.conflicts.unknown.finding import unknown
from touchstone.scorers.summary.premises import pieces, words_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from touchstone.scorers.summary.components.preparing import Prepared
    from touchstone.scorers.summary.components.support import Calibration
    from touchstone.scorers.summary.sentences import Span
    from touchstone.scorers.summary.settings import SummarySettings
    from touchstone.scorers.summary.vectors import Matrix, Vectors

    Flags = NDArray[np.bool_]

#: Units that a sentence is asked of first: most sentences need no more.
FIRST_UNITS = 2
#: So many words that come again in one sentence are no figure of speech.
REPEATED_WORDS_MIN = 6
#: Characters between clauses, which are no part of them.
_JOINTS = ";:,–— "


@dataclass(frozen=True, slots=True)
class Questions:
    """Premises and hypotheses of the three questions: facts in the summary, outline in the summary, sentences in the gold.

    `units`: texts that may support a sentence: the gold's facts, windows of its narrative and, with `looks_near`, of its source.
    `statements`: the single ones among them, which a sentence can be in conflict with. `known`: every text of the gold and of its source, where what none
    of them has is looked for; else none.
    `clauses`: the sentences as they are asked, a long one in its clauses; `clause_of`: the sentence of each.
    `single_windows`, `single_units`: which windows and units are no run of sentences; `short_units`: which are short enough to be asked.
    """

    windows: list[str]
    facts: list[str]
    outline: list[str]
    sentences: list[str]
    clauses: list[str]
    clause_of: list[int]
    units: list[str]
    statements: list[Unit]
    single_windows: Flags
    single_units: Flags
    short_units: Flags
    known: tuple[str, ...] = ()

    @classmethod
    def of(cls, prepared: Prepared, settings: SummarySettings) -> Questions:
        """The questions of a case."""
        summary, generated = prepared.datum.summary, prepared.generated
        key_facts = list(summary.key_facts)
        named = named_units(prepared, single=settings.looks_near)
        statements = units_of(key_facts, prepared.gold.sentences, prepared.source.sentences)
        looked_for = settings.conflicts.unknown and prepared.has_whole_source
        known = (*(unit.text for unit in statements), *summary.logical_outline, summary.main_theme, *prepared.entities) if looked_for else ()
        words_max = settings.premise_words_max
        clauses = [(text, index) for index, span in enumerate(generated.spans) for text in _clauses(generated.text, span, words_max)]
        smallest = min((window.size for window in generated.windows), default=1)
        return cls(
            windows=generated.premises,
            facts=key_facts,
            outline=list(summary.logical_outline),
            sentences=generated.sentences,
            clauses=[text for text, _ in clauses],
            clause_of=[index for _, index in clauses],
            units=list(named),
            statements=statements,
            single_windows=np.array([window.size == smallest for window in generated.windows], dtype=np.bool_),
            single_units=np.array(["fact" in name or next(iter(name.values()))[1] == 1 for name in named.values()], dtype=np.bool_),
            short_units=np.array([not words_max or len(unit.split()) <= words_max for unit in named], dtype=np.bool_),
            known=known,
        )

    @property
    def texts(self) -> list[str]:
        """Every text in them."""
        return [*self.windows, *self.facts, *self.outline, *self.sentences, *self.clauses, *self.units]


def _clauses(text: str, span: Span, words_max: int) -> list[str]:
    """A sentence as it is asked of the gold: whole, or in clauses where it is longer than a premise may be or repeats itself.

    Some model takes any long hypothesis for entailed, and any that says the same words twice.
    """
    if not words_max or (words_in(text, *span) <= words_max and not _repeats_itself(text[span.start : span.end])):
        return [text[span.start : span.end]]
    clauses = [text[part.start : part.end].strip(_JOINTS) for part in pieces(text, span, max(1, words_max // 4))]
    return [clause for clause in clauses if any(map(str.isalnum, clause))] or [text[span.start : span.end]]


def _repeats_itself(sentence: str) -> bool:
    """True if a run of words occurs twice in a sentence."""
    words = re.findall(r"\w+", sentence.casefold())
    runs = [tuple(words[start : start + REPEATED_WORDS_MIN]) for start in range(len(words) - REPEATED_WORDS_MIN + 1)]
    return len(set(runs)) < len(runs)


def named_units(prepared: Prepared, *, single: bool) -> dict[str, dict[str, Any]]:
    """Texts that may support a sentence, each once, with their names in details: facts, then windows of the narrative, then of the source.

    `single`: single sentences are included even if no window is that long or that short.
    """
    named: dict[str, dict[str, Any]] = {}
    for index, fact in enumerate(prepared.datum.summary.key_facts):
        named.setdefault(fact, {"fact": index})
    texts = (("gold", prepared.gold), ("source", prepared.source))
    for place, text in texts:
        for window, premise in zip(text.windows, text.premises, strict=True):
            named.setdefault(premise, {place: [window.first, window.size]})
    for place, text in texts if single else ():
        for index, sentence in enumerate(text.sentences):
            named.setdefault(sentence, {place: [index, 1]})
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
    """The NLI rounds of a case so far, and the conflicts that rules found without them.

    `sentences`: a row a clause; `clause_of`: the sentence of each row. `about`: cosines of sentences with statements.
    """

    round: Round
    facts: Block
    outline: Block
    sentences: Block
    clause_of: list[int]
    about: Matrix
    statements: list[Unit]
    conflicts: list[Conflict]
    wrong_facts: Mapping[int, set[int]]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every pair so far, in the order of the answers."""
        return self.round.pairs


def ask(questions: Questions, vectors: Vectors, settings: SummarySettings) -> Asked:
    """Collate the pairs of the first round into one list (§5, phase 3), and compare each sentence with the statements near it.

    With `prefilter_top_k` a statement is asked of its nearest sentences alone; `second_round` asks more where they leave doubt.
    """
    round_, top_k = Round(), settings.prefilter_top_k
    of_facts, of_outline = (
        round_.ask(questions.windows, statements, _nearest_windows(questions, statements, vectors, top_k))
        for statements in (questions.facts, questions.outline)
    )
    if not settings.looks_near:
        of_sentences = round_.ask(questions.units, questions.clauses, np.tile(questions.short_units, (len(questions.clauses), 1)))
        return Asked(round_, of_facts, of_outline, of_sentences, questions.clause_of, np.zeros((len(questions.sentences), 0)), [], [], {})
    about = vectors.cosines([unit.text for unit in questions.statements], questions.sentences)
    of_sentences = round_.ask(questions.units, questions.clauses, _nearest_units(questions, vectors, about, settings))
    found = conflicts.by_rule(questions.sentences, questions.statements, about, settings.conflicts)
    if questions.known:
        found = sorted([*found, *unknown(questions.sentences, questions.known, found)], key=lambda one: one.sentence)
    to_facts = vectors.cosines(questions.facts, questions.sentences)
    wrong = conflicts.facts_in_conflict(found, questions.sentences, questions.facts, to_facts, settings.conflicts)
    return Asked(round_, of_facts, of_outline, of_sentences, questions.clause_of, about, questions.statements, found, wrong)


def _nearest_windows(questions: Questions, statements: list[str], vectors: Vectors, top_k: int) -> Flags | None:
    """The windows that statements are asked of first; None: all."""
    return nearest_k(vectors.cosines(questions.windows, statements), top_k, questions.single_windows) if top_k else None


def _nearest_units(questions: Questions, vectors: Vectors, about: Matrix, settings: SummarySettings) -> Flags:
    """The units that sentences are asked of first, the statement nearest to each among them, which others may have crowded out."""
    cosines = vectors.cosines(questions.units, questions.clauses)
    if settings.prefilter_top_k:
        kept = nearest_k(cosines, min(FIRST_UNITS, settings.nearest_units), questions.single_units & questions.short_units)
    else:
        kept = nearest_k(cosines, settings.nearest_units, questions.short_units)
    if questions.statements:
        columns = {text: column for column, text in enumerate(questions.units)}
        nearest = about.argmax(axis=1)
        for row, sentence in enumerate(questions.clause_of):
            column = columns[questions.statements[nearest[sentence]].text]
            kept[row, column] = questions.short_units[column]
    return kept
