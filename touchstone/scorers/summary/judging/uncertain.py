"""Facts and sentences that are uncertain after the models, for the judge; of too many, the most uncertain."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from touchstone.scorers.summary.components import facts

if TYPE_CHECKING:
    from touchstone.scorers.summary.components.questions import Asked
    from touchstone.scorers.summary.components.rulings import Word
    from touchstone.scorers.summary.components.weighing import Components
    from touchstone.scorers.summary.settings import SummarySettings


@dataclass(frozen=True, slots=True)
class Uncertain:
    """Facts and sentences to ask, by index in ascending order. `facts_left_out`, `sentences_left_out`: uncertain ones beyond the bound of a call.

    `cheap`: the models' verdict on each.
    """

    facts: tuple[int, ...] = ()
    sentences: tuple[int, ...] = ()
    facts_left_out: int = 0
    sentences_left_out: int = 0
    cheap_facts: Mapping[int, Word] | None = None
    cheap_sentences: Mapping[int, Word] | None = None

    def __bool__(self) -> bool:
        return bool(self.facts or self.sentences)


def uncertain(components: Components, asked: Asked, settings: SummarySettings) -> Uncertain:
    """Facts with a support in the band or a conflict about them; sentences with a finding or a support in the band."""
    low, high = settings.judge_band_low, settings.judge_band_high
    recalled, sentences = components.recalled, components.faithful
    in_conflict = {one.sentence for one in components.conflicts if one.is_conflict}
    clinical = {one.sentence for one in components.conflicts if one.clinical}
    found = {one.sentence for one in components.conflicts}
    wanted_facts = [index for index, support in enumerate(recalled) if low <= support <= high or index in asked.wrong_facts]
    wanted_sentences = [index for index, support in enumerate(sentences) if low <= support <= high or index in found]
    kept_facts = _most(wanted_facts, recalled, settings.judge_facts_max, (asked.wrong_facts,))
    kept_sentences = _most(wanted_sentences, sentences, settings.judge_sentences_max, (clinical, in_conflict))
    return Uncertain(
        kept_facts,
        kept_sentences,
        len(wanted_facts) - len(kept_facts),
        len(wanted_sentences) - len(kept_sentences),
        {index: _word(recalled[index], index in asked.wrong_facts) for index in kept_facts},
        {index: _word(sentences[index], index in in_conflict) for index in kept_sentences},
    )


def _most(wanted: Sequence[int], support: Sequence[float], count: int, first: Sequence[Collection[int]]) -> tuple[int, ...]:
    """At most `count` of the wanted ones: members of the collections in `first`, then those with a support nearest to a half."""
    if len(wanted) <= count:
        return tuple(wanted)
    order = sorted(wanted, key=lambda index: (*(index not in group for group in first), abs(support[index] - 0.5), index))
    return tuple(sorted(order[:count]))


def _word(support: float, in_conflict: bool) -> Word:
    """The models' word."""
    return "contradicted" if in_conflict else "supported" if support >= facts.FIRM else "absent"
