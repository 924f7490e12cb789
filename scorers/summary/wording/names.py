"""Names in a role: a sentence that says of one person, place, organisation or drug what a unit says of another."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rapidfuzz import fuzz

from touchstone.scorers.summary.differences import Difference
from touchstone.scorers.summary.wording.clauses import Clause, Reading, Word, overlap
from touchstone.scorers.summary.wording.drugs import drug
from touchstone.scorers.summary.wording.polarity import CALENDAR, compare, elsewhere

SAME_OF_ANOTHER = 0.75

TITLES = frozenset(
    """dr mr mrs ms miss mx prof professor judge justice president minister prime finance foreign interior deputy vice sir lord lady dame captain capt colonel col general gen senator
    sen governor gov mayor councillor councilor officer chairman chairwoman chair ceo cfo director secretary chancellor king queen prince princess pope bishop archbishop
    sister brother nurse detective inspector sergeant sgt attorney counsel rep representative congressman congresswoman mp ambassador commissioner chief coach pastor reverend
    rev rabbi father lieutenant lt major st saint doctor engineer manager former acting""".split()
)
#: Words that are written with a capital and name nobody by themselves.
_COMMON = frozenset(
    """board council committee court company party section article chapter table figure act bill law phase group team study trial department ministry government parliament
    senate house congress agency university hospital clinic school college foundation institute association bank union city state county country district province republic
    kingdom river lake mountain mount street road avenue bridge park north south east west northern southern eastern western the a an in on at of for from by with and or but
    he she it they we i you his her its their our this that these those there here when where while after before since because as if although however no not none all some
    many most both each every patient patients mother internet god english ltd inc corp co llc plc gmbh ag limited incorporated corporation holdings supreme appeal appeals
    high national international federal new old saint great first second third one two three four five six seven eight nine ten allergies medications history assessment plan
    diagnosis discharge admission follow today yesterday tomorrow day week month year""".split()
)
_ORGANISATION = frozenset(
    """ltd inc corp co llc plc gmbh ag limited incorporated corporation holdings university hospital clinic foundation institute association bank union company agency council
    committee court ministry department party group college school society""".split()
)
_JOINS = frozenset({"of", "de", "da", "di", "del", "della", "van", "von", "der", "den", "la", "le", "du", "al", "bin", "ibn", "&", "y", "e", "dos"})
_AGENCIES = frozenset("fda ema who un eu nato cdc nih nhs fbi cia nasa esa imf unicef unesco us uk usa bbc cnn ibm epa who oecd opec wto icc fifa uefa".split())
_PLACES = frozenset({"in", "at", "near", "from", "to", "into", "outside", "towards", "around"})
_PREPOSITIONS = _PLACES | {"by", "of", "with", "for", "against", "on", "about", "between", "under"}
_ALIASES = (
    {"uk", "britain", "united kingdom", "england"},
    {"us", "usa", "america", "united states", "american"},
    {"holland", "netherlands"},
    {"eu", "european union"},
)
#: Between these, either order says the same.
_MUTUAL = frozenset("met meet marry married merg merge talk spoke speak play compet compete cooperat agre agree partner join with and or versus than".split())


class Name(NamedTuple):
    """A name in a clause: words `first` to `last`. `keys`: its telling words, folded, in order; `kind`: person, organisation, drug or ""."""

    first: int
    last: int
    keys: tuple[str, ...]
    kind: str


def _plain(word: Word) -> str:
    """A word without its accents, dots and possessive."""
    bare = unicodedata.normalize("NFKD", word.fold.removesuffix("'s").rstrip("'")).replace(".", "")
    return "".join(letter for letter in bare if not unicodedata.combining(letter))


def names(clause: Clause, opens: int, known: frozenset[str]) -> list[Name]:
    """The names of a clause. `opens`: where its sentence begins, whose first word has a capital anyway; `known`: words with capitals elsewhere."""
    found: list[Name] = []
    words = clause.words
    index = 0
    while index < len(words):
        if (substance := drug(_plain(words[index]))) is not None:
            found.append(Name(index, index, (substance,), "drug"))
        elif words[index].text[0].isupper():
            last = _run(words, index)
            name = _name(words, index, last, opens, known)
            if name is not None:
                found.append(name)
            index = last
        index += 1
    return found


def _run(words: Sequence[Word], first: int) -> int:
    """The last word of a run of words with capitals; small words join two of them."""
    last = first
    while last + 1 < len(words):
        if words[last + 1].text[0].isupper():
            last += 1
        elif words[last + 1].fold in _JOINS and last + 2 < len(words) and words[last + 2].text[0].isupper():
            last += 2
        else:
            break
    return last


def _name(words: Sequence[Word], first: int, last: int, opens: int, known: frozenset[str]) -> Name | None:
    """A run of words with capitals as a name; None where it names nobody for certain."""
    run = words[first : last + 1]
    telling = [
        place
        for place, word in enumerate(run, first)
        if len(plain := _plain(word)) > 1
        and plain not in TITLES
        and plain not in _COMMON
        and plain not in CALENDAR
        and word.fold not in _JOINS
        and word.stem
        and (not plain.isupper() or plain in _AGENCIES)
        and (not word.text.isupper() or plain in _AGENCIES)
    ]
    titled = any(_plain(word) in TITLES for word in run)
    if not telling:
        return None
    if len(telling) == 1 and words[telling[0]].start == opens and not titled and words[telling[0]].fold not in known and len(run) == 1:
        return None  # any word has a capital there
    after = words[last + 1] if last + 1 < len(words) else None
    if (
        len(run) == 1
        and after is not None
        and after.content
        and run[0].fold.endswith(("ish", "ese", "ian", "ean", "can", "ench", "reek", "erman", "iss", "utch"))
    ):
        return None  # the Danish firm
    organised = any(_plain(word) in _ORGANISATION for word in run)
    kind = "person" if titled else "organisation" if organised else ""
    return Name(telling[0], last, tuple(dict.fromkeys(_plain(words[place]) for place in telling)), kind)


def same(one: Name, other: Name) -> bool:
    """Whether two names may name the same."""
    if set(one.keys) & set(other.keys):
        return True
    first, second = " ".join(sorted(one.keys)), " ".join(sorted(other.keys))
    if any(any(key in first for key in alias) and any(key in second for key in alias) for alias in _ALIASES):
        return True
    if any(a[:4] == b[:4] or fuzz.ratio(a, b) >= 80 for a in one.keys for b in other.keys):
        return True  # Denmark and Danish, Krämer and Kraemer
    return _initials(one) in other.keys or _initials(other) in one.keys


def _initials(name: Name) -> str:
    return "".join(key[0] for key in name.keys)


def known_names(everywhere: Sequence[Reading]) -> frozenset[str]:
    """Words that have a capital where they do not begin a sentence, folded."""
    return frozenset(word.fold for reading in everywhere for word in reading.words[1:] if word.text[0].isupper())


def find(sentence: Reading, units: Sequence[Reading]) -> Iterator[Difference]:
    """Names in another's place, and names that changed places."""
    everywhere = (sentence, *units)
    known = known_names(everywhere)
    of_clause = {id(clause): names(clause, reading.words[0].start, known) for reading in everywhere if reading.words for clause in reading.clauses}
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
                    if any(same(name, there) for there in of_text[number + 1]):
                        continue
                    for there in theirs:
                        if any(same(there, here) for here in of_text[0]) or not _alike(name, there):
                            continue
                        alarm = _in_place_of(clause, other, (mine, theirs), name, there)
                        if alarm is not None and not _borne(clause, name, alarm, number, units, of_clause):
                            yield Difference("name", _span(clause, name), _span(other, there), number, clinical=False)
                            break


