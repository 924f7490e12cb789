"""Allergies: to another substance, or none where there is one."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from touchstone.scorers.summary.conflicts.difference import Difference
from touchstone.scorers.summary.conflicts.wording.clauses import ParsedText
from touchstone.scorers.summary.conflicts.wording.drugs import drug
from touchstone.scorers.summary.word_lists import listed, word_lists

_LISTS = word_lists(__file__, "words")

_NO_NAME = r"(?!(?:which|that|who|but|causing|with|she|he|caused|has|had|is|was|and|or|not|takes)\b)"
_SUBSTANCE = rf"{_NO_NAME}[a-z][a-z/-]{{2,}}(?: (?!since\b){_NO_NAME}[a-z][a-z/-]{{2,}})?"
_LIST = rf"{_SUBSTANCE}(?:(?:, and |, or |, | and | or ){_SUBSTANCE}){{0,8}}"
_NONE_KNOWN = re.compile(
    r"\b(?:nkda|nka|nkfa|(?:no|without|denies|denied|denying)(?: any| having any)?(?: known| documented| reported| history of){0,4}"
    r"(?: drug| medication| medicine| food| environmental)? allerg(?:y|ies)|not (?:known to be )?allergic to any\w*"
    r"|allerg(?:y|ies)(?:: ?| ?[\u2013\u2014] ?| - )(?:none|nil|no known|nkda|denied))\b"
)
_TO = re.compile(
    r"\b(?P<not>not |no (?:known )?|never |denie[sd] (?:any |an )?|without (?:an |any )?)?(?:known )?"
    rf"(?:allergic (?:reaction )?to|allerg(?:y|ies) to|anaphylaxis to|anaphylactic to) (?:the )?(?P<what>{_LIST})"
)
_TOLERATED = re.compile(
    rf"\b(?:tolerates?|tolerated|can (?:safely )?(?:take|have|be given|receive)|may (?:safely )?(?:take|have|be given)) (?P<what>{_LIST})"
    rf"|\b(?P<before>{_SUBSTANCE}) (?:is|was) (?:safe|(?:well )?tolerated)\b"
)
_OF = re.compile(rf"\b(?P<not>no (?:known )?|denie[sd] (?:any |an )?|without an? )?(?P<what>{_SUBSTANCE}) allerg(?:y|ies)\b")
_LISTED = re.compile(rf"\ballerg(?:y|ies): ?(?P<what>{_LIST})")
_NO_SUBSTANCE = _LISTS["no_substance"]
#: Names for the same, or for the group that a patient with the allergy avoids as well.
_GROUPS = (
    listed("penicillin penicillins amoxicillin ampicillin augmentin pcn piperacillin"),
    listed("sulfa sulpha sulfonamide sulfonamides sulfamethoxazole bactrim trimethoprim"),
    listed("shellfish shrimp prawn prawns crab lobster seafood"),
    listed("peanut peanuts nut nuts"),
    listed("nsaid nsaids ibuprofen naproxen aspirin diclofenac"),
    listed("contrast iodine iodinated dye"),
    listed("bee bees wasp wasps hymenoptera"),
    listed("egg eggs"),
    listed("milk dairy lactose"),
    listed("opioid opioids morphine codeine oxycodone hydrocodone"),
    listed("cephalosporin cephalosporins cefazolin ceftriaxone cephalexin cefuroxime"),
)


class Allergies(NamedTuple):
    """What a text says of allergies. `to`: substance → its place; `none`: the place where it says that there are none."""

    to: dict[str, tuple[int, int]]
    not_to: dict[str, tuple[int, int]]
    none: tuple[int, int] | None


def _allergies(reading: ParsedText) -> Allergies:
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
        named = [word for word in re.finditer(r"[a-z-]+", item.group()) if word.group() not in _NO_SUBSTANCE and not word.group().startswith("allerg")]
        if named:
            word = next((one for one in named if drug(one.group())), named[0])
            yield drug(word.group()) or word.group(), (start + item.start() + word.start(), start + item.start() + word.end())


def _tolerated(reading: ParsedText) -> dict[str, tuple[int, int]]:
    """Substances that a text says are tolerated or safe, with their places."""
    text = reading.text[:1_200].lower()
    if len(text) != len(reading.text[:1_200]) or ("toler" not in text and "can " not in text and "may " not in text and "safe" not in text):
        return {}
    found: dict[str, tuple[int, int]] = {}
    for match in _TOLERATED.finditer(text):
        if not re.search(r"(?:not|n't|never|cannot|no longer|poorly|if|whether)(?: \w+)? $", text[max(0, match.start() - 24) : match.start()]):
            group = "what" if match.group("what") else "before"
            found.update(_substances(match.group(group), match.start(group)))
    return found


def _same(one: str, other: str) -> bool:
    return one == other or one.rstrip("s") == other.rstrip("s") or one[:6] == other[:6] or any(one in group and other in group for group in _GROUPS)


class _Stated(NamedTuple):
    """What the units say of allergies, each substance with its place and its unit's number. `none`: where one says that there are none."""

    to: list[tuple[str, tuple[int, int], int]]
    not_to: list[tuple[str, tuple[int, int], int]]
    none: tuple[tuple[int, int], int] | None


