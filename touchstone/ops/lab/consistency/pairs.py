"""Pairs of documents of one patient: an HL7 v2 or C-CDA file, and the FHIR Bundle that was made of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.consistency import Given, check_consistency
from touchstone.scorers.clinical.curated import SAMPLE_OUTPUTS
from touchstone.scorers.clinical.report import Context, Report

EXPECTED: Final = "crossformat/microsoft-expected"
SUFFIX: Final = "-expected.json"
#: Folder of the expected Bundles → format and place of their sources.
SOURCES: Final[dict[str, tuple[ClinicalFormat, str]]] = {"Hl7v2": ("hl7v2", "hl7v2/microsoft/{}.hl7"), "Ccda": ("ccda", "ccda/microsoft/{}.ccda")}
#: What halves the pairs: with it, every pair that was looked at before the check was written falls into the first half.
_SALT: Final = "9803"

Half = Literal["samples", "developed on", "held back"]
#: File of a sample patient → its format.
_SAMPLES: Final[dict[str, ClinicalFormat]] = {"hl7v2.txt": "hl7v2", "ccda.xml": "ccda"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two documents of one patient. `form`: the format of `other`."""

    name: str
    half: Half
    fhir: bytes
    form: ClinicalFormat
    other: bytes

    def checked(self, *, fhir: bytes | None = None, other: bytes | None = None) -> Report:
        """The report on the pair, with one side replaced."""
        given = [
            Given("outputs.fhir", "fhir", self.fhir if fhir is None else fhir),
            Given(f"outputs.{self.form}", self.form, self.other if other is None else other),
        ]
        return check_consistency(given, None, Context())


def half_of(name: str) -> Half:
    """The half that a pair belongs to, by a hash of its name."""
    return "held back" if sha256(f"{_SALT}:{name}".encode()).digest()[0] % 2 else "developed on"


def sample_pairs() -> list[Pair]:
    """The sample patients that come with the suite, each format beside their Bundle; those whose Bundle cannot be read are left out."""
    found = []
    for bundle in sorted(SAMPLE_OUTPUTS.glob("*/fhir.json")):
        try:
            json.loads(bundle.read_bytes())
        except ValueError:
            continue
        for name, form in _SAMPLES.items():
            if (other := bundle.with_name(name)).is_file():
                found.append(Pair(f"{bundle.parent.name} ({form})", "samples", bundle.read_bytes(), form, other.read_bytes()))
    return found


def pairs_of(data: Path) -> list[Pair]:
    """The pairs below a folder. Raises `ConfigError` where there is none."""
    if not data.is_dir():
        raise ConfigError(f"{data}: no such folder; --data wants one with {EXPECTED}/ in it")
    found = []
    for path in sorted((data / EXPECTED).glob(f"*/*/*{SUFFIX}")):
        name = path.name.removesuffix(SUFFIX)
        form, place = SOURCES.get(path.parts[-3], (None, ""))
        source = data / place.format(name)
        if form is not None and source.is_file():
            found.append(Pair(name, half_of(name), path.read_bytes(), form, source.read_bytes()))
    if not found:
        raise ConfigError(f"{data}: holds no pairs; it needs {EXPECTED}/{{{','.join(SOURCES)}}}/…{SUFFIX}, and the files they were made of")
    return found
