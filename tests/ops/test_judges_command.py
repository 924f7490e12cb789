"""`touchstone judges`, from annotated traces to a promotion."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from touchstone.ops.cli import app

SUBJECT = "failure_modes/missing_key_lab"
CANARY = "Zephyrine Quillfeather"


def trace(number: int) -> dict[str, Any]:
    """Every third persona has diabetes and no HbA1c."""
    lab = {"name": "HbA1c", "value": 7.1, "unit": "%"} if number % 3 else {"name": "Sodium", "value": 140, "unit": "mmol/L"}
    persona = {"name": f"{CANARY} {'bcdfghklmn'[number % 10] * (2 + number // 10)}", "birthDate": "1950-01-02", "age": 50, "sex": "female"}
    lists = {"conditions": [{"name": "Type 2 diabetes"}], "medications": [], "labs": [lab]}
    output = {"fhir": {"content": {"resourceType": "Patient", "id": "nobody"}}}
    return {"traceId": f"t-{number}", "timestamp": "2026-02-04T14:30:00Z", "source": "production", "persona": persona | lists, "outputs": output}


def annotation(number: int) -> dict[str, Any]:
    coded = {"verdict": "pass"} if number % 3 else {"verdict": "fail", "failureMode": "missing_key_lab", "notes": CANARY}
    return {"traceId": f"t-{number}", "reviewer": "anna", "timestamp": "2026-02-05T00:00:00Z", "guideline": "clinical@1"} | coded


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("traces").mkdir()
    for number in range(240):
        Path(f"traces/t-{number}.json").write_text(json.dumps(trace(number)), encoding="utf-8")
    Path("annotations.json").write_text(json.dumps([annotation(number) for number in range(240)]), encoding="utf-8")
    return tmp_path


def run(*arguments: str, files: bool = True) -> Result:
    given = ["--annotations", "annotations.json"] if files else []
    more = ["--traces", "traces"] if files and arguments[0] == "calibrate" else []
    return CliRunner().invoke(app, ["judges", *arguments, *given, *more])


def test_a_mode_is_measured_promoted_listed_and_demoted(home: Path) -> None:
    assert run("calibrate", SUBJECT).exit_code == 0
    refused = run("promote", SUBJECT)
    assert (refused.exit_code, "the test set was not read" in refused.stderr) == (1, True)
    done = run("calibrate", SUBJECT, "--test", "--gate", "--format", "json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["test"], found["test_reads"]) == ({"failed": 32, "failed_found": 32, "passed": 64, "passed_found": 64}, 1)
    assert set(found["definitions"]) == {"fail_recall", "pass_recall"}
    assert found["basis"]["guideline"] == "clinical@1"
    assert run("calibrate", SUBJECT, "--test").exit_code == 3
    assert run("promote", SUBJECT, "--by", "anna").exit_code == 0
    listed = run("list").stdout
    assert "1.00 (32)" in next(line for line in listed.splitlines() if line.startswith(SUBJECT))
    assert CliRunner().invoke(app, ["judges", "demote", SUBJECT, "--reason", "too strict"]).exit_code == 0
    (one,) = [one for one in json.loads(run("list", "--json").stdout) if one["subject"] == SUBJECT]
    assert (one["state"], one["decides"], one["reasons"]) == ("shadow", False, ["it was demoted: too strict"])
    assert [json.loads(line)["action"] for line in Path("judges/missing_key_lab/history.jsonl").read_text().splitlines()] == [
        *("calibrate", "calibrate", "promote", "demote"),
    ]


def test_a_demoted_mode_decides_no_label(home: Path) -> None:
    def failed() -> int:
        done = CliRunner().invoke(app, ["score", "failure_modes", "traces/t-0.json", "--format", "json"])
        return done.exit_code

    assert failed() == 1
    assert CliRunner().invoke(app, ["judges", "demote", SUBJECT]).exit_code == 0
    assert failed() == 0


def test_no_name_and_no_note_is_in_what_is_printed_and_kept(home: Path) -> None:
    for form in ("console", "markdown", "html", "json"):
        done = run("calibrate", SUBJECT, "--format", form)
        assert done.exit_code == 0
        assert "Quillfeather" not in done.output
        assert "fail_recall" in done.output
    assert not [path for path in Path("judges").rglob("*") if path.is_file() and "quillfeather" in path.read_text().lower()]


def test_a_new_annotation_is_said_to_make_it_stale(home: Path) -> None:
    run("calibrate", SUBJECT, "--test")
    assert "changed" not in run("list").stdout
    Path("annotations.json").write_text(json.dumps([annotation(number) for number in range(239)]), encoding="utf-8")
    assert "the labels changed since the calibration" in run("list").stdout
    assert "the labels changed" in run("promote", SUBJECT).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("calibrate", "failure_modes/nothing"), "has no judge 'nothing'; it has missing_key_lab"),
        (("calibrate", "nothing"), "is not installed"),
        (("promote", "clinical"), "is a suite"),
        (("promote", SUBJECT, "--force"), "--reason"),
        (("calibrate", "clinical", "--format", "junit"), "no JUnit form"),
    ],
)
def test_a_mistake_is_one_sentence(home: Path, arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments)
    assert done.exit_code in {2, 3}
    assert words in done.output


def test_a_suite_is_neither_promoted_nor_demoted(home: Path) -> None:
    done = CliRunner().invoke(app, ["judges", "demote", "clinical"])
    assert (done.exit_code, "its specification says what its label is" in done.stderr) == (3, True)


def test_annotations_of_a_file_need_the_files_of_their_cases(home: Path) -> None:
    done = CliRunner().invoke(app, ["judges", "calibrate", SUBJECT, "--annotations", "annotations.json"])
    assert (done.exit_code, "--traces" in done.stderr) == (3, True)


def test_two_cases_of_one_name_are_no_case(home: Path) -> None:
    other = trace(1) | {"outputs": {"fhir": {"content": {"resourceType": "Patient", "id": "another"}}}}
    Path("traces/again.json").write_text(json.dumps(other), encoding="utf-8")
    assert json.loads(run("calibrate", SUBJECT, "--format", "json").stdout)["left_out"] == {"no_input": 1}
