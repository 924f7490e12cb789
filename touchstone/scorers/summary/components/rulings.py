"""What the judge said of a case, and what the loss makes of it: support of what was judged is 1 or 0, and conflicts are added and withdrawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from touchstone.scorers.summary.conflicts.conflict import DISPUTED, JUDGED, UNSUPPORTED, Conflict, Unit

if TYPE_CHECKING:
    from touchstone.scorers.summary.vectors import Matrix, Vector

#: How a judge rules on a statement.
Word = Literal["supported", "contradicted", "absent"]


class Ruling(NamedTuple):
    """A verdict. `evidence`: (place, index) of the statement that decides; a fact's place is `sentence`. None where the judge named none that there is."""

    word: Word
    evidence: tuple[str, int] | None = None


class RevisedConflicts(NamedTuple):
    """Conflicts after the judge, by sentence, and those that it did not let stand."""

    conflicts: list[Conflict]
    withdrawn: list[Conflict]


@dataclass(frozen=True, slots=True)
class Rulings:
    """The judge's word on facts and sentences, by index; without any, everything stays as the models have it."""

    facts: Mapping[int, Ruling] = field(default_factory=dict)
    sentences: Mapping[int, Ruling] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.facts or self.sentences)

    def still_wrong(self, wrong: Mapping[int, set[int]]) -> dict[int, set[int]]:
        """Which sentences state which facts wrongly, without those that the judge holds otherwise."""
        cleared = {index for index, said in self.sentences.items() if said.word != "contradicted"}
        return {fact: kept for fact, sentences in wrong.items() if (kept := sentences - cleared)}

    def over_facts(self, support: Vector) -> Vector:
        """The support of facts: 1 where the judge finds one in the summary, 0 where not."""
        return _over(support, self.facts)

    def over_sentences(self, support: Vector) -> Vector:
        """The support of sentences, in the same way."""
        return _over(support, self.sentences)

    def revise(self, found: Sequence[Conflict], units: Sequence[Unit], to_facts: Matrix) -> RevisedConflicts:
        """The conflicts after the judge. `to_facts`: cosines, one row per sentence, one column per fact, for a fact without a sentence as evidence.

        A conflict that the judge does not see is withdrawn. Where it is clinical (a dose, an allergy, a side of the body), a rule that read a value stands
        against a reader: it becomes `disputed`, which counts in no loss and still asks for a person.
        """
        kept: list[Conflict] = []
        withdrawn: list[Conflict] = []
        for conflict in found:
            said = self.sentences.get(conflict.sentence)
            if said is None or said.word == ("contradicted" if conflict.is_conflict else "absent"):
                kept.append(conflict)
                continue
            withdrawn.append(conflict)
            if conflict.clinical and conflict.is_conflict:
                kept.append(replace(conflict, rule=DISPUTED, clinical=False))
        kept += self._of_sentences(kept, units)
        kept += self._of_facts(kept, units, to_facts)
        return RevisedConflicts(sorted(kept, key=lambda one: one.sentence), withdrawn)

    def _of_sentences(self, kept: Sequence[Conflict], units: Sequence[Unit]) -> list[Conflict]:
        """Sentences that the judge finds contradicted or absent, and nobody else did."""
        known = {(conflict.sentence, conflict.is_conflict) for conflict in kept if conflict.rule != DISPUTED}
        places: dict[tuple[str, int], Unit] = {(unit.place, unit.index): unit for unit in units}
        found = []
        for index, said in self.sentences.items():
            if said.word == "contradicted" and (index, True) not in known:
                found.append(Conflict(JUDGED, index, places.get(said.evidence) if said.evidence else None))
            elif said.word == "absent" and (index, False) not in known:
                found.append(Conflict(UNSUPPORTED, index))
        return found

    def _of_facts(self, kept: Sequence[Conflict], units: Sequence[Unit], to_facts: Matrix) -> list[Conflict]:
        """Facts that the judge finds contradicted, at the sentence that it names, else at the one nearest to the fact; one conflict a sentence is enough."""
        known = {conflict.sentence for conflict in kept if conflict.is_conflict}
        found: dict[int, Conflict] = {}
        facts = {unit.index: unit for unit in units if unit.place == "fact"}
        for index, said in self.facts.items():
            if said.word == "contradicted" and to_facts.size:
                sentence = said.evidence[1] if said.evidence else int(to_facts[:, index].argmax())
                if sentence not in known:
                    found.setdefault(sentence, Conflict(JUDGED, sentence, facts.get(index)))
        return list(found.values())


#: What there is without a judge.
NO_RULINGS = Rulings()


def _over(support: Vector, said: Mapping[int, Ruling]) -> Vector:
    if not said:
        return support
    ruled = support.copy()
    for index, one in said.items():
        ruled[index] = float(one.word == "supported")
    return np.asarray(ruled, dtype=np.float64)
