"""Answers of a physician to the samples, for a scripted judge, so that the suite can be tried without a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from touchstone.scorers.clinical.judging.verdicts import DIMENSIONS
from touchstone.scorers.judges.ask.message import blocks_of

#: Name in the persona → dimension → score, severity and text of its fault.
_FAULTS: Final[Mapping[str, Mapping[str, tuple[int, str, str]]]] = {
    "Omar Sample": {
        "lab_value_plausibility": (1, "critical", "No living patient has a heart rate of 350."),
        "narrative_coherence": (3, "major", "The values have no consequence in the record."),
    },
    "Rosa Sample": {"temporal_consistency": (2, "major", "A date that does not exist.")},
    "Lena Sample": {"narrative_coherence": (3, "major", "The record ends in the middle.")},
}


def careful_answer(user_message: str) -> Mapping[str, Any]:
    """The verdict on a sample. `user_message`: the user's part of the request. A record that is no sample has no fault."""
    persona = blocks_of(user_message)["persona"]
    faults = next((found for name, found in _FAULTS.items() if name in persona), {})
    return {name: _dimension(faults.get(name)) for name in DIMENSIONS}


def _dimension(fault: tuple[int, str, str] | None) -> dict[str, Any]:
    if fault is None:
        return {"rationale": "What is recorded fits together.", "findings": [], "score": 5}
    score, severity, what = fault
    return {"rationale": what, "findings": [{"severity": severity, "what": what, "where": "outputs.fhir"}], "score": score}
