"""Invented patients with planted failures, to walk through error analysis and the checking of judges. See docs/walk.md."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical.invented.faults import KINDS, Kind
from touchstone.scorers.clinical.invented.fhir import bundle
from touchstone.scorers.clinical.invented.patients import Patient, invent
from touchstone.scorers.clinical.invented.table import table
from touchstone.scorers.identity import event_id

#: What the traces say made them, in turn.
MODELS: Final = ("small-1", "large-1")
#: Patients of one call.
COUNT_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Sample:
    """A trace as its file holds it, and the kind of failure that was planted in it."""

    trace: dict[str, Any]
    planted: str | None


def sample_traces(count: int, seed: int, mended: Collection[str] = ()) -> list[Sample]:
    """Invent patients. Of each kind of failure as many have one as its rate says, to the nearest whole; no patient has two.

    `mended`: kinds that this generator does not make any more; the patients are the same. Raises `ValueError` for a kind that there is not.
    """
    if unknown := set(mended) - {one.name for one in KINDS}:
        raise ValueError(f"no kind of failure is called {', '.join(sorted(unknown))}; there are {', '.join(one.name for one in KINDS)}")
    profiles = table().profile
    order = Random(f"{seed}/order")  # noqa: S311  # no secret is drawn
    mains = [one for _ in range(-(-count // len(profiles))) for one in order.sample(profiles, len(profiles))][:count]
    # A draw of its own for each patient and fault: a fault less changes no other patient.
    patients = [invent(number, Random(f"{seed}/{number}"), main) for number, main in enumerate(mains, 1)]  # noqa: S311
    planted = _planned(patients, seed)
    samples = []
    for number, patient in enumerate(patients, 1):
        kind = planted.get(number - 1)
        if kind is not None and kind.name not in mended:
            kind.plant(patient, Random(f"{seed}/{number}/{kind.name}"))  # noqa: S311
        named = kind.name if kind is not None and kind.name not in mended else None
        samples.append(Sample(_trace(patient, number, seed, bool(mended)), named))
    return samples


def _planned(patients: Sequence[Patient], seed: int) -> dict[int, Kind]:
    """Place of the patient → what is planted."""
    draw = Random(f"{seed}/plan")  # noqa: S311
    planned: dict[int, Kind] = {}
    for kind in KINDS:
        fitting = [place for place, patient in enumerate(patients) if place not in planned and kind.fits(patient)]
        for place in draw.sample(fitting, min(len(fitting), round(kind.rate * len(patients)))):
            planned[place] = kind
    return planned


def _trace(patient: Patient, number: int, seed: int, is_mended: bool) -> dict[str, Any]:
    case = f"sample-{seed}-{number:04}"
    trace_id = f"{case}-mended" if is_mended else case
    persona = patient.persona()
    record: dict[str, Any] = {
        "kind": "trace",
        "traceId": trace_id,
        "timestamp": f"{patient.day.isoformat()}T{9 + number % 8:02}:{number % 60:02}:00Z",
        "source": "eval",
        "correlation": {"model": MODELS[number % len(MODELS)]},
        "prompt": patient.prompt,
        "testCaseId": case,
        "persona": persona,
        "outputs": {"fhir": {"content": bundle(persona, trace_id)}},
        "timing": {"personaGeneration": 4200 + 37 * (number % 61), "total": 9100 + 53 * (number % 61)},
    }
    record["id"] = event_id(ProductionTrace, record)
    return record
