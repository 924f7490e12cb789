"""`touchstone bench agreement`: what it prints, and what it says where it cannot. The official validator is a stand-in here."""

import json
from pathlib import Path

import pytest

from tests.ops.commands import Commands
from tests.ops.lab.agreement.test_agreement_mutations import OBSERVATION, PATIENT
from tests.ops.local.fhir_validator.stand_in import StandIn, issue, outcome
from touchstone.ops.local.fhir_validator import server
from touchstone.ops.local.fhir_validator.client import ValidatorClient
from touchstone.scorers.base import ConfigError


@pytest.fixture
def official(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """A stand-in that the command takes for the validator that it starts."""
    monkeypatch.setattr(server.FhirValidator, "start", lambda self: ValidatorClient(stand_in.port, timeout_s=10))
    return stand_in


@pytest.fixture
def patient(tmp_path: Path) -> Path:
    path = tmp_path / "patient.json"
    path.write_text(json.dumps(PATIENT))
    return path


def test_both_valid_is_one_line(run: Commands, official: StandIn, patient: Path) -> None:
    ran = run("bench", "agreement", "--oracle", patient)
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "patient.json: both valid"
    assert "same verdict on 1 of 1 (100.00%)" in ran.out
    assert ran.err == ""


def test_a_difference_is_told_by_side_place_and_id_and_quotes_nothing(run: Commands, official: StandIn, patient: Path) -> None:
    official.answer = lambda _: (200, outcome(issue("error", "E_MADE_UP", "Patient.name[0].family", "bad 'Winter'")))
    ran = run("bench", "agreement", "--oracle", patient)
    assert "patient.json: official invalid, ours valid – unexplained" in ran.out
    assert "official error       Patient.name[0].family  E_MADE_UP" in ran.out
    assert "Winter" not in ran.out
    assert "bad 'Winter'" in run("bench", "agreement", "--oracle", patient, "--quote").out


def test_ours_is_told_too(run: Commands, official: StandIn, tmp_path: Path) -> None:
    (tmp_path / "o.json").write_text(json.dumps(OBSERVATION | {"status": "done"}))
    ran = run("bench", "agreement", "--oracle", tmp_path / "o.json", "--json")
    (one,) = json.loads(ran.out)["oracle"]["documents"]
    assert (one["official"], one["ours"]) == ("valid", "invalid")
    assert [(each["side"], each["location"]) for each in one["differences"]] == [("ours", "Observation.status")]


def test_mutations_are_counted_by_kind(run: Commands, official: StandIn, patient: Path) -> None:
    ran = run("bench", "agreement", "--oracle", patient, "--mutations", 24, "--json")
    found = json.loads(ran.out)["mutations"]
    assert found["cases"] == found["agree"] + found["false_alarms"] == sum(one["cases"] for one in found["kinds"].values())
    assert found["false_alarms"] == len(found["disagreements"]) > 0


def test_a_document_on_which_it_throws_is_told_apart(run: Commands, official: StandIn, patient: Path, tmp_path: Path) -> None:
    (tmp_path / "o.json").write_text(json.dumps(OBSERVATION))
    thrown = (500, b'{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"exception"}]}')
    official.answer = lambda body: thrown if b"Observation" in body else (200, outcome())
    ran = run("bench", "agreement", "--oracle", patient, tmp_path / "o.json", "--json")
    assert (ran.code, json.loads(ran.out)["oracle"]["undecided"]) == (0, ["o.json"])
    official.answer = lambda _: thrown
    assert "failed on every document" in run("bench", "agreement", "--oracle", patient).one_line


@pytest.mark.parametrize("answer", [(200, b"no JSON"), (200, b'{"resourceType":"Patient"}'), (502, b"")])
def test_a_broken_oracle_is_one_line_and_exit_3(run: Commands, official: StandIn, patient: Path, answer: tuple[int, bytes]) -> None:
    official.answer = lambda _: answer
    ran = run("bench", "agreement", "--oracle", patient)
    assert (ran.code, ran.out) == (3, "")
    assert "the official validator at 127.0.0.1:" in ran.one_line


def test_an_oracle_that_goes_away_is_one_line_and_exit_3(run: Commands, official: StandIn, patient: Path) -> None:
    official.close()
    ran = run("bench", "agreement", "--oracle", patient, "--mutations", 10)
    assert (ran.code, ran.out) == (3, "")
    assert "does not answer (ConnectionRefusedError)" in ran.one_line


def test_one_that_cannot_be_started_is_one_line_and_exit_3(run: Commands, patient: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object) -> None:
        raise ConfigError("no Java on the PATH")

    monkeypatch.setattr(server.FhirValidator, "start", fail)
    ran = run("bench", "agreement", "--oracle", patient)
    assert (ran.code, ran.one_line) == (3, "touchstone: no Java on the PATH")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give --data DIR for labelled files, or --oracle"),
        (("--data", "x", "--oracle"), "give --data DIR"),
        (("--data", "x", "y"), "--data takes no files"),
        (("--data", "x", "--mutations", "5"), "need --oracle"),
        (("--oracle",), "no FHIR document"),
        (("--oracle", "absent.json"), "no such file or folder"),
        (("--data", "absent"), "no such folder"),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_3(run: Commands, arguments: tuple[str, ...], told: str) -> None:
    ran = run("bench", "agreement", *arguments)
    assert (ran.code, ran.out) == (3, "")
    assert told in ran.one_line


def test_a_folder_with_nothing_in_it_and_a_file_are_told(run: Commands, tmp_path: Path, patient: Path) -> None:
    assert "neither FHIR nor HL7 v2 files are in it" in run("bench", "agreement", "--data", tmp_path).one_line
    assert "not a folder" in run("bench", "agreement", "--data", patient).one_line


def test_a_broken_manifest_is_one_line(run: Commands, tmp_path: Path) -> None:
    folder = tmp_path / "fhir" / "fhir-test-cases" / "validator"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{")
    ran = run("bench", "agreement", "--data", tmp_path)
    assert (ran.code, ran.out) == (3, "")
    assert "not of the known layout (JSONDecodeError)" in ran.one_line


def test_labelled_files_are_measured_and_absent_parts_named(run: Commands, tmp_path: Path) -> None:
    folder = tmp_path / "fhir" / "fhir-test-cases" / "validator"
    folder.mkdir(parents=True)
    (folder / "good.json").write_text(json.dumps(PATIENT))
    (folder / "bad.json").write_text(json.dumps(PATIENT))
    valid, invalid = ({"resourceType": "OperationOutcome", "issue": [{"severity": level, "details": {"text": "no"}}]} for level in ("warning", "error"))
    cases = [{"name": name, "file": f"{name}.json", "version": "4.0", "java": {"outcome": known}} for name, known in (("good", valid), ("bad", invalid))]
    (folder / "manifest.json").write_text(json.dumps({"test-cases": cases}))
    assert "bad" not in run("bench", "agreement", "--data", tmp_path).out
    ran = run("bench", "agreement", "--data", tmp_path, "--tell-unseen", "--json")
    found = json.loads(ran.out)
    unseen = found["fhir"]["unseen"]
    assert (unseen["own"]["cases"], unseen["own"]["agree"], unseen["own"]["missed"], unseen["all"]["cases"]) == (2, 1, 1, 2)
    assert unseen["own"]["disagreements"] == [{"case": "bad", "expected": "invalid", "ours": [], "official": "no"}]
    assert found["absent"] == ["fhir: r4-examples", "fhir: synthea", "fhir: primitives", "fhir: us-core-invariants", "hl7v2"]
    text = run("bench", "agreement", "--data", tmp_path, "--tell-unseen").out
    assert "      2      1    50.0%" in next(line for line in text.splitlines() if line.startswith("fhir: official, self-contained"))
    assert "bad: invalid; ours: nothing grave; official: 'no'" in text


def test_the_development_data_agrees(run: Commands, clinical_data: Path) -> None:
    found = json.loads(run("bench", "agreement", "--data", clinical_data, "--json").out)
    assert found["fhir"]["agreement"] >= 0.9
    assert found["fhir"]["synthea"]["npis"]["flagged"] == found["fhir"]["synthea"]["npis"]["files"] > 0
    assert found["hl7v2"]["agreement"] == 1.0, found["hl7v2"]["disagreements"]
    assert found["hl7v2"]["samples"]["agreement"] == 1.0
    assert found["absent"] == []
