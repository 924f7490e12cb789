"""Ten failure modes of a generated persona, each one question with pass or fail and a critique.

The questions are those of the specification (Clinical Coherence Evaluation Methodology, steps 3 to 5). A mode answers None where it cannot be asked: the
persona has no such list, or no age. An unknown drug, condition or unit never fails a persona.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from touchstone.scorers.clinical.failure_modes.entries import Entry, Persona
from touchstone.scorers.clinical.failure_modes.knowledge import Direction, Drug, Knowledge
from touchstone.scorers.clinical.failure_modes.questions import QUESTIONS
from touchstone.scorers.clinical.failure_modes.stays import STAY_TYPE, is_stay_stated

LATEST_PREGNANCY_YEARS: Final = 55
ADULT_YEARS: Final = 18
#: A drug may be written down this much before the diagnosis that it is for.
TOLERANCE_DAYS: Final = 31


@dataclass(frozen=True, slots=True)
class Seen:
    """One place where a mode shows. `critique`: what is wrong; `detail`: what tells of the patient's conditions or drugs, only for results that may quote."""

    path: str
    critique: str
    detail: str = ""


#: What a mode found, nothing if the persona passes; a text if it cannot be asked: why.
Answer = tuple[Seen, ...] | str


@dataclass(frozen=True, slots=True)
class Mode:
    """One failure mode. `question`: answered with pass (no) or fail (yes)."""

    name: str
    question: str
    ask: Callable[[Persona, Knowledge], Answer]


def missing_key_lab(persona: Persona, known: Knowledge) -> Answer:
    """A condition without a lab that it is followed by."""
    conditions, labs = persona.lists["conditions"], persona.lists["labs"]
    if conditions is None or labs is None:
        return "the persona has no list of conditions, or none of labs"

    def seen() -> Iterator[Seen]:
        for entry in conditions:
            if entry.is_over:
                continue
            for name, needed in known.key_labs.items():
                if entry.names(known.conditions[name]) and not any(lab.names(known.labs[one]) for lab in labs for one in needed):
                    yield Seen(entry.path, "no lab follows this condition", f"expected {' or '.join(known.labs[one].name for one in needed)}")

    return _once(seen())


def drug_without_indication(persona: Persona, known: Knowledge) -> Answer:
    """A drug with few uses, and none of them among conditions, prompt or other text."""
    conditions, medications = persona.lists["conditions"], persona.lists["medications"]
    if conditions is None or medications is None:
        return "the persona has no list of conditions, or none of medications"

    def seen() -> Iterator[Seen]:
        for entry, drug in _drugs(medications, known):
            if drug.others or entry.is_over or entry.cells.get("For"):
                continue
            uses = [known.conditions[name] for name in drug.for_]
            if not any(one.names(use) for one in conditions for use in uses) and not any(use.in_text(persona.mentions) for use in uses):
                yield Seen(entry.path, "nothing in the persona explains this drug", f"expected {' or '.join(use.name for use in uses)}")

    return _once(seen())


def drug_before_onset(persona: Persona, known: Knowledge) -> Answer:
    """A drug that begins before every condition that it can be for."""
    conditions, medications = persona.lists["conditions"], persona.lists["medications"]
    if conditions is None or medications is None:
        return "the persona has no list of conditions, or none of medications"

    def seen() -> Iterator[Seen]:
        for entry, drug in _drugs(medications, known):
            reasons = [one for one in conditions if any(one.names(known.conditions[name]) for name in drug.for_)]
            if entry.begin is None or not reasons or any(one.begin is None for one in reasons):
                continue
            if all(_is_before(entry.begin, one.begin) for one in reasons if one.begin is not None):
                yield Seen(entry.path, "the drug begins before the onset of the condition that it is for")

    return _once(seen())


def age_impossible(persona: Persona, known: Knowledge) -> Answer:
    """A condition that nobody of this age has."""
    conditions, age = persona.lists["conditions"], persona.age
    if conditions is None or age is None:
        return "the persona has no list of conditions, or no age"
    return _once(
        Seen(entry.path, "no patient of this age has this condition")
        for entry in conditions
        for span in known.ages
        if not entry.is_over and entry.names(span.term) and not span.youngest <= age <= span.oldest
    )


