"""What a sentence of a summary words otherwise than the units it is about: names, negations, opposites, sides and allergies.

Precision comes before recall: a rule speaks only where both clearly say something of the same thing, and no given unit says what the sentence says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from touchstone.scorers.summary.differences import Difference
from touchstone.scorers.summary.wording import clinical, names, polarity
from touchstone.scorers.summary.wording.clauses import Reading, read

#: Units that are looked at.
UNITS_MAX = 16


def find(sentence: str, units: Sequence[str]) -> list[Difference]:
    """Every difference in wording between a sentence and the units it is about, nearest in meaning first; one of each kind a place. Never raises."""
    here, there = read(sentence), [read(unit) for unit in units[:UNITS_MAX]]
    found: dict[tuple[str, tuple[int, int]], Difference] = {}
    for difference in _all(here, there):
        found.setdefault((difference.rule, difference.here), difference)
    return list(found.values())


def _all(sentence: Reading, units: Sequence[Reading]) -> Iterator[Difference]:
    yield from polarity.find(sentence, units)
    yield from names.find(sentence, units)
    yield from clinical.find(sentence, units)
