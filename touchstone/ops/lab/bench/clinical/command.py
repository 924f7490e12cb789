"""HL7 v2, FHIR and C-CDA validation over their baselines, the suite over its validators, and memory on a 50 MB Bundle.

Workloads are built in: generated messages, and Bundles generated from the sample traces' resources; --data DIR (a folder with `hl7v2/` and
`fhir/synthea/`) measures real documents instead. Ratios of CPU time, the contenders in turn in one process; memory in a process of its own.
"""

from __future__ import annotations

import copy
import json
import random
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from touchstone.ops.lab.bench.clinical import fhir, hl7v2, schematron
from touchstone.ops.lab.bench.output import table
from touchstone.ops.lab.bench.processes import run_apart
from touchstone.ops.lab.command import Arguments
from touchstone.schemas.case import validate_case
from touchstone.schemas.trace import CLINICAL_FORMATS, ProductionTrace
from touchstone.scorers.clinical import ClinicalSettings, build
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.formats.fhir import is_valid, validate
from touchstone.scorers.clinical.samples import paths
from touchstone.scorers.engines.machine import machine

MEMORY_BUNDLE_MB: Final = 50
MESSAGES_MAX: Final = 400
ROUNDS: Final = 5
#: XSLT takes seconds for each document.
SCHEMATRON_DOCUMENTS: Final = 4
BUNDLES: Final = 3
ENTRIES: Final = 200
#: Share of laboratory results among the entries; the others are drawn from all kinds.
LABORATORY_SHARE: Final = 0.6


@dataclass(frozen=True, slots=True)
class Row:
    """One figure beside its aim; `aim` None if there is none."""

    what: str
    figure: float
    unit: str
    aim: float | None = None

    @property
    def verdict(self) -> str:
        """`met` or `missed`; empty without an aim."""
        return "" if self.aim is None else "met" if self.figure >= self.aim else "missed"


def suite_over_validators(rounds: int) -> tuple[float, float]:
    """Traces per CPU second of the suite, and that over validating the same documents bare."""
    cases = [validate_case(ProductionTrace, json.loads(path.read_text(encoding="utf-8"))) for path in paths()]
    scorer, validator = build(ClinicalSettings()), DocumentValidator()
    documents = [(form, content) for case in cases for form in CLINICAL_FORMATS if (output := case.outputs.of(form)) for content in output.documents]
    whole, bare = [], []
    for _ in range(rounds):
        begun = time.process_time()
        for case in cases:
            scorer.evaluate(case)
        middle = time.process_time()
        for form, content in documents:
            validator.validate(content, form)
        whole.append(middle - begun)
        bare.append(time.process_time() - middle)
    return len(cases) / min(whole), min(bare) / min(whole)


def generated_bundles() -> list[bytes]:
    """Bundles of many years of a patient, from the resources of the valid sample traces."""
    outputs = [json.loads(path.read_text(encoding="utf-8"))["outputs"]["fhir"]["content"] for path in paths()]
    texts = [(one if isinstance(one, str) else json.dumps(one)).encode() for one in outputs]
    entries = [one for text in texts if is_valid(validate(text, options=fhir.FORMAT_ONLY)) for one in json.loads(text)["entry"]]
    patient, *others = sorted(entries, key=lambda one: one["resource"]["resourceType"] != "Patient")
    laboratory = [one for one in others if '"laboratory"' in json.dumps(one)]
    others = [one for one in others if one["resource"]["resourceType"] != "Patient"]
    rng = random.Random(7)  # a repeatable workload
    return [_bundle(patient, others, laboratory, rng) for _ in range(BUNDLES)]


def _bundle(patient: Any, others: list[Any], laboratory: list[Any], rng: random.Random) -> bytes:
    """One patient, and entries drawn from the given ones, each with its own address, time and value."""
    made = [patient]
    for number in range(ENTRIES):
        entry = copy.deepcopy(rng.choice(laboratory if rng.random() < LABORATORY_SHARE else others))
        entry["fullUrl"] = f"urn:uuid:{uuid.UUID(int=rng.getrandbits(128), version=4)}"
        resource = entry["resource"]
        resource["id"] = f"r{number}"
        resource["subject"] = {"reference": patient["fullUrl"]}
        if "effectiveDateTime" in resource:
            resource["effectiveDateTime"] = f"{rng.randint(2000, 2025)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T09:{rng.randint(0, 59):02}:00-05:00"
        if "valueQuantity" in resource:
            resource["valueQuantity"]["value"] = round(resource["valueQuantity"]["value"] * rng.uniform(0.95, 1.05), 1)
        made.append(entry)
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": made}, separators=(",", ":")).encode()


