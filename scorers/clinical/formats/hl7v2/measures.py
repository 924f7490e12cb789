"""Units and values of numeric observations, through the shared checks."""

from __future__ import annotations

from dataclasses import dataclass

from scorers.clinical.formats.hl7v2.lexer import Segment
from scorers.clinical.formats.hl7v2.notes import Notes


@dataclass(slots=True)
class Patient:
    """What the checks of values may know of the patient."""

    birth: str = ""
    sex: str = ""


def check_observation(segment: Segment, patient: Patient, notes: Notes) -> None:
    """Unit and value of one numeric observation."""


def check_pressures(segment: Segment, systolic: str, diastolic: str, notes: Notes) -> None:
    """Systolic against diastolic."""
