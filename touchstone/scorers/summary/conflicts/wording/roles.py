"""Names in a role: a sentence says about one person, place, organisation or drug what a unit says about another."""

from collections.abc import Iterator, Sequence

from touchstone.scorers.summary.conflicts.difference import Difference
from touchstone.scorers.summary.conflicts.wording.clauses import AUXILIARIES, Clause, ParsedText, overlap
from touchstone.scorers.summary.conflicts.wording.elsewhere import elsewhere
from touchstone.scorers.summary.conflicts.wording.marks import OFFICES
from touchstone.scorers.summary.conflicts.wording.names import TITLES, Name, capitalised_words, names, plain, same
from touchstone.scorers.summary.conflicts.wording.polarity import compare
from touchstone.scorers.summary.lexical import stem
from touchstone.scorers.summary.word_lists import listed

#: How much of the shorter clause both must share besides names, where each says something more.
SAME_OF_ANOTHER = 0.75
#: The same where both names have the same title.
SAME_OF_SAME_TITLE = 0.6

_PLACES = frozenset({"in", "at", "near", "from", "to", "into", "outside", "towards", "around"})
_PREPOSITIONS = _PLACES | {"by", "of", "with", "for", "against", "on", "about", "between", "under"}
#: Between these, either order says the same.
_MUTUAL = frozenset(map(stem, listed("meet marry merge talk speak play compete cooperate agree partner join"))) | listed("with and or versus than met spoke")


def find(sentence: ParsedText, units: Sequence[ParsedText]) -> Iterator[Difference]:
    """Names in another's place, and names that changed places."""
    everywhere = (sentence, *units)
    capitalised = capitalised_words(everywhere)
    of_clause = {id(clause): names(clause, reading.words[0].start, capitalised) for reading in everywhere if reading.words for clause in reading.clauses}
    full = _full_names([name for found in of_clause.values() for name in found])
    of_clause = {key: [full.get(name.keys, name)._replace(first=name.first, last=name.last) for name in found] for key, found in of_clause.items()}
    of_text = [[name for clause in reading.clauses for name in of_clause[id(clause)]] for reading in everywhere]
    for clause in sentence.clauses:
        for number, unit in enumerate(units):
            for other in unit.clauses:
                mine, theirs = of_clause[id(clause)], of_clause[id(other)]
                if not mine or not theirs or not clause.stems & other.stems or elsewhere(clause, other, sentence, unit, names_too=False):
                    continue
                found = _swapped(clause, other, mine, theirs, number)
                if found is not None:
                    yield found
                    continue
                for name in mine:
                    if any(same(name, there) for there in theirs):
                        continue
                    known = any(same(name, there) for there in of_text[number + 1])
                    for there in theirs:
                        known = known or any(same(there, here) for here in of_text[0])
                        if any(same(there, here) for here in mine) or not _alike(name, there) or (known and "drug" in {name.kind, there.kind}):
                            continue
                        alarm = _in_place_of(clause, other, (mine, theirs), name, there)
                        if alarm is not None and not _borne(clause, name, alarm, units, of_clause):
                            yield Difference("name", clause.span(name.first, name.last), other.span(there.first, there.last), number, clinical=False)
                            break


def _full_names(found: Sequence[Name]) -> dict[tuple[str, ...], Name]:
    """Surnames → the full name that alone ends so: who "Voss" is where "Martin Voss" was named."""
    ends: dict[str, set[tuple[str, ...]]] = {}
    for name in found:
        if len(name.keys) > 1:
            ends.setdefault(name.keys[-1], set()).add(name.keys)
    by_keys = {name.keys: name for name in found}
    return {(end,): by_keys[next(iter(full))] for end, full in ends.items() if len(full) == 1}


def _alike(one: Name, other: Name) -> bool:
    """True if two names may replace each other: both a drug, both a person, or of unknown kind."""
    if "drug" in {one.kind, other.kind}:
        return one.kind == other.kind
    if {one.kind, other.kind} == {"person", "organisation"}:
        return False
    # Beside a name of two words, a name of one word may be a firm's; unless a title or a place shows its kind.
    return one.kind == other.kind != "" or len(one.keys) == len(other.keys) or (len(one.keys) > 1 and len(other.keys) > 1)


def _rest(clause: Clause, found: Sequence[Name]) -> frozenset[str]:
    taken = {place for name in found for place in range(name.first, name.last + 1)}
    taken |= {place - 1 for place in taken if place}
    whose = next((name.first for name in found if _described(clause, name)), 0)
    return frozenset(
        word.stem
        for place, word in enumerate(clause.words)
        if word.content and place >= whose and not (place in taken and word.text[0].isupper()) and plain(word) not in TITLES
    )


def _in_place_of(here: Clause, there: Clause, found: tuple[list[Name], list[Name]], name: Name, other: Name) -> frozenset[str] | None:
    """The stems that both clauses share besides names if one name replaces the other; else None."""
    if compare(here, there).flips:
        return None
    mine = _rest(here, [one for one in found[0] if one.kind != "drug" or one is name]) - drugs_of([name])
    theirs = _rest(there, [one for one in found[1] if one.kind != "drug" or one is other]) - drugs_of([other])
    shared = overlap(mine, theirs)
    if (title := _title(here, name)) and title == _title(there, other) and len(shared.shared) >= max(2, SAME_OF_SAME_TITLE * min(len(mine), len(theirs))):
        return shared.shared
    if not shared.same_thing(SAME_OF_ANOTHER) or not _same_role(here, there, name, other, shared.shared):
        return None
    return shared.shared


