"""A conflict: one error in a sentence of a summary, and the statement of the gold that says otherwise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

#: What neither the gold nor its source has.
UNKNOWN = frozenset({"unknown_name", "unknown_number", "unknown_code"})
CONTRADICTION, UNSUPPORTED, ALTERED = "contradiction", "unsupported", "altered"
#: What a judge adds: a contradiction that it found, and a clinical conflict of a rule that it does not see.
JUDGED, DISPUTED = "judge", "disputed"
Place = Literal["fact", "gold", "source"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A statement of the gold. `index`: of the fact, or of the sentence in the narrative or in the source."""

    place: Place
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """One error in a sentence. `unit`: the statement that says otherwise; None for what is unknown, and for a sentence that nothing supports.

    `here`, `there`: [start, end) of the words in the sentence and in the unit, where a rule found them.
    """

    rule: str
    sentence: int
    unit: Unit | None = None
    here: tuple[int, int] | None = None
    there: tuple[int, int] | None = None
    clinical: bool = False

    @property
    def is_conflict(self) -> bool:
        """True if the gold says otherwise. An unsupported sentence is merely not in it, an altered one may be reworded, a disputed one is right by a judge."""
        return self.rule not in {UNSUPPORTED, ALTERED, DISPUTED}


def units_of(facts: Sequence[str], gold: Sequence[str], source: Sequence[str]) -> list[Unit]:
    """Facts, then the narrative's sentences, then the source's; each text once."""
    found: dict[str, Unit] = {}
    places: tuple[tuple[Place, Sequence[str]], ...] = (("fact", facts), ("gold", gold), ("source", source))
    for place, texts in places:
        for index, text in enumerate(texts):
            found.setdefault(text, Unit(place, index, text))
    return list(found.values())
