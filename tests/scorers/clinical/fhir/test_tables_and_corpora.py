from __future__ import annotations

import json
import lzma
import shutil
from pathlib import Path

from touchstone.ops.lab.agreement.official import is_r4, official_cases, options_of, verdict
from touchstone.ops.lab.agreement.recorded import measure
from touchstone.ops.lab.agreement.run import as_text
from touchstone.ops.lab.build.tables.fhir.command import main, read_package
from touchstone.scorers.clinical.formats.fhir.tables import FOLDER, code_systems, definitions, own_profiles


def test_the_tables_are_small_and_complete() -> None:
    table = definitions()
    assert sum(path.stat().st_size for path in FOLDER.glob("*.xz")) < 2_500_000
    assert len(table.resources) == 146
    assert table.types["Observation"].choices["value[x]"][0] == "valueQuantity"
    assert table.values["http://hl7.org/fhir/ValueSet/administrative-gender"] == {
        "http://hl7.org/fhir/administrative-gender": frozenset({"male", "female", "other", "unknown"})
    }
    assert "http://hl7.org/fhir/administrative-gender" in code_systems()
    assert "http://hl7.org/fhir/StructureDefinition/bp" in own_profiles()


def test_the_options_of_a_case_come_from_its_manifest() -> None:
    case = {"security-checks": True, "examples": False, "allow-comments": True, "validateReference": "CHECK_EXISTS_AND_TYPE", "supporting": ["a.json"]}
    options = options_of(case, Path("folder"))
    assert (options.security, options.example_urls, options.comments, options.references) == (True, False, True, "exists")
    assert options.packages == (Path("folder/a.json"),)


def test_what_is_no_resource_of_r4_is_no_case(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"resourceType": "Patient", "broken', "utf-8")
    (tmp_path / "b.json").write_text('{"services": []}', "utf-8")
    (tmp_path / "c.xml").write_text('<ClinicalDocument xmlns="urn:hl7-org:v3"/>', "utf-8")
    (tmp_path / "d.xml").write_text('<Patient xmlns="http://hl7.org/fhir"/>', "utf-8")
    assert [is_r4({"version": "4.0"}, tmp_path / name) for name in ("a.json", "b.json", "c.xml", "d.xml")] == [True, False, False, True]
    assert not is_r4({"version": "5.0"}, tmp_path / "a.json")


def test_cases_that_were_never_looked_at_are_counted_apart_and_not_told(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"resourceType": "Patient", "gender": "x"}', "utf-8")
    outcome = {"resourceType": "OperationOutcome"}
    cases = [{"name": name, "file": "p.json", "version": "4.0", "java": outcome} for name in ("ai2", "nobody-has-seen-this")]
    (tmp_path / "manifest.json").write_text(json.dumps({"test-cases": cases}), "utf-8")
    looked_at, unseen = official_cases(tmp_path, tmp_path)
    assert [(one.own.cases, one.own.false_alarms) for one in (looked_at, unseen)] == [(1, 1), (1, 1)]
    folder = tmp_path / "fhir" / "fhir-test-cases" / "validator"
    folder.mkdir(parents=True)
    for name in ("p.json", "manifest.json"):
        shutil.copy(tmp_path / name, folder / name)
    found = measure(tmp_path / "fhir")
    assert (found["cases"], found["unseen"]["own"]["cases"]) == (1, 1)
    assert "nobody-has-seen-this" not in json.dumps(found)
    assert "never looked at" in as_text({"fhir": found, "absent": []})


def test_the_profile_of_a_case_brings_its_packages(tmp_path: Path) -> None:
    (tmp_path / "extra.tgz").write_bytes(b"")
    options = options_of({"packages": ["a#1"], "package-map": {"a#1": "extra.tgz"}}, tmp_path)
    assert options.packages == (tmp_path / "extra.tgz",)


def test_an_official_case_brings_what_later_versions_need_and_the_packages_that_its_packages_need(tmp_path: Path) -> None:
    for name in ("own.tgz", "needed.tgz"):
        (tmp_path / name).write_bytes(b"")
    case = {"supporting5": ["later.json"], "packages": ["own.tgz"], "package-map": {"needed#1": "needed.tgz"}}
    assert options_of(case, tmp_path).packages == tuple(tmp_path / name for name in ("later.json", "own.tgz", "needed.tgz"))


def test_a_recorded_outcome_is_valid_without_errors_and_unknown_where_absent() -> None:
    outcome = {"outcome": {"resourceType": "OperationOutcome", "issue": [{"severity": "error", "details": {"text": "bad"}}]}}
    assert verdict({"java": outcome}, Path()) == (False, "bad")
    assert verdict({"java": {"resourceType": "OperationOutcome"}}, Path()) == (True, "")
    assert verdict({"java": {"errorCount": 0}}, Path()) == (True, "")
    assert verdict({"java": "absent.json"}, Path()) is None


def test_the_validator_agrees_with_the_official_one_and_with_the_labels(clinical_data: Path) -> None:
    found = measure(clinical_data / "fhir")
    assert found["agreement"] >= 0.9
    assert found["false_alarm_rate"] <= 0.02
    for name in ("synthea", "primitives"):
        assert found[name]["agreement"] == 1.0, found[name]["disagreements"]
    assert found["r4-examples"]["false_alarm_rate"] <= 0.02


def test_compiling_again_gives_the_same_tables(clinical_data: Path, tmp_path: Path) -> None:
    package = clinical_data / "packages" / "hl7.fhir.r4.core-4.0.1.tgz"
    assert len(read_package(package)["StructureDefinition"]) > 600
    main([str(package), "--out", str(tmp_path)])
    for name in ("codes", "profiles"):
        made, shipped = (lzma.decompress((folder / f"{name}.json.xz").read_bytes()) for folder in (tmp_path, FOLDER))
        assert made == shipped
