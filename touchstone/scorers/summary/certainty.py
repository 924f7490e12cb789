"""Which statements the model is sure of, by their calibrated support, and what the others leave of a label."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from touchstone.scorers.summary.conflicts.conflict import UNSUPPORTED
from touchstone.scorers.summary.reading.evidence import ABSENT

if TYPE_CHECKING:
    from touchstone.scorers.summary.components.weighing import Components
    from touchstone.scorers.summary.settings import Labels, SummarySettings


@dataclass(frozen=True, slots=True)
class Certainty:
    """Statements by how sure the model is, as indices in ascending order; a judge's rulings are sure. `facts`, `sentences`: how many there are.

    `unsure_facts`, `unsure_sentences`: support in the band, and in no conflict. A fact below it is missing; a sentence below it is in `unborne`.
    `weak_facts`, `weak_sentences`: how many have less support than the settings ask of each for a Pass.
    """

    facts: int
    sentences: int
    unsure_facts: tuple[int, ...] = ()
    unsure_sentences: tuple[int, ...] = ()
    unborne: tuple[int, ...] = ()
    weak_facts: int = 0
    weak_sentences: int = 0

    def is_mostly_unborne(self, labels: Labels) -> bool:
        """True if the gold supports so few sentences that the summary is about something else."""
        return len(self.unborne) > labels.unsupported_share_max * self.sentences

    def too_unsure(self, labels: Labels) -> tuple[str, ...]:
        """Which kinds of statements are too often in the band for a Pass, or are supported less than is asked of each, in words with their counts."""
        counted = (("sentences", self.unsure_sentences, self.sentences), ("facts", self.unsure_facts, self.facts))
        weak = (("sentences", self.weak_sentences, self.sentences), ("facts", self.weak_facts, self.facts))
        return (
            *(
                f"{name} that the model is unsure of ({len(unsure)} of {whole})"
                for name, unsure, whole in counted
                if len(unsure) > labels.unsure_share_max * whole
            ),
            *(f"{name} with less support than a Pass asks of each ({few} of {whole})" for name, few, whole in weak if few),
        )


def certainty_of(components: Components, settings: SummarySettings) -> Certainty:
    """How sure the model is of each statement. Without a comparison with what is near a sentence, nothing is known of that."""
    facts, sentences = components.recalled, components.faithful
    if not settings.looks_near:
        return Certainty(len(facts), len(sentences))
    unsupported = {one.sentence for one in components.conflicts if one.rule == UNSUPPORTED}
    labels = settings.labels
    low, high = settings.conflicts.unsupported_max, labels.sure_min
    return Certainty(
        len(facts),
        len(sentences),
        within(facts, ABSENT, high, components.stated_wrongly),
        within(sentences, low, high, {one.sentence for one in components.conflicts}),
        tuple(index for index, support in enumerate(sentences) if support < low or index in unsupported),
        weak_facts=sum(support < labels.pass_fact_min for support in facts),
        weak_sentences=sum(support < labels.pass_sentence_min for support in sentences),
    )


def within(support: Sequence[float], low: float, high: float, decided: Collection[int] = ()) -> tuple[int, ...]:
    """Statements with a support of at least `low` and below `high`, but for those that something else decides."""
    return tuple(index for index, value in enumerate(support) if low <= value < high and index not in decided)