def sex_impossible(persona: Persona, known: Knowledge) -> Answer:
    """A condition of organs that the other sex has. Personas that say that sex and gender differ are not asked."""
    conditions, sex = persona.lists["conditions"], persona.sex
    if conditions is None or sex not in ("male", "female"):
        return "the persona has no list of conditions, or no sex that tells of its organs"
    other = known.sexes["male" if sex == "female" else "female"]
    return _once(Seen(entry.path, "no patient of this sex has this condition") for entry in conditions if entry.names(other))


def missing_encounter(persona: Persona, known: Knowledge) -> Answer:  # noqa: ARG001  # modes have one signature
    """A prompt that speaks of a hospital stay or an emergency visit, and no such encounter."""
    encounters = persona.lists["encounters"]
    if encounters is None:
        return "the persona has no list of encounters"
    if not is_stay_stated(persona.prompt):
        return ()
    if any(STAY_TYPE.search(entry.words) for entry in encounters):
        return ()
    return (Seen("encounters", "the prompt speaks of a hospital stay or an emergency visit, and no encounter is one"),)


def duplicate_therapy(persona: Persona, known: Knowledge) -> Answer:
    """Two drugs of a class of which a patient takes one, at the same time."""
    medications = persona.lists["medications"]
    if medications is None:
        return "the persona has no list of medications"
    taken = [entry for entry in medications if not entry.is_over and not _LOCAL.search(entry.words)]

    def seen() -> Iterator[Seen]:
        for name, ingredients in known.classes.items():
            members = [(entry, one) for entry in taken for one in ingredients if entry.has_drug(known.spellings((one,)))]
            for (first, drug), (second, other) in combinations(members, 2):
                if drug != other and first.path != second.path and not _one_after_another(first, second):
                    yield Seen(second.path, f"a second drug of the class of {first.path}", name.replace("_", " "))

    return _once(seen())


def lab_against_condition(persona: Persona, known: Knowledge) -> Answer:
    """A lab that points the other way than an untreated condition."""
    conditions, labs = persona.lists["conditions"], persona.lists["labs"]
    if conditions is None or labs is None:
        return "the persona has no list of conditions, or none of labs"
    medications = [entry for entry in persona.lists["medications"] or () if not entry.is_over]

    def seen() -> Iterator[Seen]:
        for entry in conditions:
            for rule in known.directions:
                if entry.is_over or not entry.names(known.conditions[rule.condition]) or not _applies(rule, entry, persona.sex):
                    continue
                if rule.treated and any(one.has_drug(known.spellings(rule.treated)) for one in medications):
                    continue
                latest = _latest([lab for lab in labs if lab.names(known.labs[rule.lab])])
                if latest is not None and _is_beyond(latest, rule):
                    yield Seen(latest.path, f"this value points away from the condition at {entry.path}")

    return _once(seen())


def late_pregnancy(persona: Persona, known: Knowledge) -> Answer:
    """A current pregnancy after the age of 55."""
    conditions, age = persona.lists["conditions"], persona.age
    if conditions is None or age is None:
        return "the persona has no list of conditions, or no age"
    if age <= LATEST_PREGNANCY_YEARS:
        return ()
    return _once(
        Seen(entry.path, f"a pregnancy after the age of {LATEST_PREGNANCY_YEARS}") for entry in conditions if not entry.is_over and entry.names(known.pregnancy)
    )


def paediatric_dose(persona: Persona, known: Knowledge) -> Answer:
    """An adult with a dose for a child."""
    medications, age = persona.lists["medications"], persona.age
    if medications is None or age is None:
        return "the persona has no list of medications, or no age"
    if age < ADULT_YEARS:
        return ()

    def seen() -> Iterator[Seen]:
        for entry in medications:
            said = f"{entry.text} {entry.cells.get('Dose', '').casefold()} {entry.cells.get('Frequency', '').casefold()}"
            if entry.is_over or _SEVERAL.search(said) or _LOCAL.search(said):
                continue
            doses = [float(found[1]) * (1000 if found[2] == "g" else 1) for found in _MILLIGRAMS.finditer(said)]
            for name, least in known.adult_doses.items():
                if doses and entry.has_drug(known.spellings((name,))) and max(doses) < least:
                    yield Seen(entry.path, "a dose for a child", f"an adult takes at least {least:g} mg")

    return _once(seen())