def measure(data: Path | None, rounds: int, megabytes: int, rules: Path | None = None) -> tuple[list[Row], dict[str, Any]]:
    """Every row, and the raw figures."""
    messages = hl7v2.messages_of(data / "hl7v2" if data else None, MESSAGES_MAX)
    bundles = fhir.read([data / "fhir" / "synthea"]) if data else generated_bundles()
    raw: dict[str, Any] = {"hl7v2": hl7v2.measure(messages), "fhir": fhir.measure(bundles, rounds), "memory": run_apart(fhir.memory, bundles, megabytes)}
    per_s, share = suite_over_validators(rounds)
    rule_engine = schematron.measure(rules, data / "ccda", SCHEMATRON_DOCUMENTS) if data and rules else schematron.measure()
    raw["ccda"] = {"per_s": rule_engine.per_s, "over_xslt": rule_engine.over_xslt, "compared": rule_engine.compared, "different": rule_engine.different}
    raw["suite"] = {"traces_per_s": per_s, "over_bare_validators": share}
    rows = [
        Row("HL7 v2, full validation over hl7apy", raw["hl7v2"].get("over_hl7apy", 0.0), "×", 200),
        Row("HL7 v2, full validation over a bare split to subcomponents", raw["hl7v2"]["over_full_split"], "×"),
        Row("HL7 v2, full validation over a bare split to fields", raw["hl7v2"]["over_fields_split"], "×", 0.1),
        Row("HL7 v2, full validation", raw["hl7v2"]["ours_per_s"], "messages/s"),
        Row("FHIR, invariants on, over fhir.resources, each document's best try", raw["fhir"].get("times_fhir.resources_each", 0.0), "×", 4),
        Row("the same, whole rounds", raw["fhir"].get("times_fhir.resources", 0.0), "×"),
        Row("the same, both with the worker's garbage collector settings", raw["fhir"].get("times_fhir.resources_calm", 0.0), "×"),
        Row("FHIR, invariants on, each document's best try", raw["fhir"]["ours_each"], "MB/s"),
        Row("FHIR, invariants on, whole rounds, the worker's settings", raw["fhir"]["ours_calm"], "MB/s"),
        Row("FHIR, with the shared clinical checks too", raw["fhir"]["ours_with_clinical_checks_calm"], "MB/s"),
        Row(f"FHIR, one Bundle of {raw['memory']['bundle_mb']:g} MB: peak memory", raw["memory"]["peak_mb"], "MiB"),
        Row(f"FHIR, one Bundle of {raw['memory']['bundle_mb']:g} MB: time", raw["memory"]["cpu_s"], "s CPU"),
        Row("C-CDA, Schematron rules over lxml's XSLT route", rule_engine.over_xslt, "×", 500),
        Row("C-CDA, Schematron rules", rule_engine.per_s, "documents/s"),
        Row("C-CDA, documents whose results are those of the XSLT", rule_engine.compared - len(rule_engine.different), "", rule_engine.compared),
        Row("suite clinical, sample traces", per_s, "traces/s"),
        Row("suite clinical over its bare validators", share, "×"),
    ]
    return rows, raw


def main(arguments: Sequence[str]) -> None:
    """Print the table, or JSON."""
    parser = Arguments("bench clinical", __doc__)
    parser.data("folder with hl7v2/ and fhir/synthea/")
    parser.add_argument("--rules", type=Path, metavar="FILE", help="a Schematron file of C-CDA; with --data its folder ccda/ is measured")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--memory", type=int, default=MEMORY_BUNDLE_MB, metavar="MB", help="size of the large Bundle (default 50)")
    parser.json()
    asked = parser.parse_args(arguments)
    if asked.data and not ((asked.data / "hl7v2").is_dir() and (asked.data / "fhir" / "synthea").is_dir()):
        parser.error(f"{asked.data}: a folder with hl7v2/ and fhir/synthea/ is needed; leave --data out for generated documents")
    rows, raw = measure(asked.data, asked.rounds, asked.memory, asked.rules)
    if asked.json:
        print(json.dumps(raw, indent=2))
        return
    cells = [(row.what, f"{row.figure:,.2f} {row.unit}", "" if row.aim is None else f"{row.aim:g} {row.unit}", row.verdict) for row in rows]
    print("\n".join([f"Clinical formats. {machine()}", "", *table(("", "", "aim", ""), cells)]))
