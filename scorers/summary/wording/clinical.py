"""Sides of the body and allergies: what a summary of a record must never get wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from touchstone.scorers.summary.differences import Difference
from touchstone.scorers.summary.lexical import stem
from touchstone.scorers.summary.wording.clauses import Clause, Overlap, Reading, overlap
from touchstone.scorers.summary.wording.drugs import drug
from touchstone.scorers.summary.wording.polarity import compare

_SIDES = {"left": "left", "left-sided": "left", "right": "right", "bilateral": "both", "bilaterally": "both", "both": "both"}
#: Parts of the body by the stem of any word for them.
_PARTS = frozenset(
    """arm leg hand foot wrist ankle knee hip shoulder elbow finger thumb toe thigh calf shin forearm heel palm eye ear nostril cheek jaw brow eyelid retina cornea breast lung
    kidney ureter ovary testicle testis tonsil adrenal lobe hemisphere ventricle atrium ventricular atrial femur tibia fibula humerus radius ulna clavicle scapula rib femoral
    tibial carotid renal pleural frontal temporal parietal occipital cerebral cerebellar coronary iliac inguinal groin flank buttock side face facial neck chest abdomen abdominal
    quadrant hemithorax bundle limb extremity middle cerebral mca pleura effusion nephrectomy mastectomy hemiparesis weakness lobectomy oophorectomy arthroplasty hemiplegia
    sided""".split()
)
_PART_STEMS = frozenset(map(stem, _PARTS))
#: "Left" is a verb before these, and "right" a claim.
_NO_SIDE_AFTER = frozenset("the a an for to in at on his her hospital home against of away open".split())


class Side(NamedTuple):
    """A side of a part of the body; `place`: the word that names the side."""

    place: int
    side: str
    part: str


def find(sentence: Reading, units: Sequence[Reading]) -> Iterator[Difference]:
    """Other sides, other allergies."""
    yield from _other_sides(sentence, units)
    yield from _other_allergies(sentence, units)


def _sides(clause: Clause) -> list[Side]:
    """Sides with the part that follows within three words, or, for "of the knee (left)", that stands before."""
    found = []
    for place, word in enumerate(clause.words):
        side = _SIDES.get(word.fold)
        if side is None:
            continue
        after = clause.words[place + 1 : place + 4]
        if after and after[0].fold in _NO_SIDE_AFTER and side != "both":
            continue
        part = next((next_word.stem for next_word in after if next_word.stem in _PART_STEMS), None)
        if part is None and not after:
            part = next((before.stem for before in reversed(clause.words[max(0, place - 3) : place]) if before.stem in _PART_STEMS), None)
        if part is not None:
            found.append(Side(place, side, part))
    return found


def body_side(clause: Clause, place: int) -> Side | None:
    """The side that a word names, None where it names none."""
    return next((side for side in _sides(clause) if side.place == place), None)


def _other_sides(sentence: Reading, units: Sequence[Reading]) -> Iterator[Difference]:
    of_clause = {id(clause): _sides(clause) for reading in (sentence, *units) for clause in reading.clauses}
    own = [side for clause in sentence.clauses for side in of_clause[id(clause)]]
    for clause in sentence.clauses:
        for mine in of_clause[id(clause)]:
            found = next(_against(clause, mine, own, units, of_clause), None)
            if found is not None and not _side_borne(clause, mine, found[1], units, of_clause):
                yield found[0]


def _against(
    here: Clause, mine: Side, own: Sequence[Side], units: Sequence[Reading], of_clause: dict[int, list[Side]]
) -> Iterator[tuple[Difference, frozenset[str]]]:
    """Clauses that say the same of the same part on another side, with what they share."""
    for number, unit in enumerate(units):
        for there in unit.clauses:
            for theirs in of_clause[id(there)]:
                if theirs.part != mine.part or theirs.side in {mine.side, "both"} or any(one.part == theirs.part and one.side == theirs.side for one in own):
                    continue
                shared = _shared(here, there, mine.part)
                least = len(shared.shared) + min(len(shared.here), len(shared.there))
                if not compare(here, there).parity_differs and len(shared.shared) * 2 >= least:
                    yield Difference("laterality", _span(here, mine.place), _span(there, theirs.place), number, clinical=True), shared.shared


def _side_borne(here: Clause, mine: Side, alarm: frozenset[str], units: Sequence[Reading], of_clause: dict[int, list[Side]]) -> bool:
    """Whether a unit has the sentence's side, and is not about something else there."""
    for unit in units:
        for there in unit.clauses:
            if any(one.part == mine.part and one.side in {mine.side, "both"} for one in of_clause[id(there)]):
                shared = _shared(here, there, mine.part)
                if not (shared.shared < alarm and shared.there):
                    return True
    return False


def _shared(here: Clause, there: Clause, part: str) -> Overlap:
    without = {part, *_SIDES, "sid"}
    return overlap(here.stems - without, there.stems - without)


def _span(clause: Clause, place: int) -> tuple[int, int]:
    return clause.words[place].start, clause.words[place].end


