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
    """

    facts: int
    sentences: int
    unsure_facts: tuple[int, ...] = ()
    unsure_sentences: tuple[int, ...] = ()
    unborne: tuple[int, ...] = ()

    def is_mostly_unborne(self, labels: Labels) -> bool:
        """True if the gold supports so few sentences that the summary is about something else."""
        return len(self.unborne) > labels.unsupported_share_max * self.sentences

    def too_unsure(self, labels: Labels) -> tuple[str, ...]:
        """Which kinds of statements are too often in the band for a Pass, in words with their counts."""
        counted = (("sentences", self.unsure_sentences, self.sentences), ("facts", self.unsure_facts, self.facts))
        return tuple(
            f"{name} that the model is unsure of ({len(unsure)} of {whole})" for name, unsure, whole in counted if len(unsure) > labels.unsure_share_max * whole
        )


def certainty_of(components: Components, settings: SummarySettings) -> Certainty:
    """How sure the model is of each statement. Without a comparison with what is near a sentence, nothing is known of that."""
    facts, sentences = components.recalled, components.faithful
    if not settings.looks_near:
        return Certainty(len(facts), len(sentences))
    unsupported = {one.sentence for one in components.conflicts if one.rule == UNSUPPORTED}
    low, high = settings.conflicts.unsupported_max, settings.labels.sure_min
    return Certainty(
        len(facts),
        len(sentences),
        within(facts, ABSENT, high, components.stated_wrongly),
        within(sentences, low, high, {one.sentence for one in components.conflicts}),
        tuple(index for index, support in enumerate(sentences) if support < low or index in unsupported),
    )


def within(support: Sequence[float], low: float, high: float, decided: Collection[int] = ()) -> tuple[int, ...]:
    """Statements with a support of at least `low` and below `high`, but for those that something else decides."""
    return tuple(index for index, value in enumerate(support) if low <= value < high and index not in decided)
