"""Failures that are planted in invented patients, each a kind that people can name, at a known rate.

Five of them code can find; two show only to somebody who reads prompt and persona together, and one is a fault of the generator's instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Final, Literal

from touchstone.scorers.clinical.invented.patients import ADULT_YEARS, BASIC, Patient, add_lab
from touchstone.scorers.clinical.invented.table import table

#: Profile → words of the names of labs that follow it.
_KEY_LABS: Final[Mapping[str, tuple[str, ...]]] = {
    "type2": ("a1c",),
    "type1": ("a1c",),
    "thyroid": ("tsh", "t4"),
    "lipids": ("cholesterol",),
    "ckd": ("creatinine", "egfr"),
    "anemia": ("hemoglobin", "ferritin"),
}
#: A drug that a patient takes → another of its class.
_SECOND: Final[Mapping[str, tuple[str, str]]] = {
    "Lisinopril": ("Losartan", "50 mg"),
    "Losartan": ("Lisinopril", "10 mg"),
    "Atorvastatin": ("Simvastatin", "20 mg"),
    "Rosuvastatin": ("Pravastatin", "40 mg"),
    "Sertraline": ("Fluoxetine", "20 mg"),
    "Escitalopram": ("Paroxetine", "20 mg"),
    "Omeprazole": ("Pantoprazole", "40 mg"),
    "Pantoprazole": ("Esomeprazole", "20 mg"),
}
#: Drugs with few uses, and the profiles that explain them.
_FOREIGN: Final = (
    ("Levothyroxine", "88 mcg", ("thyroid",)),
    ("Metformin", "500 mg", ("type2", "type1")),
    ("Donepezil", "10 mg", ("parkinson",)),
    ("Allopurinol", "100 mg", ("gout",)),
    ("Warfarin", "5 mg", ("fibrillation", "heart")),
)
#: Reasons of a visit that say of what it was, and the profiles that explain them.
_REASONS: Final = (
    ("Seizure follow-up after a change of antiseizure drug", ("epilepsy",)),
    ("COPD exacerbation follow-up", ("copd", "asthma")),
    ("Gout flare of the left big toe", ("gout",)),
    ("Postoperative check after hip replacement", ("arthritis",)),
    ("Cataract surgery consultation", ()),
    ("Chemotherapy session", ()),
    ("Dialysis session", ("ckd",)),
)
#: Profiles whose drugs code knows, so that one before its onset can be found.
_DATED: Final = ("type2", "type1", "thyroid", "gout", "fibrillation", "copd", "parkinson", "lipids")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of failure. `rate`: the share of traces that have it; `plant`: puts it into a patient that `fits`. `found_by`: who can find it."""

    name: str
    rate: float
    fits: Callable[[Patient], bool]
    plant: Callable[[Patient, Random], None]
    found_by: Literal["code", "reading"] = "code"
    failure_of: Literal["generalization", "specification"] = "generalization"


def _lab_profile(patient: Patient) -> str | None:
    return next((one.id for one in patient.profiles if one.id in _KEY_LABS), None)


def _drop_lab(patient: Patient, draw: Random) -> None:
    words = _KEY_LABS[_lab_profile(patient) or ""]
    patient.labs[:] = [one for one in patient.labs if not any(word in str(one["name"]).casefold() for word in words)]
    for lab in BASIC:
        add_lab(patient, lab, draw)


def _start_early(patient: Patient, draw: Random) -> None:
    """The drug of the first such condition begins before any condition does, because a drug may be for several."""
    first = min(date.fromisoformat(one["onsetDate"]) for one in patient.conditions)
    names = {line.split("|")[0] for one in patient.profiles if one.id in _DATED for line in one.drugs[0]}
    drug = next(one for one in patient.medications if one["name"] in names and "endDate" not in one)
    drug["startDate"] = max(first - timedelta(days=draw.randint(120, 900)), patient.birth + timedelta(days=400)).isoformat()


def _add_second(patient: Patient, draw: Random) -> None:
    drug = next(one for one in patient.medications if one["name"] in _SECOND and one["status"] == "active")
    name, dose = _SECOND[drug["name"]]
    start = patient.day - timedelta(days=draw.randint(20, 200))
    patient.medications[:] = [one for one in patient.medications if "endDate" not in one]
    patient.medications.append({"name": name, "dose": dose, "frequency": "once daily", "startDate": start.isoformat(), "status": "active"})


def _foreign(patient: Patient) -> list[tuple[str, str]]:
    own = {one.id for one in patient.profiles}
    return [(name, dose) for name, dose, uses in _FOREIGN if not own & set(uses)]


def _add_foreign(patient: Patient, draw: Random) -> None:
    name, dose = draw.choice(_foreign(patient))
    start = patient.day - timedelta(days=draw.randint(40, 400))
    patient.medications.append({"name": name, "dose": dose, "frequency": "once daily", "startDate": start.isoformat(), "status": "active"})


def _drop_stay(patient: Patient, draw: Random) -> None:  # noqa: ARG001  # planting has one signature
    """The stay stays in the prompt; its encounter and its condition are forgotten."""
    assert patient.stay is not None
    patient.encounters[:] = [one for one in patient.encounters if one["type"] != patient.stay.type]
    patient.conditions[:] = [one for one in patient.conditions if one["name"] != patient.stay.name]


def _change_work(patient: Patient, draw: Random) -> None:
    own = patient.occupation.removeprefix("retired ")
    other = draw.choice([one for one in table().words["work"] if one != own])
    patient.occupation = f"retired {other}" if patient.occupation.startswith("retired ") else other


def _change_reason(patient: Patient, draw: Random) -> None:
    own = {one.id for one in patient.profiles}
    visits = [one for one in patient.encounters if one["type"] == "Office visit"]
    visits[-1]["reason"] = draw.choice([reason for reason, explained in _REASONS if not own & set(explained)])


def _drop_name(patient: Patient, draw: Random) -> None:
    word = draw.choice(table().words["placeholder"][:-1] if patient.sex == "female" else table().words["placeholder"][1:])
    patient.given, _, patient.family = word.partition(" ")


def _is_adult(patient: Patient) -> bool:
    return patient.age >= ADULT_YEARS


def _has_dated_drug(patient: Patient) -> bool:
    return any(one.id in _DATED for one in patient.profiles) and _is_adult(patient)


def _has_class(patient: Patient) -> bool:
    return any(one["name"] in _SECOND and one["status"] == "active" for one in patient.medications)


#: In the order in which they are planted: those that fit few patients first.
KINDS: Final[tuple[Kind, ...]] = (
    Kind("missing_encounter", 0.07, lambda patient: patient.stay is not None, _drop_stay),
    Kind("duplicate_therapy", 0.05, _has_class, _add_second),
    Kind("missing_key_lab", 0.12, lambda patient: _lab_profile(patient) is not None, _drop_lab),
    Kind("drug_before_onset", 0.06, _has_dated_drug, _start_early),
    Kind("drug_without_indication", 0.05, lambda patient: _is_adult(patient) and bool(_foreign(patient)), _add_foreign),
    Kind("occupation_contradicts_prompt", 0.10, _is_adult, _change_work, "reading"),
    Kind("visit_for_something_else", 0.08, _is_adult, _change_reason, "reading"),
    Kind("placeholder_name", 0.05, lambda patient: True, _drop_name, "reading", "specification"),  # noqa: ARG005
)
