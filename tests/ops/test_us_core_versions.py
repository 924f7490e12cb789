"""Documents of three versions of US Core in one batch are each judged by the rules of their own version, which findings name."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from touchstone.ops.batch.run import Run
from touchstone.ops.batch.sources import Source
from touchstone.scorers.clinical import SUITE
from touchstone.scorers.clinical.batch import ClinicalReport
from touchstone.scorers.clinical.settings import ClinicalSettings

PACKAGES = Path(os.environ.get("TOUCHSTONE_DATA", "/nowhere")) / "clinical-dev" / "packages"
PROFILE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-patient"
ARCHIVES = {"3.1.1": PACKAGES / "us_core_311.tgz", "4.0.0": PACKAGES / "us_core_400.tgz", "6.1.0": PACKAGES / "us_core_610.tgz"}
#: The rule that a name has a part: it was us-core-8 until 4.0.0, and is us-core-6 since.
RULES = {"3.1.1": "fhir.invariants.us-core-8", "4.0.0": "fhir.invariants.us-core-8", "6.1.0": "fhir.invariants.us-core-6"}


@pytest.mark.skipif(not all(map(Path.is_file, ARCHIVES.values())), reason="TOUCHSTONE_DATA names no folder with packages of US Core")
def test_each_document_of_a_batch_is_judged_by_its_own_version_of_us_core(tmp_path: Path) -> None:
    files = []
    for version in ARCHIVES:
        for has_name in (False, True):
            name = {"family": "Muster"} if has_name else {"text": "Muster"}
            patient = {"resourceType": "Patient", "id": "p", "meta": {"profile": [f"{PROFILE}|{version}"]}, "name": [name], "gender": "male"}
            patient["identifier"] = [{"system": "http://hospital.test/ids", "value": "1"}]
            (file := tmp_path / f"{version}-{has_name}.json").write_text(json.dumps(patient), encoding="utf-8")
            files.append(file)
    run = Run(SUITE, ClinicalSettings.model_validate({"fhir": {"packages": list(ARCHIVES.values()), "installed_packages": False}}))
    report: ClinicalReport = SUITE.report(run.entries, run.score([Source(file) for file in files]))
    told = {judged.entry.file: judged.entry for judged in report.files}
    for version, code in RULES.items():
        bad, good = (told[str(tmp_path / f"{version}-{has_name}.json")] for has_name in (False, True))
        assert (bad.valid, good.valid) == (False, True)
        grave = [one for one in bad.findings if one.severity in {"critical", "major"}]
        assert [one.code for one in grave] == [code]
        of_us_core = [one.message for one in (*bad.findings, *good.findings) if "profile us-core-patient" in one.message and one.severity != "info"]
        assert of_us_core
        assert all(f"us-core-patient|{version}" in message and "other versions" not in message for message in of_us_core)
        assert {name for entry in (bad, good) for name in entry.must_support} == {f"us-core-patient|{version}"}
