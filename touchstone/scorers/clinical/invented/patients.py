"""Personas of invented patients, as a good generator would write them: plausible, varied, and true to their prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random
from typing import Any, Final

from touchstone.scorers.clinical.invented.table import Lab, Profile, Stay, table

#: The day of the first trace; fixed, so that a seed always gives the same patients.
FIRST_DAY: Final = date(2026, 9, 1)
ADULT_YEARS: Final = 18
#: Age from which somebody works, and from which somebody is written as retired.
WORKING_YEARS: Final = 22
RETIRED_YEARS: Final = 67
YEAR_DAYS: Final = 365.2425
#: Shares of patients with a stay that is over, with a drug that was replaced by another, and with a past condition.
STAY_SHARE: Final = 0.24
SWITCH_SHARE: Final = 0.15
PAST_SHARE: Final = 0.12
#: Labs that anybody may have.
BASIC: Final = (
    Lab(name="White blood cell count", code="6690-2", unit="10*3/uL", low=4.6, high=9.4, digits=1),
    Lab(name="Alanine aminotransferase", code="1742-6", unit="U/L", low=12, high=38, digits=0),
)


@dataclass(slots=True)
class Patient:
    """One patient while it is made. `profiles`: what the patient has, the main one first. Dates of lists are ISO text."""

    day: date
    sex: str
    birth: date
    given: str
    family: str
    occupation: str
    history: str
    profiles: list[Profile]
    stay: Stay | None = None
    prompt: str = ""
    conditions: list[dict[str, Any]] = field(default_factory=list)
    medications: list[dict[str, Any]] = field(default_factory=list)
    labs: list[dict[str, Any]] = field(default_factory=list)
    encounters: list[dict[str, Any]] = field(default_factory=list)

    @property
    def age(self) -> int:
        """In whole years, at the time of the trace."""
        return self.day.year - self.birth.year - ((self.day.month, self.day.day) < (self.birth.month, self.birth.day))

    def persona(self) -> dict[str, Any]:
        """The persona of the trace."""
        return {
            "name": f"{self.given} {self.family}",
            "age": self.age,
            "sex": self.sex,
            "birthDate": self.birth.isoformat(),
            "occupation": self.occupation,
            "familyHistory": [self.history],
            "conditions": self.conditions,
            "medications": self.medications,
            "labs": self.labs,
            "encounters": self.encounters,
            "narrative": self.narrative(),
        }

    def narrative(self) -> str:
        """The patient in two or three sentences."""
        she = "She" if self.sex == "female" else "He"
        has = _listed([one.said for one in self.profiles])
        stay = (
            f" {she} was {self.stay.said.removeprefix('with ').format(month='the past year')}." if self.stay and not self.stay.said.startswith("with") else ""
        )
        return f"{self.given} {self.family} is {_one(f'{self.age}-year-old')} {self.occupation} with {has}.{stay} Family history: {self.history}."


def invent(number: int, draw: Random, main: Profile) -> Patient:
    """A plausible patient with this main condition. `number`: of the trace, from 1; it decides the day."""
    words = table().words
    sex: str = main.sex or draw.choice(("female", "male"))
    age = draw.randint(*main.ages)
    day = FIRST_DAY + timedelta(days=(number - 1) // 10)
    # At least a day after the birthday, so that no age depends on the hour.
    birth = day - timedelta(days=round(age * YEAR_DAYS) + draw.randint(2, 360))
    job = draw.choice(words["work"])
    occupation = f"retired {job}" if age >= RETIRED_YEARS else job if age >= WORKING_YEARS else _at_school(age)
    patient = Patient(
        day=day,
        sex=sex,
        birth=birth,
        given=draw.choice(words[sex]),
        family=draw.choice(words["family"]),
        occupation=occupation,
        history=draw.choice(words["family_history"]),
        profiles=_profiles(main, age, sex, draw),
    )
    _fill(patient, draw)
    fitting = [one for one in table().stay if one.ages[0] <= patient.age <= one.ages[1]]
    if fitting and main.id not in ("pregnancy", "ear") and draw.random() < STAY_SHARE:
        _add_stay(patient, draw.choice(fitting), draw)
    patient.prompt = _prompt(patient, draw)
    return patient


def _at_school(age: int) -> str:
    return "student" if age >= ADULT_YEARS else "schoolchild" if age >= 6 else "preschooler"


def _profiles(main: Profile, age: int, sex: str, draw: Random) -> list[Profile]:
    """The main condition and up to two that go with it."""
    by_id = {one.id: one for one in table().profile}
    others = [by_id[name] for name in main.goes_with]
    fitting = [one for one in others if one.ages[0] <= age <= one.ages[1] and one.sex in (None, sex)]
    return [main, *draw.sample(fitting, min(len(fitting), draw.choice((0, 0, 1, 1, 2))))]


def _fill(patient: Patient, draw: Random) -> None:
    """Conditions with their onset, their drugs after it, their labs of late, and visits for them."""
    classes: set[str] = set()
    for profile in patient.profiles:
        onset = _onset(patient, profile, draw)
        patient.conditions.append({"name": profile.name, "icd10": profile.code, "onsetDate": onset.isoformat(), "status": "active"})
        for choices in profile.drugs:
            name, dose, frequency, of_class = draw.choice(choices).split("|")
            if of_class in classes:
                continue
            classes.add(of_class)
            start = min(onset + timedelta(days=draw.choice((0, 0, 3, 14, 60))), patient.day)
            patient.medications.append({"name": name, "dose": dose, "frequency": frequency, "startDate": start.isoformat(), "status": "active"})
        for lab in profile.labs:
            add_lab(patient, lab, draw)
        recent = patient.day - timedelta(days=draw.randint(1, 25 if onset.year == patient.day.year else 120))
        patient.encounters.append({"type": "Office visit", "reason": draw.choice(profile.visits), "date": max(recent, onset).isoformat()})
    for lab in draw.sample(BASIC, draw.choice((0, 1, 2)) if patient.labs else 2):
        add_lab(patient, lab, draw)
    if draw.random() < SWITCH_SHARE:
        _add_switch(patient, draw)
    if patient.age >= ADULT_YEARS and draw.random() < PAST_SHARE:
        past = patient.day - timedelta(days=draw.randint(900, 2400))
        patient.conditions.append({"name": "Acute bronchitis", "icd10": "J20.9", "onsetDate": past.isoformat(), "status": "resolved"})


def _onset(patient: Patient, profile: Profile, draw: Random) -> date:
    low, high = profile.years
    if high == 0:
        return patient.day - timedelta(days=draw.randint(2, 5) if profile.id == "ear" else draw.randint(70, 110))
    # Nobody has it from birth on.
    years = min(draw.randint(low, high), max(1, patient.age - 3))
    return patient.day - timedelta(days=round(years * YEAR_DAYS) - draw.randint(1, 300))


def add_lab(patient: Patient, lab: Lab, draw: Random) -> None:
    """A value within the lab's range, unless the patient has that lab already."""
    if any(one["loinc"] == lab.code for one in patient.labs):
        return
    value = round(draw.uniform(lab.low, lab.high), lab.digits)
    taken = patient.day - timedelta(days=draw.randint(1, 60))
    number = int(value) if lab.digits == 0 else value
    patient.labs.append({"name": lab.name, "loinc": lab.code, "value": number, "unit": lab.unit, "date": taken.isoformat()})


