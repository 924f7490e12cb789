"""Clauses about different times, parts, numbers or possibilities: both may be true."""

from itertools import pairwise

from touchstone.scorers.summary.conflicts.wording.clauses import Clause, ParsedText
from touchstone.scorers.summary.conflicts.wording.marks import (
    CALENDAR,
    CONDITIONS,
    FUTURE,
    ORDINALS,
    PARTS,
    PERMITS,
    PRESENT,
    REPORTING,
    SHIFTS,
    SOME,
    UNSURE,
    ZERO,
)

#: What is proposed "to" be done is no fact; that a proposal was rejected is one.
_PROPOSED = frozenset({"proposal", "proposals", "motion", "bid"})
_PART_OF_MINE = frozenset({"some", "others", "other", "several", "certain"})


def elsewhere(here: Clause, there: Clause, sentence: ParsedText, unit: ParsedText, *, names_too: bool = True) -> bool:
    """True if the clauses speak of other times, parts, numbers or possibilities."""
    if _shifted(here, there) or _of_other_parts(here, there):
        return True
    unsure = (_unsure(here, sentence), _unsure(there, unit))
    if here.folds & PERMITS and there.folds & PERMITS:
        unsure = (unsure[0] - PERMITS, unsure[1] - PERMITS)
    if bool(unsure[0]) != bool(unsure[1]):
        return True
    mine, theirs = _particulars(here, names_too=names_too), _particulars(there, names_too=names_too)
    return bool(mine - sentence_wide(unit)) and bool(theirs - sentence_wide(sentence))


def sentence_wide(reading: ParsedText) -> frozenset[str]:
    """Stems of all words of a sentence."""
    return frozenset(word.stem for word in reading.words if word.stem)


def _shifted(here: Clause, there: Clause) -> bool:
    """True if one speaks of another time; "not yet" and "no longer" speak of the present."""
    mine, theirs = here.folds & SHIFTS, there.folds & SHIFTS
    if (here.folds | there.folds) & {"yet", "longer"}:
        if "yet" in here.folds | there.folds and bool(here.folds & FUTURE) != bool(there.folds & FUTURE):
            return True
        mine, theirs = mine - PRESENT, theirs - PRESENT
    return mine != theirs


def _of_other_parts(here: Clause, there: Clause) -> bool:
    """True if one is about some or about others; "some" and "none" are about the same."""
    aside: frozenset[str] = SOME if bool(here.folds & ZERO) != bool(there.folds & ZERO) else frozenset()
    return (here.folds & PARTS) - aside != (there.folds & PARTS) - aside or bool((here.folds & _PART_OF_MINE) - aside)


def _unsure(clause: Clause, whole: ParsedText) -> set[str]:
    """Words by which a clause is no plain statement; "could not" is one, and so is "said that it would", and May is a month."""
    found = {word.fold for place, word in enumerate(clause.words) if word.fold in UNSURE and not (word.fold == "may" and place and word.text == "May")}
    if any(first.fold == "could" and second.stem == "not" for first, second in pairwise(clause.words)):
        found.discard("could")
    found |= {first.fold for first, second in pairwise(clause.words) if first.fold in _PROPOSED and second.fold == "to"}
    if any(word.fold in REPORTING for word in whole.words):
        found.discard("would")
    return found | {word.fold for word in whole.words if word.fold in CONDITIONS}


def _particulars(clause: Clause, *, names_too: bool) -> set[str]:
    """Numbers, ordinals, days and names, which distinguish one event from another."""
    return {
        word.stem
        for place, word in enumerate(clause.words)
        if (word.stem and word.stem[0].isdigit() and word.stem != "1")
        or word.fold in ORDINALS
        or word.fold in CALENDAR
        or (names_too and word.content and place and word.text[0].isupper())
    }