def find(sentence: ParsedText, units: Sequence[ParsedText]) -> Iterator[Difference]:
    """An allergy that the units do not know, or deny; none where they know one."""
    mine, tolerated = _allergies(sentence), _tolerated(sentence)
    if not mine.to and not mine.not_to and mine.none is None and not tolerated:
        return
    theirs = [_allergies(unit) for unit in units]
    stated = _Stated(
        [(substance, place, number) for number, one in enumerate(theirs) for substance, place in one.to.items()],
        [(substance, place, number) for number, one in enumerate(theirs) for substance, place in one.not_to.items()],
        next(((one.none, number) for number, one in enumerate(theirs) if one.none is not None), None),
    )
    yield from _unknown(mine.to, stated, units)
    yield from _tolerated_in_spite(tolerated, mine, stated, units)
    yield from _denied(mine.not_to, stated)
    if mine.none is not None and stated.to and stated.none is None:
        yield _difference(mine.none, stated.to[0][1:])


def _difference(here: tuple[int, int], there: tuple[tuple[int, int], int]) -> Difference:
    """`there`: a place and the number of its unit."""
    return Difference("allergy", here, *there, clinical=True)


def _unknown(to: Mapping[str, tuple[int, int]], stated: _Stated, units: Sequence[ParsedText]) -> Iterator[Difference]:
    """Allergies of the sentence that the units deny, or do not name among theirs."""
    for substance, here in to.items():
        if any(_same(substance, one) for one, _, _ in stated.to):
            continue
        refuted = [(place, number) for one, place, number in stated.not_to if _same(substance, one)]
        if not refuted and any(word.fold[:6] == substance[:6] for unit in units for word in unit.words):
            continue  # a unit speaks of it in words that are not read here
        against = refuted or ([stated.none] if stated.none else []) or [(place, number) for _, place, number in stated.to]
        if against:
            yield _difference(here, against[0])


def _tolerated_in_spite(tolerated: Mapping[str, tuple[int, int]], mine: Allergies, stated: _Stated, units: Sequence[ParsedText]) -> Iterator[Difference]:
    """Substances that the sentence calls tolerated though a unit states an allergy to that very substance: of a group, some may be tolerated."""
    borne = {one for unit in units for one in _tolerated(unit)} if tolerated else set()
    for substance, here in tolerated.items():
        allergy = next(((place, number) for one, place, number in stated.to if one == substance), None)
        if allergy is not None and substance not in borne and substance not in mine.to:
            yield _difference(here, allergy)


def _denied(not_to: Mapping[str, tuple[int, int]], stated: _Stated) -> Iterator[Difference]:
    """Allergies that the sentence denies, a unit states, and none denies."""
    for substance, here in not_to.items():
        for one, place, number in stated.to:
            if _same(substance, one) and not any(_same(substance, other) for other, _, _ in stated.not_to):
                yield _difference(here, (place, number))
                break