def _alike(one: Name, other: Name) -> bool:
    """Whether two names can stand for each other: both a drug, both a person, or not told."""
    if "drug" in {one.kind, other.kind}:
        return one.kind == other.kind
    if {one.kind, other.kind} == {"person", "organisation"}:
        return False
    # A name of one word may be a firm's beside a person's of two, unless a title or a place tells.
    return one.kind == other.kind != "" or len(one.keys) == len(other.keys) or (len(one.keys) > 1 and len(other.keys) > 1)


def _rest(clause: Clause, found: Sequence[Name]) -> frozenset[str]:
    taken = {place for name in found for place in range(name.first, name.last + 1)}
    taken |= {place - 1 for place in taken if place}
    return frozenset(
        word.stem for place, word in enumerate(clause.words) if word.content and not (place in taken and word.text[0].isupper()) and _plain(word) not in TITLES
    )


def _in_place_of(here: Clause, there: Clause, found: tuple[list[Name], list[Name]], name: Name, other: Name) -> frozenset[str] | None:
    """What both clauses share besides names, where one name stands in the other's place; else None."""
    if compare(here, there).flips:
        return None
    mine = _rest(here, [one for one in found[0] if one.kind != "drug" or one is name]) - drugs_of([name])
    theirs = _rest(there, [one for one in found[1] if one.kind != "drug" or one is other]) - drugs_of([other])
    shared = overlap(mine, theirs)
    if not shared.same_thing(SAME_OF_ANOTHER) or not _same_role(here, there, name, other, shared.shared):
        return None
    return shared.shared


def drugs_of(found: Sequence[Name]) -> frozenset[str]:
    """Keys of those that are drugs, whose words have no capital."""
    return frozenset(key for name in found if name.kind == "drug" for key in name.keys)


def _role(clause: Clause, name: Name) -> tuple[str, str]:
    """How a name stands in its clause: subject, agent, behind a preposition or behind a word; and what stands there."""
    before = [word for word in clause.words[: name.first] if word.stem and _plain(word) not in TITLES and word.fold not in {"the", "a", "an"}]
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


def _same_role(here: Clause, there: Clause, one: Name, other: Name, shared: frozenset[str]) -> bool:
    """Whether two names stand in the same role of what both clauses say."""
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


def _borne(clause: Clause, name: Name, alarm: frozenset[str], number: int, units: Sequence[Reading], of_clause: dict[int, list[Name]]) -> bool:
    """Whether a given unit says the same of the sentence's own name."""
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
                return Difference("name", _span(here, first), _span(there, one), number)
    return None


def _between(clause: Clause, first: Name, second: Name) -> tuple[frozenset[str], bool] | None:
    """The content words between two names, and whether they are passive; None where the order says nothing or is not clear."""
    words = clause.words[first.last + 1 : second.first]
    if len(words) > 6 or any(not word.stem for word in words) or _MUTUAL & {form for word in words for form in (word.fold, word.stem)}:
        return None
    stems = frozenset(word.stem for word in words if word.content and not word.stem[0].isdigit())
    return (stems, any(word.fold == "by" for word in words)) if stems else None


def _span(clause: Clause, name: Name) -> tuple[int, int]:
    return clause.words[name.first].start, clause.words[name.last].end
