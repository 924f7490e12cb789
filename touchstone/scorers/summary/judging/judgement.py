"""The judge's part in one case: what was asked, what it answered, and how the result shows that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from touchstone.schemas.result import Failure, NotChecked
from touchstone.scorers.judges.ask.consult import Unjudged, incomplete, judge_details, why_bound
from touchstone.scorers.judges.ask.judge import Answer
from touchstone.scorers.summary.components.rulings import NO_RULINGS, Ruling, Rulings, Word
from touchstone.scorers.summary.judging.uncertain import Uncertain

if TYPE_CHECKING:
    from touchstone.scorers.summary.components.weighing import Components
    from touchstone.scorers.summary.judging.verdicts import StatementVerdicts

#: Whose failure it is.
COMPONENT = "judge"
HARD_FAIL = Unjudged("hard_fail", "a hard fail needs no judge")
CERTAIN = Unjudged("certain", "nothing is uncertain")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judge's part in a case. `outcome`: its answer, or why there is none."""

    outcome: Answer[StatementVerdicts] | Unjudged
    parts: Uncertain = field(default_factory=Uncertain)
    rulings: Rulings = NO_RULINGS
    source_cut: bool = False

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The judge's failure, where it is one."""
        if isinstance(self.outcome, Unjudged):
            return () if self.outcome.failure is None else (self.outcome.failure,)
        return (incomplete(COMPONENT),) if any(self._unanswered().values()) else ()

    @property
    def in_vain(self) -> str:
        """Why the judge was asked in vain; empty if it was not."""
        return why_bound(self.outcome, next(iter(self.failures), None))

    @property
    def models(self) -> dict[str, str]:
        """The model that answered."""
        return {} if isinstance(self.outcome, Unjudged) else {"judge": self.outcome.model}

    def not_checked(self) -> tuple[NotChecked, ...]:
        """What the judge was to decide and did not."""
        if isinstance(self.outcome, Unjudged):
            asked = len(self.parts.facts) + len(self.parts.sentences)
            return (NotChecked(check="judge", reason=f"{self.outcome.why}; the models' word stands"),) if asked else ()
        found = []
        if left := self.parts.facts_left_out + self.parts.sentences_left_out:
            found.append(NotChecked(check="judge.bound", reason=f"{left} uncertain statements are beyond what one call asks; the models' word stands"))
        if silent := sum(self._unanswered().values()):
            found.append(NotChecked(check="judge.answer", reason=f"the judge did not answer {silent} of the statements; the models' word stands"))
        if self.source_cut:
            found.append(NotChecked(check="judge.source", reason="the source text is longer than judge_source_chars_max; the judge saw what is near"))
        return tuple(found)

    def details(self, components: Components) -> dict[str, Any]:
        """For programs: questions and answers by index from 0, how many statements the models were certain of, where the judge differs, the cost."""
        parts, rulings = self.parts, self.rulings
        return judge_details(self.outcome, next(iter(self.failures), None)) | {
            "asked": {"facts": len(parts.facts), "sentences": len(parts.sentences)},
            "not_asked": {"facts": parts.facts_left_out, "sentences": parts.sentences_left_out},
            "certain": {
                "facts": len(components.recalled) - len(parts.facts) - parts.facts_left_out,
                "sentences": len(components.faithful) - len(parts.sentences) - parts.sentences_left_out,
            },
            "not_answered": self._unanswered(),
            "differ": {
                "facts": _differing(rulings.facts, parts.cheap_facts or {}),
                "sentences": _differing(rulings.sentences, parts.cheap_sentences or {}),
            },
            "facts": _listed("fact", rulings.facts, parts.cheap_facts or {}),
            "sentences": _listed("sentence", rulings.sentences, parts.cheap_sentences or {}),
            "withdrawn": [{"rule": one.rule, "sentence": one.sentence, "clinical": one.clinical} for one in components.withdrawn],
        }

    def origins(self, components: Components) -> dict[str, dict[str, int]]:
        """For recall and precision: how many facts and sentences the judge decided, and how many the models."""
        counts = {
            "recall": (len(self.rulings.facts), len(components.recalled)),
            "precision": (len(self.rulings.sentences), len(components.faithful)),
        }
        return {name: {"judge": judged, "models": whole - judged} for name, (judged, whole) in counts.items()}

    def _unanswered(self) -> dict[str, int]:
        if isinstance(self.outcome, Unjudged):
            return {"facts": len(self.parts.facts), "sentences": len(self.parts.sentences)}
        return {
            "facts": len(self.parts.facts) - len(self.rulings.facts),
            "sentences": len(self.parts.sentences) - len(self.rulings.sentences),
        }


def _differing(rulings: Mapping[int, Ruling], cheap: Mapping[int, Word]) -> int:
    return sum(one.word != cheap.get(index) for index, one in rulings.items())


def _listed(name: str, rulings: Mapping[int, Ruling], cheap: Mapping[int, Word]) -> Sequence[dict[str, Any]]:
    return [
        {name: index, "verdict": one.word, "models": cheap.get(index)} | ({} if one.evidence is None else {"evidence": {one.evidence[0]: one.evidence[1]}})
        for index, one in rulings.items()
    ]
