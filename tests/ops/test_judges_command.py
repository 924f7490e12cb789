"""`touchstone judges`, from annotated traces to a promotion."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

from tests.doubles.judges import JudgeServer
from tests.scorers.clinical.failure_modes.judge_folders import made
from tests.streams.results_topic import projection, result
from touchstone.ops.cli import app
from touchstone.ops.store.archive.archive import Archive
from touchstone.ops.store.archive.objects import Objects
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.guidelines import Guidelines
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.settings.house import ArchiveSettings
from touchstone.scorers.identity import config_digest
from touchstone.scorers.registry import load_suite
from touchstone.scorers.suite_settings import suite_settings_for_files

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
        (("calibrate", SUBJECT, "--again"), "it goes with --test"),
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


@pytest.fixture
def stored(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ResultStore]:
    """The same annotations in a store, and all but the last ten traces in its archive."""
    monkeypatch.setenv("TOUCHSTONE_STORE_URL", f"sqlite:///{home}/store.db")
    monkeypatch.setenv("TOUCHSTONE_ARCHIVE_URL", f"file://{home}/archive")
    store = ResultStore.open(f"sqlite:///{home}/store.db", create=True)
    index, at = CaseIndex(store.engine), datetime(2026, 2, 5, tzinfo=UTC)
    (home / "archive").mkdir()
    archive = Archive(Objects.open(f"file://{home}/archive"), index, ArchiveSettings())
    for number in range(60):
        said = {key: value for key, value in annotation(number).items() if key not in {"traceId", "reviewer", "timestamp"}}
        index.annotate(f"e-{number}", "anna", said, at, expected=0, trace_id=f"t-{number}")
        if number < 50:
            archive.keep(f"e-{number}", "trace", f"t-{number}", orjson.dumps(trace(number) | {"kind": "trace", "id": f"e-{number}"}), at=at)
    yield store
    store.close()


def test_cases_of_the_archive_are_scored_and_a_case_that_was_not_kept_is_left_out(stored: ResultStore) -> None:
    done = run("calibrate", SUBJECT, "--test", "--format", "json", files=False)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["left_out"] == {"no_input": 10}
    assert (found["dev"]["failed"], found["dev"]["failed_found"]) == (found["dev"]["failed"],) * 2
    assert found["train"] + sum(found[part]["failed"] + found[part]["passed"] for part in ("dev", "test")) == 50
    assert "changed" not in run("list", files=False).stdout


def test_a_stored_result_of_the_same_configuration_is_the_verdict_and_one_of_another_is_not(stored: ResultStore) -> None:
    def verdicts(digest: str) -> tuple[int, int]:
        told = {"missing_key_lab": 1.0}  # a stored answer that the code would not give
        made = [result(event=f"e-{n}", offset=n, suite="failure_modes", version="0.1", digest=digest).model_copy(update={"values": told}) for n in range(60)]
        first = stored.positions("touchstone.results").get(0)
        stored.apply(projection(*made, first=first or 0, expected=first), 0.0)
        dev = json.loads(run("calibrate", SUBJECT, "--format", "json", files=False).stdout)["dev"]
        return dev["failed"], dev["failed_found"]

    failed, found = verdicts("another")
    assert failed == found
    suite = load_suite("failure_modes")
    failed, found = verdicts(config_digest(suite.fingerprint(suite_settings_for_files(suite))))
    assert (failed > 0, found) == (True, 0)


def test_a_new_version_of_the_guideline_is_said(stored: ResultStore) -> None:
    guidelines, at = Guidelines(stored.engine), datetime(2026, 2, 1, tzinfo=UTC)
    guidelines.save("clinical", "A pass is …", "anna", at)
    run("calibrate", SUBJECT, "--test", files=False)
    assert "changed" not in run("list", files=False).stdout
    guidelines.save("clinical", "A pass is rather …", "anna", at)
    assert "the guideline changed to clinical@2 since the calibration" in run("list", files=False).stdout


async def test_a_judge_of_a_model_is_asked_about_the_dev_set_alone_until_the_test_set_is_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(home / "judges", "my_labs", examples=[])
    coded = [annotation(number) | ({} if number % 3 else {"failureMode": "my_labs"}) for number in range(100)]
    home.joinpath("annotations.json").write_text(json.dumps(coded), encoding="utf-8")

    def answer(asked: Any) -> dict[str, str]:
        return {"critique": "…", "where": "persona", "verdict": "pass" if "HbA1c" in asked.text else "fail"}

    async with JudgeServer(answer, models=["a-model"]) as server:
        monkeypatch.setenv("TOUCHSTONE_JUDGE_MODEL", "a-model")
        monkeypatch.setenv("TOUCHSTONE_JUDGE_DEADLINE_S", "10")
        monkeypatch.setenv("TOUCHSTONE_JUDGE_BASE_URL", server.base_url)
        done = await asyncio.to_thread(run, "calibrate", "failure_modes/my_labs", "--format", "json")
        assert done.exit_code == 0, done.stderr
        dev = json.loads(done.stdout)["dev"]
        assert server.seen.kinds["answered"] == dev["failed"] + dev["passed"] == 45
        assert dev["failed"] == dev["failed_found"] > 0
        done = await asyncio.to_thread(run, "calibrate", "failure_modes/my_labs", "--test", "--format", "json")
        test = json.loads(done.stdout)
        assert (test["basis"]["model"], test["test"]["failed"] + test["test"]["passed"]) == ("a-model", 40)
        refused = await asyncio.to_thread(run, "promote", "failure_modes/my_labs")
        assert "fail verdicts in the test set; 30 are needed" in refused.stderr
        forced = await asyncio.to_thread(run, "promote", "failure_modes/my_labs", "--force", "--reason", "a test")
        assert forced.exit_code == 0
        scored = await asyncio.to_thread(CliRunner().invoke, app, ["score", "failure_modes", "traces/t-0.json", "--format", "json"])
        (one,) = json.loads(scored.stdout)["results"]
        assert one["details"]["judges"]["my_labs"]["state"] == "promoted"
