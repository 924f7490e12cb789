"""Differences in wording between a sentence and the units it is about: names, negations, opposites, sides and allergies.

Precision comes before recall: a rule speaks only where both clearly say something of the same thing, and no given unit says what the sentence says.
"""

from collections.abc import Iterator, Sequence

from touchstone.scorers.summary.conflicts.difference import Difference
from touchstone.scorers.summary.conflicts.values.surroundings import look
from touchstone.scorers.summary.conflicts.wording import allergies, body_sides, causes, drug_lists, names, orders, polarity, replacements, roles, scales, times
from touchstone.scorers.summary.conflicts.wording.clauses import ParsedText, read
from touchstone.scorers.summary.conflicts.wording.marks import ZERO

#: Units that are looked at.
UNITS_MAX = 16
#: Two shares that make a whole, rounded.
REST_OFF = 0.015
#: Behind these, a sentence's very words say the opposite.
_NEGATE_NEXT = frozenset({"not", "don't", "never", "no", "cannot", "can't", "without"})


def find(sentence: str, units: Sequence[str], *, relations: bool = True) -> list[Difference]:
    """Every difference in wording between a sentence and the units it is about, nearest in meaning first; one of each kind a place. Never raises.

    `relations`: words with a scale, and time spans beside their times, too.
    """
    here, there = read(sentence), [read(unit) for unit in units[:UNITS_MAX]]
    if any(_says_the_same(here, unit) for unit in there):
        return []
    found: list[Difference] = []
    for difference in _all(here, there, relations):
        if difference.rule == "negation" and _says_the_rest(here, there[difference.unit]):
            continue
        if not any(difference.here[0] < other.here[1] and other.here[0] < difference.here[1] for other in found):
            found.append(difference)
    return found


def _says_the_rest(sentence: ParsedText, unit: ParsedText) -> bool:
    """True if both may be true: two thirds do not, a third does; "not one" is none."""
    mine, theirs = ([one.value for one in look(text.text).values if one.value.kind == "percentage"] for text in (sentence, unit))
    if any(abs(one.readings[0][1] + other.readings[0][1] - 1) <= REST_OFF for one in mine for other in theirs):
        return True
    return any("not one" in " ".join(word.fold for word in one.whole.words) and two.whole.folds & ZERO for one, two in ((sentence, unit), (unit, sentence)))


def _says_the_same(sentence: ParsedText, unit: ParsedText) -> bool:
    """True if the unit says the very words, and does not negate them: "use it at night" is part of "do not use it at night"."""
    mine, theirs = (" ".join(word.fold for word in reading.whole.words) for reading in (sentence, unit))
    before, found, _ = f" {theirs} ".partition(f" {mine} ")
    return bool(found) and not (before.split() and before.split()[-1] in _NEGATE_NEXT)


def _all(sentence: ParsedText, units: Sequence[ParsedText], relations: bool) -> Iterator[Difference]:
    yield from allergies.find(sentence, units)  # first: of two findings about the same words the first is kept
    yield from body_sides.find(sentence, units)
    capitalised = names.capitalised_words((sentence, *units))
    of_wholes = {
        number: names.names(reading.whole, reading.words[0].start if reading.words else 0, capitalised) for number, reading in enumerate((sentence, *units))
    }
    yield from replacements.find(sentence, units, of_wholes)
    yield from polarity.find(sentence, units)
    yield from roles.find(sentence, units)
    yield from drug_lists.find(sentence, units)
    if relations:
        yield from scales.find(sentence, units)
        yield from times.find(sentence, units)
        yield from orders.find(sentence, units)
        yield from causes.find(sentence, units)
