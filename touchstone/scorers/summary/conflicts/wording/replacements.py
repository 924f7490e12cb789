"""A sentence that equals a unit but for some words: which words replace which."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.difference import Difference
from touchstone.scorers.summary.conflicts.wording.antonyms import alike, rule_of, sides
from touchstone.scorers.summary.conflicts.wording.body_sides import body_side
from touchstone.scorers.summary.conflicts.wording.clauses import AUXILIARIES, Clause, ParsedText, overlap
from touchstone.scorers.summary.conflicts.wording.marks import NEGATIVE, POINTERS, ZERO
from touchstone.scorers.summary.conflicts.wording.names import Name, replaced_name, same
from touchstone.scorers.summary.conflicts.wording.negations import cue_at
from touchstone.scorers.summary.word_lists import listed, word_lists

_LISTS = word_lists(__file__, "words")

#: Share of the shorter one's words, and of the longer one's, that must be equal and in order.
EQUAL_OF_SHORTER, EQUAL_OF_LONGER = 0.7, 0.5
#: Words of a sentence that are aligned, and of one replacement.
WORDS_MAX, EDIT_MAX = 80, 6

#: With these, near-equal sentences may be so both.
_OPEN = listed("until unless if whether allergic allergy allergies")
_PARTS = listed("some others other several certain")
_KIN = _LISTS["kin"]
#: In the place of "no" these say that there is one.
_AFFIRM = listed("""a an the some any several many one two three all every everybody everyone each both always somebody someone something few much most many""")


class Edit(NamedTuple):
    """Words of the sentence in the place of words of the unit, as places in both."""

    here: range
    there: range


def edits(here: Clause, there: Clause) -> list[Edit]:
    """What differs between two runs of words that are the same for the most part; nothing where they are not, or are equal."""
    mine, theirs = [word.fold for word in here.words], [word.fold for word in there.words]
    if not mine or not theirs or max(len(mine), len(theirs)) > WORDS_MAX or len(set(mine) & set(theirs)) < 0.5 * min(len(set(mine)), len(set(theirs))):
        return []
    codes = SequenceMatcher(None, theirs, mine, autojunk=False).get_opcodes()
    equal = sum(last - first for tag, first, last, _, _ in codes if tag == "equal")
    if equal < EQUAL_OF_SHORTER * min(len(mine), len(theirs)) or equal < EQUAL_OF_LONGER * max(len(mine), len(theirs)):
        return []
    found = [Edit(range(begin, end), range(first, last)) for tag, first, last, begin, end in codes if tag != "equal"]
    return [edit for edit in found if len(edit.here) <= EDIT_MAX and len(edit.there) <= EDIT_MAX]


def find(sentence: ParsedText, units: Sequence[ParsedText], names: dict[int, list[Name]]) -> Iterator[Difference]:
    """Differences in the words that were replaced; `names`: of the whole sentence (0) and of each whole unit (1, 2, …)."""
    for number, unit in enumerate(units):
        every = edits(sentence.whole, unit.whole)
        if not every or _OPEN & (sentence.whole.folds | unit.whole.folds):
            continue
        for edit in every:
            if any(
                word.fold in _PARTS
                for clause, places in ((sentence.whole, edit.here), (unit.whole, edit.there))
                for place, word in enumerate(clause.words)
                if place not in places
            ):
                continue
            found = _replaced(sentence.whole, unit.whole, edit, number, (names[0], names[number + 1]))
            if found is not None and found.rule in {"negation", "antonym"} and any(_turns(sentence, unit, edit, other) for other in every if other is not edit):
                continue
            if found is not None and not _borne(sentence, edit, found, units):
                yield found


def _turns(sentence: ParsedText, unit: ParsedText, edit: Edit, other: Edit) -> bool:
    """True if another replacement in the same clause may turn the sense back."""
    if any(sentence.whole.words[place].fold in ZERO for place in other.here):
        return True  # "conflicts of interest: none"
    if not _same_clause(sentence, _anchor(edit.here, sentence.whole), _anchor(other.here, sentence.whole)):
        return False
    return (
        any(
            _negates(clause, place) or clause.words[place].fold in NEGATIVE
            for clause, places in ((sentence.whole, other.here), (unit.whole, other.there))
            for place in places
        )
        or _opposite(sentence.whole, unit.whole, other) is not None
    )


def _same_clause(reading: ParsedText, one: int, other: int) -> bool:
    first, second = sorted((reading.whole.words[one].start, reading.whole.words[other].start))
    return any(clause.words[0].start <= first and second < clause.words[-1].end for clause in reading.clauses)


def _replaced(here: Clause, there: Clause, edit: Edit, number: int, names: tuple[list[Name], list[Name]]) -> Difference | None:
    """What one replacement changes."""
    negated_here = [place for place in edit.here if _negates(here, place)]
    negated_there = [place for place in edit.there if _negates(there, place)]
    pair = _opposite(here, there, edit)
    if len(negated_here) != len(negated_there):
        if pair is not None or len(negated_here) + len(negated_there) != 1 or not _same_besides(here, there, edit):
            return None
        one = here.span(negated_here[0] if negated_here else _anchor(edit.here, here))
        two = there.span(negated_there[0] if negated_there else _anchor(edit.there, there))
        return Difference("negation", one, two, number)
    if pair is not None:
        first, second = pair
        if _pointing(here, first) or _pointing(there, second) or max(_content(here, edit.here), _content(there, edit.there)) > 2:
            return None
        clinical = body_side(here, first) is not None and body_side(there, second) is not None
        return Difference(
            "laterality" if clinical else rule_of(here.words[first].fold, there.words[second].fold),
            here.span(first),
            there.span(second),
            number,
            clinical=clinical,
        )
    mine = next((name for name in names[0] if name.last in edit.here), None)
    theirs = next((name for name in names[1] if name.last in edit.there), None)
    if mine is not None and theirs is not None and (mine.kind == "drug") == (theirs.kind == "drug"):
        if any(same(mine, name) for name in names[1]) or any(same(theirs, name) for name in names[0]):
            return None
        return Difference("name", here.span(mine.first, mine.last), there.span(theirs.first, theirs.last), number)
    mine, theirs = (replaced_name(clause, places.start, places.stop - 1) for clause, places in ((here, edit.here), (there, edit.there)))
    if mine is not None and theirs is not None and not same(mine, theirs) and not set(mine.keys) & there.folds and not set(theirs.keys) & here.folds:
        return Difference("name", here.span(mine.first, mine.last), there.span(theirs.first, theirs.last), number)
    kin_here, kin_there = ([place for place in places if clause.words[place].fold in _KIN] for clause, places in ((here, edit.here), (there, edit.there)))
    if len(kin_here) == len(kin_there) == 1 and here.words[kin_here[0]].fold not in there.folds:
        return Difference("name", here.span(kin_here[0]), there.span(kin_there[0]), number)
    return None


def _pointing(clause: Clause, place: int) -> bool:
    return place + 1 < len(clause.words) and clause.words[place + 1].fold in POINTERS


def _content(clause: Clause, places: range) -> int:
    return sum(clause.words[place].content for place in places)


def _negates(clause: Clause, place: int) -> bool:
    """True if a negation begins at a word, and says the opposite of what follows."""
    cue = cue_at(clause, place)
    return cue is not None and not cue.soft


def _opposite(here: Clause, there: Clause, edit: Edit) -> tuple[int, int] | None:
    for first in edit.here:
        mine = {**sides(here, first), **_hand(here, first)}
        for second in edit.there:
            theirs = {**sides(there, second), **_hand(there, second)}
            if any(theirs.get(family) == 1 - side for family, side in mine.items()) and not any(theirs.get(family) == side for family, side in mine.items()):
                return first, second
    return None


def _hand(clause: Clause, place: int) -> dict[int, int]:
    """Left and right as a family of their own, where they are sides."""
    fold = clause.words[place].fold
    return {-1: int(fold == "right")} if fold in {"left", "right"} and body_side(clause, place) is not None else {}


def _same_besides(here: Clause, there: Clause, edit: Edit) -> bool:
    """True if nothing but the negation, small words and the form of the verb was replaced."""
    mine, theirs = (
        {
            clause.words[place].stem
            for place in places
            if clause.words[place].content
            and not _negates(clause, place)
            and clause.words[place].fold not in _AFFIRM
            and clause.words[place].fold not in AUXILIARIES
        }
        for clause, places in ((here, edit.here), (there, edit.there))
    )
    # One further word is allowed: "never married", "married young".
    return mine == theirs or (bool(mine & theirs) and len(mine ^ theirs) == 1)


def _anchor(places: range, clause: Clause) -> int:
    """The place to point to on the side without the negation."""
    return places.start if len(places) else min(places.start, len(clause.words) - 1)


def _borne(sentence: ParsedText, edit: Edit, found: Difference, units: Sequence[ParsedText]) -> bool:
    """True if another unit says it as the sentence does: with its name or word, or negated as it is."""
    whole = sentence.whole
    written = sentence.text[found.here[0] : found.here[1]].casefold()
    word = next((place for place, one in enumerate(whole.words) if (one.start, one.end) == found.here), None)
    negated = any(_negates(whole, place) for place in edit.here)
    # "Ruled out" negates on both sides of "arson was not ruled out": negations in the rest of the sentence do not count.
    turned = {*(whole.words[place].fold for place in edit.here), *(units[found.unit].whole.words[place].fold for place in edit.there)}
    kept = {whole.words[place].fold for place in range(len(whole.words)) if place not in edit.here and _negates(whole, place)} - turned
    for number, unit in enumerate(units):
        shared = overlap(whole.stems, unit.whole.stems)
        if number == found.unit or not shared.shared or len(shared.shared) < min(len(shared.here), len(shared.there)):
            continue
        if found.rule == "name":
            borne = written in unit.text.casefold()
        elif word is not None and found.rule != "negation":
            borne = any(_is_about_the_same(sentence, word, clause) for clause in unit.clauses)
        else:
            words = {whole.words[place].stem for place in edit.here if whole.words[place].content and not _negates(whole, place)}
            borne = words <= unit.whole.all_stems and negated == any(
                _negates(unit.whole, place) for place, one in enumerate(unit.whole.words) if one.fold not in kept
            )
        if borne:
            return True
    return False


def _is_about_the_same(sentence: ParsedText, place: int, there: Clause) -> bool:
    """True if a clause has the sentence's word, or one of the same side, with the same neighbour: profit, not revenue."""
    word = sentence.whole.words[place]
    here = next((clause for clause in sentence.clauses if word in clause.words), sentence.whole)
    at = here.words.index(word)
    if not alike(here, at, there):
        return False
    beside = {*here.next_content(at, 1), *here.last_content(at, 1)}
    names = {one.stem for one in here.words[1:] if one.content and one.text[0].isupper()}
    return (bool(beside & there.stems) or not beside) and names <= there.all_stems