def _add_switch(patient: Patient, draw: Random) -> None:
    """An earlier drug of a class that the patient took until the present one."""
    earlier = {"Losartan": "Enalapril", "Rosuvastatin": "Simvastatin", "Escitalopram": "Citalopram", "Pantoprazole": "Lansoprazole"}
    for one in patient.medications:
        if one["name"] in earlier:
            began = date.fromisoformat(one["startDate"])
            changed = began + (patient.day - began) // 2
            one["startDate"] = changed.isoformat()
            dose = {"Enalapril": "10 mg"}.get(earlier[one["name"]], "20 mg")
            patient.medications.append({
                "name": earlier[one["name"]], "dose": dose, "frequency": "once daily",
                "startDate": began.isoformat(), "endDate": changed.isoformat(), "status": draw.choice(("stopped", "completed")),
            })  # fmt: skip
            return


def _add_stay(patient: Patient, stay: Stay, draw: Random) -> None:
    """A stay in the year before the trace, with its encounter and its resolved condition."""
    begin = patient.day - timedelta(days=draw.randint(45, 330))
    end = begin + timedelta(days=draw.randint(*stay.days))
    patient.stay = stay
    patient.conditions.append(
        {"name": stay.name, "icd10": stay.code, "onsetDate": begin.isoformat(), "endDate": (end + timedelta(days=14)).isoformat(), "status": "resolved"}
    )
    patient.encounters.insert(0, {"type": stay.type, "reason": stay.name, "date": begin.isoformat(), "endDate": end.isoformat()})


def _prompt(patient: Patient, draw: Random) -> str:
    who = {"female": "woman", "male": "man"} if patient.age >= ADULT_YEARS else {"female": "girl", "male": "boy"}
    has = _listed([one.said for one in patient.profiles])
    stay = ""
    if patient.stay is not None:
        month = table().words["months"][date.fromisoformat(patient.encounters[0]["date"]).month - 1]
        said = patient.stay.said.format(month=month)
        stay = f", {said}"
    elif draw.random() < 0.08:
        stay = ", never hospitalized"
    person, work = f"{patient.age}-year-old {who[patient.sex]}", _one(patient.occupation)
    forms = (
        f"Create {_one(person)}, {work}, with {has}{stay}. Family: {patient.history}.",
        f"{work.capitalize()}, {patient.age} years old, {patient.sex}, with {has}{stay}; {patient.history}.",
        f"Generate a patient: {person} with {has}{stay}. Occupation: {patient.occupation}. Family history: {patient.history}.",
    )
    return draw.choice(forms)


def _one(noun: str) -> str:
    """The noun with its article, as it is spoken: an 18-year-old, an electrician."""
    return f"{'an' if re.match(r'[aeio]|8|11|18', noun) else 'a'} {noun}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
