"""`touchstone judges new`: the folder of a judge from a coded category."""

import json
import stat
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

from touchstone.ops.cli import app
from touchstone.ops.store.archive.archive import Archive
from touchstone.ops.store.archive.objects import Objects
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.settings.house import ArchiveSettings
from touchstone.scorers.clinical.failure_modes.judge_folders import load_judge

NAME = "ignores_allergy"
CANARY = "Zephyrine Quillfeather"
CASES = 60


def trace(number: int) -> dict[str, Any]:
    persona = {"name": f"{CANARY} {'bcdfghklmn'[number % 10] * (2 + number // 10)}", "birthDate": "1950-01-02", "age": 50, "allergies": ["Penicillin"]}
    return {"traceId": f"t-{number}", "prompt": f"Request {number}", "persona": persona, "outputs": {}}


def annotation(number: int) -> dict[str, Any]:
    """Every third fails this question, and every tenth of the others fails another."""
    mode = NAME if number % 3 == 0 else "too_short" if number % 10 == 0 else None
    said = {"verdict": "pass", "notes": f"Fine {number}."} if mode is None else {"verdict": "fail", "failureMode": mode, "notes": f"Because {mode} {number}."}
    return {"traceId": f"t-{number}", "reviewer": "anna", "timestamp": "2026-02-05T00:00:00Z"} | said


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("traces.jsonl").write_text("".join(json.dumps(trace(number)) + "\n" for number in range(CASES)), encoding="utf-8")
    Path("annotations.json").write_text(json.dumps([annotation(number) for number in range(CASES)]), encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["judges", "new", *arguments, "--annotations", "annotations.json", "--traces", "traces.jsonl"])


def examples(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "examples.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_judge_is_made_with_examples_of_both_classes_from_the_training_part_only(home: Path) -> None:
    done = run(NAME, "--description", "A drug that the allergies forbid.")
    assert done.exit_code == 0, done.output
    folder = home / "judges" / NAME
    parts = json.loads((folder / "splits.json").read_text())["parts"]
    shown = examples(folder)
    assert {parts[one["patient"]] for one in shown} == {"train"}
    assert sorted(one["fails"] for one in shown) == [False] * 3 + [True] * 3
    assert all(one["critique"].startswith(f"Because {NAME}") for one in shown if one["fails"])
    assert {len(one["text"]) > 50 and CANARY in one["text"] for one in shown} == {True}
    assert len(parts) == CASES
    about = tomllib.loads((folder / "judge.toml").read_text())
    assert about == {
        "kind": "llm",
        "question": "Does the record have this fault: ignores allergy?",
        "category": NAME,
        "description": "A drug that the allergies forbid.",
    }
    assert load_judge(folder).name == NAME
    assert stat.S_IMODE((folder / "examples.jsonl").stat().st_mode) == 0o600
    assert "20 failing and 40 passing cases" in done.stdout
    assert CANARY not in done.output


def test_what_was_written_about_another_failure_explains_no_pass(home: Path) -> None:
    assert run(NAME, "--examples", "20").exit_code == 0
    assert not [one for one in examples(home / "judges" / NAME) if "too_short" in one["critique"]]


def test_the_same_seed_makes_the_same_folder_and_another_does_not(home: Path) -> None:
    made = []
    for place, seed in (("one", "7"), ("two", "7"), ("three", "8")):
        assert CliRunner(env={"TOUCHSTONE_JUDGES_FOLDER": place}).invoke(
            app, ["judges", "new", NAME, "--seed", seed, "--annotations", "annotations.json", "--traces", "traces.jsonl"]
        ).exit_code == 0  # fmt: skip
        made.append({path.name: path.read_text() for path in (home / place / NAME).iterdir()})
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize("file", ["prompt.md", "judge.toml", "examples.jsonl"])
def test_nothing_is_overwritten(home: Path, file: str) -> None:
    folder = home / "judges" / NAME
    folder.mkdir(parents=True)
    (folder / file).write_text("mine")
    done = run(NAME)
    assert (done.exit_code, [path.name for path in folder.iterdir()], (folder / file).read_text()) == (3, [file], "mine")
    assert "nothing is overwritten" in done.stderr


def test_patients_of_an_earlier_split_keep_their_part(home: Path) -> None:
    assert run(NAME).exit_code == 0
    folder = home / "judges" / NAME
    parts = json.loads((folder / "splits.json").read_text())["parts"]
    trained = {one["patient"] for one in examples(folder)}
    for name in ("prompt.md", "judge.toml", "examples.jsonl"):
        (folder / name).unlink()
    (folder / "splits.json").write_text(json.dumps({"seed": 0, "parts": {one: "test" if one in trained else part for one, part in parts.items()}}))
    assert run(NAME, "--seed", "3").exit_code == 0
    assert not trained & {one["patient"] for one in examples(folder)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("never_coded",), "nobody coded a failure as never_coded"),
        (("Bad Name",), "small letters"),
        (("missing_key_lab",), "a mode that code answers"),
        ((NAME, "--traces", "away.jsonl"), "away.jsonl"),
        ((NAME, "--categories", "away.json"), "away.json cannot be read"),
    ],
)
def test_what_cannot_be_made_is_one_clear_error_and_leaves_no_folder(home: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert (done.exit_code, list((home / "judges").glob("*"))) == (3, [])
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_description_of_a_category_that_is_a_question_is_the_question(home: Path) -> None:
    described = {"categories": [{"name": NAME, "description": "Does a drug cross an allergy? Cross-reactions count."}]}
    Path("categories.json").write_text(json.dumps(described))
    assert run("crosses_allergy", "--category", NAME, "--categories", "categories.json").exit_code == 0
    about = tomllib.loads((home / "judges" / "crosses_allergy" / "judge.toml").read_text())
    assert (about["question"], about["category"]) == ("Does a drug cross an allergy?", NAME)


def test_without_files_annotations_come_from_the_store_and_traces_from_the_archive(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOUCHSTONE_STORE_URL", f"sqlite:///{home}/store.db")
    monkeypatch.setenv("TOUCHSTONE_ARCHIVE_URL", f"file://{home}/archive")
    (home / "archive").mkdir()
    store = ResultStore.open(f"sqlite:///{home}/store.db", create=True)
    index, at = CaseIndex(store.engine), datetime(2026, 2, 5, tzinfo=UTC)
    archive = Archive(Objects.open(f"file://{home}/archive"), index, ArchiveSettings())
    for number in range(CASES):
        said = {key: value for key, value in annotation(number).items() if key not in {"traceId", "reviewer", "timestamp"}}
        index.annotate(f"e-{number}", "anna", said, at, expected=0, trace_id=f"t-{number}")
        if number < CASES - 5:
            archive.keep(f"e-{number}", "trace", f"t-{number}", orjson.dumps(trace(number) | {"kind": "trace", "id": f"e-{number}"}), at=at)
    store.close()
    done = CliRunner().invoke(app, ["judges", "new", NAME])
    assert done.exit_code == 0, done.output
    assert "5 labelled cases are not at hand" in done.stderr
    shown = examples(home / "judges" / NAME)
    assert sorted(one["fails"] for one in shown) == [False] * 3 + [True] * 3
    assert all(CANARY in one["text"] and one["critique"] for one in shown)