_LOCAL: Final = re.compile(r"\b(ophthalmic|eye|otic|ear drops?|topical|gel|cream|ointment|patch|nasal|inhal\w+|lozenge)\b")
#: More than one ingredient or unit of a dose: its total is not known.
_SEVERAL: Final = re.compile(
    r"\d\s*/\s*\d+(?:\.\d+)?\s*mg|\d\s*-\s*\d+\s*mg|(?<![/\d])\b[2-9]\s*(?:x\b|tab|cap|tablets|capsules|puffs|ml\b)|\btwo\b|\bper kg\b|/kg"
    r"|[a-z]{4,}[-/][a-z]{4,}"
)
_MILLIGRAMS: Final = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)\s*(mg|g)\b")
_NUMBER: Final = re.compile(r"\s*(\d{1,6}(?:\.\d{1,4})?)\s*")


def _drugs(medications: tuple[Entry, ...], known: Knowledge) -> Iterator[tuple[Entry, Drug]]:
    return ((entry, drug) for entry in medications for drug in known.drugs if entry.has_drug(known.spellings(drug.names)))


def _applies(rule: Direction, entry: Entry, sex: str | None) -> bool:
    if rule.sex is not None and rule.sex != sex:
        return False
    return not rule.says or any(word in f"{entry.words} {' '.join(entry.codes).casefold()}" for word in rule.says)


def _latest(labs: list[Entry]) -> Entry | None:
    """The newest value; the only one where there are no dates, and None where several cannot be put in order."""
    if len(labs) <= 1:
        return labs[0] if labs else None
    if any(lab.begin is None for lab in labs):
        return None
    return max(labs, key=lambda lab: lab.begin or "")


def _is_beyond(lab: Entry, rule: Direction) -> bool:
    value, unit = _NUMBER.fullmatch(lab.cells.get("Value", "")), lab.cells.get("Unit", "").casefold().strip()
    if value is None or unit not in rule.units:
        return False
    number = float(value[1]) * rule.units[unit]
    return (rule.below is not None and number < rule.below) or (rule.above is not None and number > rule.above)


def _one_after_another(first: Entry, second: Entry) -> bool:
    return any(one.end is not None and other.begin is not None and one.end <= other.begin for one, other in ((first, second), (second, first)))


def _is_before(begin: str, onset: str) -> bool:
    """True if a date is earlier than another by more than the tolerance, as far as both are precise."""
    precision = min(len(begin[:10]), len(onset[:10]))
    if precision < 10:
        return begin[:precision] < onset[:precision] and (precision < 7 or _months(onset) - _months(begin) > 1)
    return _days(onset) - _days(begin) > TOLERANCE_DAYS


def _months(date: str) -> int:
    return int(date[:4]) * 12 + int(date[5:7])


def _days(date: str) -> float:
    return _months(date) * 30.44 + int(date[8:10])


def _once(found: Iterator[Seen]) -> tuple[Seen, ...]:
    """One for each place."""
    by_path: dict[str, Seen] = {}
    for seen in found:
        by_path.setdefault(seen.path, seen)
    return tuple(by_path.values())


_ASKED: Final[tuple[Callable[[Persona, Knowledge], Answer], ...]] = (
    missing_key_lab,
    drug_without_indication,
    drug_before_onset,
    age_impossible,
    sex_impossible,
    missing_encounter,
    duplicate_therapy,
    lab_against_condition,
    late_pregnancy,
    paediatric_dose,
)
#: By name, in the order of the questions.
MODES: Final[Mapping[str, Mode]] = {ask.__name__: Mode(ask.__name__, QUESTIONS[ask.__name__], ask) for ask in _ASKED}
