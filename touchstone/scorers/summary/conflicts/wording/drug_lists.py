"""Drugs given together: a list in which one drug replaces another."""

from collections.abc import Iterator, Sequence

from touchstone.scorers.summary.conflicts.difference import Difference
from touchstone.scorers.summary.conflicts.wording.clauses import Clause, ParsedText
from touchstone.scorers.summary.conflicts.wording.drugs import drug
from touchstone.scorers.summary.conflicts.wording.names import plain


def find(sentence: ParsedText, units: Sequence[ParsedText]) -> Iterator[Difference]:
    """A drug that no unit names, among drugs that a unit gives together with another one."""
    everywhere = {substance for unit in units for substance in _drugs(unit.whole)}
    mine = _drugs(sentence.whole)
    for clause in sentence.clauses:
        here = _drugs(clause)
        alone = [substance for substance in here if substance not in everywhere]
        if len(alone) != 1 or len(here) < 2:
            continue
        for number, unit in enumerate(units):
            for other in unit.clauses:
                there = _drugs(other)
                missed = [substance for substance in there if substance not in mine]
                if len(missed) == 1 and len(there) == len(here) and here.keys() - set(alone) == there.keys() - set(missed):
                    one, two = clause.words[here[alone[0]]], other.words[there[missed[0]]]
                    yield Difference("name", (one.start, one.end), (two.start, two.end), number)
                    break
            else:
                continue
            break


def _drugs(clause: Clause) -> dict[str, int]:
    """The drugs of a clause, with the place of each."""
    found: dict[str, int] = {}
    for place, word in enumerate(clause.words):
        substance = drug(plain(word)) if word.stem else None
        if substance is not None:
            found.setdefault(substance, place)
    return found
