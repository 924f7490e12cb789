"""US Core's official examples, judged by their own guide without a terminology server: no absent table fails one, and a fault still does."""

import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.official_validator import packages
from touchstone.ops.local.fhir_validator.artifacts import distribution, missing
from touchstone.ops.local.fhir_validator.client import ValidatorClient
from touchstone.ops.local.fhir_validator.packages import found_packages, guide
from touchstone.ops.local.fhir_validator.process import ValidatorProcess, launch_of
from touchstone.scorers.clinical.conformance.not_known import separated
from touchstone.scorers.operation_outcome import Outcome

pytestmark = pytest.mark.slow(60)
#: Types whose examples have codes, canonical URLs and extensions that the validator cannot look up.
TYPES = ("Patient", "QuestionnaireResponse", "Provenance", "Organization", "Encounter", "Immunization")


def examples(archive: Path) -> dict[str, dict[str, Any]]:
    found = {}
    with tarfile.open(archive) as opened:
        for member in opened:
            file = opened.extractfile(member) if member.name.startswith("package/example/") and member.name.endswith(".json") else None
            resource = json.load(file) if file is not None else {}
            if resource.get("resourceType") in TYPES:
                found[member.name] = resource
    return found


@pytest.mark.parametrize("version", ["311", "610"])
def test_no_official_example_fails_for_an_absent_table_and_a_changed_one_does(version: str, tmp_path: Path) -> None:
    archive = Path(os.environ.get("TOUCHSTONE_DATA", "")) / "clinical-dev" / "packages" / f"us_core_{version}.tgz"
    if not archive.is_file() or (reason := missing()) is not None:
        pytest.skip("the guide's archive is not at hand" if not archive.is_file() else str(reason))
    name, folder = guide(str(archive), [])
    process = ValidatorProcess(launch_of(distribution(), found_packages(packages()), {name: folder}), start_timeout_s=600, folder=tmp_path)
    process.begin()
    try:
        client = ValidatorClient(process.port, timeout_s=300)

        def verdict(resource: dict[str, Any]) -> Outcome:
            return separated(client.validate(json.dumps(resource).encode()))

        at_hand = examples(archive)
        patients = [one for one in at_hand.values() if one["resourceType"] == "Patient"]
        assert len(at_hand) >= 9  # so many has 3.1.1
        assert {name: [issue.code for issue in said.errors] for name, one in at_hand.items() if not (said := verdict(one)).valid} == {}
        assert not verdict(patients[0] | {"gender": "woman"}).valid
        assert not verdict({key: value for key, value in patients[0].items() if key != "name"}).valid
        assert not verdict(patients[0] | {"birthDate": "yesterday"}).valid
    finally:
        process.stop()