def _title(clause: Clause, name: Name) -> str:
    """The title before a name: two judges are two persons."""
    before = plain(clause.words[name.first - 1]) if name.first else ""
    return before if before in TITLES else ""


def drugs_of(found: Sequence[Name]) -> frozenset[str]:
    """Keys of those that are drugs, whose words have no capital."""
    return frozenset(key for name in found if name.kind == "drug" for key in name.keys)


def _role(clause: Clause, name: Name) -> tuple[str, str]:
    """A name's role in its clause (subject, agent, behind a preposition, object), and for an object the word before it."""
    if _described(clause, name):
        return "subject", ""
    before = [word for word in clause.words[: name.first] if word.stem and plain(word) not in TITLES and word.fold not in {"the", "a", "an"}]
    while before and before[-1].text[0].isupper() and before[-1].content:
        before.pop()  # the beginning of the same run
    if not before or not any(word.content for word in before):
        if before and before[-1].fold in _PREPOSITIONS:
            return ("place" if before[-1].fold in _PLACES else before[-1].fold), ""
        return "subject", ""
    last = before[-1]
    if last.fold == "by":
        return "by", ""
    if last.fold in _PREPOSITIONS:
        return ("place" if last.fold in {"in", "at", "near"} else last.fold), ""
    return "object", next((word.stem for word in reversed(before) if word.content), "")


def _described(clause: Clause, name: Name) -> bool:
    """True if all before a name describes its bearer ("chief executive", "the lorry driver,"), and what follows says something of them."""
    before = [word for word in clause.words[: name.first] if word.stem]
    if not before or len(before) > 5 or before[-1].fold not in OFFICES or name.last + 1 == len(clause.words):
        return False
    return not any(word.fold in AUXILIARIES or word.fold in _PREPOSITIONS or word.fold.endswith("ed") for word in before)


def _same_role(here: Clause, there: Clause, one: Name, other: Name, shared: frozenset[str]) -> bool:
    """True if two names have the same role in what both clauses say."""
    mine, theirs = _role(here, one), _role(there, other)
    if mine[0] == theirs[0]:
        if mine[0] == "object":
            return mine[1] == theirs[1]
        if mine[0] == "subject":
            return bool(set(here.next_content(one.last, 2)) & set(there.next_content(other.last, 2)))
        return True
    roles = {mine[0], theirs[0]}
    if roles == {"subject", "by"}:
        clause, name = (here, one) if mine[0] == "subject" else (there, other)
        return bool(set(clause.next_content(name.last, 2)) & shared)
    if roles <= {"place", "to", "from", "into"}:
        return False
    if "drug" in {one.kind, other.kind}:
        return bool(roles & {"subject", "object"}) and roles <= {"subject", "object", "with", "on", "of"}
    return False


def _borne(clause: Clause, name: Name, alarm: frozenset[str], units: Sequence[ParsedText], of_clause: dict[int, list[Name]]) -> bool:
    """True if a given unit says the same of the sentence's own name."""
    for unit in units:
        for other in unit.clauses:
            theirs = of_clause[id(other)]
            if not any(same(name, there) for there in theirs):
                continue
            shared = overlap(_rest(clause, of_clause[id(clause)]), _rest(other, theirs))
            if shared.shared and not (shared.shared < alarm and len(shared.shared) * 2 <= len(alarm)):
                return True
    return False


def _swapped(here: Clause, there: Clause, mine: Sequence[Name], theirs: Sequence[Name], number: int) -> Difference | None:
    """Two names that changed places around the same verb; passive forms are turned back."""
    for index, first in enumerate(mine):
        for second in mine[index + 1 :]:
            one = next((name for name in theirs if same(name, first)), None)
            two = next((name for name in theirs if same(name, second)), None)
            if one is None or two is None or one is two or same(first, second) or "drug" in {first.kind, second.kind}:
                continue
            between, across = _between(here, first, second), _between(there, min(one, two), max(one, two))
            if between is None or across is None or not between[0] & across[0]:
                continue
            mine_turned, theirs_turned = between[1], across[1]
            if (
                (one.first > two.first) != (mine_turned != theirs_turned)
                and overlap(_rest(here, mine), _rest(there, theirs)).same_thing(SAME_OF_ANOTHER)
                and not compare(here, there).flips
            ):
                return Difference("name", here.span(first.first, first.last), there.span(one.first, one.last), number)
    return None


def _between(clause: Clause, first: Name, second: Name) -> tuple[frozenset[str], bool] | None:
    """The content words between two names, and whether they are passive; None if the order says nothing or is not clear."""
    words = clause.words[first.last + 1 : second.first]
    if len(words) > 6 or any(not word.stem for word in words) or _MUTUAL & {form for word in words for form in (word.fold, word.stem)}:
        return None
    stems = frozenset(word.stem for word in words if word.content and not word.stem[0].isdigit())
    return (stems, any(word.fold == "by" for word in words)) if stems else None
