"""The judge's rulings on a case: what was judged has a support of 1 or 0, and conflicts are added and withdrawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from touchstone.scorers.summary.conflicts.conflict import DISPUTED, JUDGED, UNKNOWN, UNSUPPORTED, Conflict, Unit

if TYPE_CHECKING:
    from touchstone.scorers.summary.vectors import Matrix, Vector

#: A verdict on one statement.
Word = Literal["supported", "contradicted", "absent"]


class Ruling(NamedTuple):
    """A verdict. `evidence`: (place, index) of the deciding statement (for a fact, the place is `sentence`); None if the judge named no existing one."""

    word: Word
    evidence: tuple[str, int] | None = None


class RevisedConflicts(NamedTuple):
    """Conflicts after the judge, by sentence, and those that it withdrew."""

    conflicts: list[Conflict]
    withdrawn: list[Conflict]


@dataclass(frozen=True, slots=True)
class Rulings:
    """The judge's rulings on facts and sentences, by index. Without any, the models decide."""

    facts: Mapping[int, Ruling] = field(default_factory=dict)
    sentences: Mapping[int, Ruling] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.facts or self.sentences)

    def still_wrong(self, wrong: Mapping[int, set[int]]) -> dict[int, set[int]]:
        """The sentences that state each fact wrongly, without those that the judge does not find contradicted."""
        cleared = {index for index, ruling in self.sentences.items() if ruling.word != "contradicted"}
        return {fact: kept for fact, sentences in wrong.items() if (kept := sentences - cleared)}

    def over_facts(self, support: Vector) -> Vector:
        """The support of facts: 1 if the judge finds one in the summary, else 0."""
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
            ruling = self.sentences.get(conflict.sentence)
            agreeing = {"contradicted" if conflict.is_conflict else "absent"} | ({"absent"} if conflict.rule in UNKNOWN else set())
            if ruling is None or ruling.word in agreeing:
                kept.append(conflict)
                continue
            withdrawn.append(conflict)
            if conflict.clinical and conflict.is_conflict:
                kept.append(replace(conflict, rule=DISPUTED, clinical=False))
        kept += self._of_sentences(kept, units)
        kept += self._of_facts(kept, units, to_facts)
        return RevisedConflicts(sorted(kept, key=lambda one: one.sentence), withdrawn)

    def _of_sentences(self, kept: Sequence[Conflict], units: Sequence[Unit]) -> list[Conflict]:
        """Conflicts for sentences that only the judge finds contradicted or absent."""
        already = {(conflict.sentence, conflict.is_conflict) for conflict in kept if conflict.rule != DISPUTED}
        places: dict[tuple[str, int], Unit] = {(unit.place, unit.index): unit for unit in units}
        found = []
        for index, ruling in self.sentences.items():
            if ruling.word == "contradicted" and (index, True) not in already:
                found.append(Conflict(JUDGED, index, places.get(ruling.evidence) if ruling.evidence else None))
            elif ruling.word == "absent" and (index, False) not in already:
                found.append(Conflict(UNSUPPORTED, index))
        return found

    def _of_facts(self, kept: Sequence[Conflict], units: Sequence[Unit], to_facts: Matrix) -> list[Conflict]:
        """Conflicts for facts that the judge finds contradicted: at the sentence that it names, else at the one nearest to the fact; one a sentence."""
        already = {conflict.sentence for conflict in kept if conflict.is_conflict}
        found: dict[int, Conflict] = {}
        facts = {unit.index: unit for unit in units if unit.place == "fact"}
        for index, ruling in self.facts.items():
            if ruling.word == "contradicted" and to_facts.size:
                sentence = ruling.evidence[1] if ruling.evidence else int(to_facts[:, index].argmax())
                if sentence not in already:
                    found.setdefault(sentence, Conflict(JUDGED, sentence, facts.get(index)))
        return list(found.values())


#: Without a judge.
NO_RULINGS = Rulings()


def _over(support: Vector, rulings: Mapping[int, Ruling]) -> Vector:
    if not rulings:
        return support
    ruled = support.copy()
    for index, ruling in rulings.items():
        ruled[index] = float(ruling.word == "supported")
    return np.asarray(ruled, dtype=np.float64)
