import json
from pathlib import Path

import pytest

from tests.ops.lab.agreement.test_agreement_mutations import PATIENT
from tests.ops.lab.laboratory import Laboratory
from tests.ops.local.fhir_validator.stand_in import StandIn


def test_documents_are_compared_by_both_validators(run: Laboratory, official: StandIn, patient: Path) -> None:
    ran = run("agreement", "--oracle", patient)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("patient.json: both valid")


def test_mutations_are_counted_by_kind(run: Laboratory, official: StandIn, patient: Path) -> None:
    ran = run("agreement", "--oracle", patient, "--mutations", 24, "--json")
    found = json.loads(ran.out)["mutations"]
    assert found["cases"] == found["agree"] + found["false_alarms"] == sum(one["cases"] for one in found["kinds"].values())
    assert found["false_alarms"] == len(found["disagreements"]) > 0


def test_an_oracle_that_goes_away_is_one_line_and_exit_3(run: Laboratory, official: StandIn, patient: Path) -> None:
    official.close()
    ran = run("agreement", "--oracle", patient, "--mutations", 10)
    assert (ran.code, ran.out) == (3, "")
    assert "does not answer (ConnectionRefusedError)" in ran.one_line


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "give --data DIR for labelled files, or --oracle"),
        (("--data", "x", "--oracle"), 2, "give --data DIR"),
        (("--data", "x", "y"), 2, "--data takes no files"),
        (("--data", "x", "--mutations", "5"), 2, "need --oracle"),
        (("--oracle",), 3, "no FHIR document"),
        (("--oracle", "absent.json"), 3, "no such file or folder"),
        (("--data", "absent"), 3, "no such folder"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_2_and_a_wrong_file_exit_3(run: Laboratory, arguments: tuple[str, ...], code: int, message: str) -> None:
    ran = run("agreement", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.one_line


def test_a_folder_with_nothing_in_it_and_a_file_are_told(run: Laboratory, tmp_path: Path, patient: Path) -> None:
    assert "neither FHIR nor HL7 v2 files are in it" in run("agreement", "--data", tmp_path).one_line
    assert "not a folder" in run("agreement", "--data", patient).one_line


def test_a_broken_manifest_is_one_line(run: Laboratory, tmp_path: Path) -> None:
    folder = tmp_path / "fhir" / "fhir-test-cases" / "validator"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{")
    ran = run("agreement", "--data", tmp_path)
    assert (ran.code, ran.out) == (3, "")
    assert "not of the known layout (JSONDecodeError)" in ran.one_line


def test_labelled_files_are_measured_and_absent_parts_named(run: Laboratory, tmp_path: Path) -> None:
    folder = tmp_path / "fhir" / "fhir-test-cases" / "validator"
    folder.mkdir(parents=True)
    (folder / "good.json").write_text(json.dumps(PATIENT))
    (folder / "bad.json").write_text(json.dumps(PATIENT))
    valid, invalid = ({"resourceType": "OperationOutcome", "issue": [{"severity": level, "details": {"text": "no"}}]} for level in ("warning", "error"))
    cases = [{"name": name, "file": f"{name}.json", "version": "4.0", "java": {"outcome": known}} for name, known in (("good", valid), ("bad", invalid))]
    (folder / "manifest.json").write_text(json.dumps({"test-cases": cases}))
    assert "bad" not in run("agreement", "--data", tmp_path).out
    ran = run("agreement", "--data", tmp_path, "--list-unseen", "--json")
    found = json.loads(ran.out)
    unseen = found["fhir"]["unseen"]
    assert (unseen["own"]["cases"], unseen["own"]["agree"], unseen["own"]["missed"], unseen["all"]["cases"]) == (2, 1, 1, 2)
    assert unseen["own"]["disagreements"] == [{"case": "bad", "expected": "invalid", "ours": [], "official": "no"}]
    assert found["absent"] == ["fhir: r4-examples", "fhir: synthea", "fhir: primitives", "fhir: us-core-invariants", "hl7v2"]
    text = run("agreement", "--data", tmp_path, "--list-unseen").out
    assert "      2      1    50.0%" in next(line for line in text.splitlines() if line.startswith("fhir: official, self-contained"))
    assert "bad: invalid; ours: nothing grave; official: 'no'" in text


def test_the_development_data_agrees(run: Laboratory, clinical_data: Path) -> None:
    found = json.loads(run("agreement", "--data", clinical_data, "--json").out)
    assert found["fhir"]["agreement"] >= 0.9
    assert found["fhir"]["synthea"]["npis"]["flagged"] == found["fhir"]["synthea"]["npis"]["files"] > 0
    assert found["hl7v2"]["agreement"] == 1.0, found["hl7v2"]["disagreements"]
    assert found["hl7v2"]["samples"]["agreement"] == 1.0
    assert found["absent"] == []