_SUBSTANCE = r"(?!which\b|that\b|who\b|but\b|causing\b|with\b|she\b|he\b|caused\b|has\b|had\b|is\b|was\b|and\b|or\b|not\b|takes\b)[a-z][a-z/-]{2,}(?: (?!and\b|or\b|but\b|with\b|which\b|that\b|causing\b|since\b|he\b|she\b)[a-z][a-z/-]{2,})?"
_LIST = rf"{_SUBSTANCE}(?:(?:, and |, or |, | and | or ){_SUBSTANCE}){{0,8}}"
_NONE_KNOWN = re.compile(
    r"\b(?:nkda|nka|nkfa|(?:no|without|denies|denied|denying)(?: any| having any)?(?: known| documented| reported| history of)*(?: drug| medication| medicine| food| environmental)?"
    r" allerg(?:y|ies)|not (?:known to be )?allergic to any\w*|allergies: (?:none|nil|no known|nkda|denied))\b"
)
_TO = re.compile(
    rf"\b(?P<not>not |no (?:known )?|never |denie[sd] (?:any |an )?|without (?:an |any )?)?(?:known )?(?:allergic (?:reaction )?to|allerg(?:y|ies) to|anaphylaxis to|anaphylactic to) (?:the )?(?P<what>{_LIST})"
)
_OF = re.compile(rf"\b(?P<not>no (?:known )?|denie[sd] (?:any |an )?|without an? )?(?P<what>{_SUBSTANCE}) allerg(?:y|ies)\b")
_LISTED = re.compile(rf"\ballerg(?:y|ies): ?(?P<what>{_LIST})")
_NO_SUBSTANCE = frozenset(
    """drug medication medicine food known any seasonal severe mild documented environmental the has have had her his with history patient possible other new and drugs medications
    medicines foods none nil reported latent true multiple significant several anything that who whose a an its their was is for about against check checked all no not""".split()
)
#: Names for the same, or for the group that a patient with the allergy avoids as well.
_GROUPS = (
    frozenset("penicillin penicillins amoxicillin ampicillin augmentin pcn piperacillin".split()),
    frozenset("sulfa sulpha sulfonamide sulfonamides sulfamethoxazole bactrim trimethoprim".split()),
    frozenset("shellfish shrimp prawn prawns crab lobster seafood".split()),
    frozenset("peanut peanuts nut nuts".split()),
    frozenset("nsaid nsaids ibuprofen naproxen aspirin diclofenac".split()),
    frozenset("contrast iodine iodinated dye".split()),
    frozenset("bee bees wasp wasps hymenoptera".split()),
    frozenset("egg eggs".split()),
    frozenset("milk dairy lactose".split()),
    frozenset("opioid opioids morphine codeine oxycodone hydrocodone".split()),
    frozenset("cephalosporin cephalosporins cefazolin ceftriaxone cephalexin cefuroxime".split()),
)


class Allergies(NamedTuple):
    """What a text says of allergies. `to`: substance → its place; `none`: the place where it says that there are none."""

    to: dict[str, tuple[int, int]]
    not_to: dict[str, tuple[int, int]]
    none: tuple[int, int] | None


def _allergies(reading: Reading) -> Allergies:
    text = reading.text[:1_200].lower() if len(reading.text.lower()) == len(reading.text) else reading.text[:1_200]
    if "allerg" not in text and "nk" not in text and "anaphyla" not in text:
        return Allergies({}, {}, None)
    none = _NONE_KNOWN.search(text)
    # "No known allergies to latex" is about latex alone.
    general = none is not None and not re.match(r" to (?!any|medic|drug|food)", text[none.end() :])
    to: dict[str, tuple[int, int]] = {}
    not_to: dict[str, tuple[int, int]] = {}
    for pattern in (_TO, _OF, _LISTED):
        for match in pattern.finditer(text):
            bearer = not_to if match.groupdict().get("not") else to
            for substance, place in _substances(match.group("what"), match.start("what")):
                bearer.setdefault(substance, place)
    return Allergies(to, not_to, none.span() if none is not None and general else None)


def _substances(listed: str, start: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The substances of a list, each by its last telling word, with their places."""
    for item in re.finditer(_SUBSTANCE, listed):
        telling = [word for word in re.finditer(r"[a-z-]+", item.group()) if word.group() not in _NO_SUBSTANCE and not word.group().startswith("allerg")]
        if telling:
            word = next((one for one in telling if drug(one.group())), telling[0])
            yield drug(word.group()) or word.group(), (start + item.start() + word.start(), start + item.start() + word.end())


def _same(one: str, other: str) -> bool:
    return one == other or one.rstrip("s") == other.rstrip("s") or one[:6] == other[:6] or any(one in group and other in group for group in _GROUPS)


def _other_allergies(sentence: Reading, units: Sequence[Reading]) -> Iterator[Difference]:
    mine = _allergies(sentence)
    if not mine.to and not mine.not_to and mine.none is None:
        return
    theirs = [_allergies(unit) for unit in units]
    all_to = [(substance, place, number) for number, said in enumerate(theirs) for substance, place in said.to.items()]
    denied = [(substance, place, number) for number, said in enumerate(theirs) for substance, place in said.not_to.items()]
    none = next(((said.none, number) for number, said in enumerate(theirs) if said.none is not None), None)
    for substance, here in mine.to.items():
        if any(_same(substance, one) for one, _, _ in all_to):
            continue
        against = (
            [(place, number) for one, place, number in denied if _same(substance, one)]
            or ([none] if none else [])
            or [(place, number) for _, place, number in all_to]
        )
        if against and not any(
            word.stem[:6] == substance[:6] for _, number in against[:1] for word in units[number].words if substance not in {one for one, _, _ in denied}
        ):
            yield Difference("allergy", here, against[0][0], against[0][1], clinical=True)
    for substance, here in mine.not_to.items():
        for one, place, number in all_to:
            if _same(substance, one) and not any(_same(substance, other) for other, _, _ in denied):
                yield Difference("allergy", here, place, number, clinical=True)
                break
    if mine.none is not None and all_to and none is None:
        yield Difference("allergy", mine.none, all_to[0][1], all_to[0][2], clinical=True)

