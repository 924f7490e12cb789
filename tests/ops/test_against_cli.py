import json
from pathlib import Path
from typing import Any

import pytest

from tests.ops.commands import Commands
from tests.ops.store.test_trends import batch
from tests.scorers.safe.cases import record
from tests.streams.results_topic import projection
from touchstone.ops.store.results import ResultStore

PATIENT = {"resourceType": "Patient", "id": "p", "gender": "female", "birthDate": "1980-01-01"}


def cases(path: Path, passing: int, of: int = 4) -> Path:
    written = [record(f"T{number}", signals=["fever"], phrases=["pain"], found=["fever"] if number < passing else [], summary="pain") for number in range(of)]
    path.write_text("".join(json.dumps(one) + "\n" for one in written), encoding="utf-8")
    return path


@pytest.mark.parametrize("command", [("safe", "score"), ("score", "safe_v0")], ids=" ".join)
def test_a_batch_is_compared_with_the_json_report_of_an_earlier_one(run: Commands, tmp_path: Path, command: tuple[str, str]) -> None:
    run(*command, cases(tmp_path / "a.jsonl", 4), "--format", "json", "--output", "before.json")
    ran = run(*command, cases(tmp_path / "b.jsonl", 1), "--against", "before.json", "--format", "json")
    found = json.loads(ran.out)["comparison"]
    assert (found["pairs"], found["worsened"], found["pass_rate"]["difference"]) == (4, 3, -0.75)
    assert (found["before"]["name"], found["alike"]) == ("before.json", True)


def test_clinical_files_are_compared_and_where_json_has_no_place_a_line_says_it(run: Commands, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(PATIENT), encoding="utf-8")
    run("eval", "validate", "p.json", "--format", "json", "--output", "before.json")
    path.write_text(json.dumps(PATIENT | {"gender": "unheard of"}), encoding="utf-8")
    ran = run("eval", "validate", "p.json", "--against", "before.json", "--format", "json")
    assert isinstance(json.loads(ran.out), list)
    assert "against before.json: pass rate 100% → 0%" in ran.err
    assert "Against before.json: pass rate 100% → 0%" in run("eval", "validate", "p.json", "--against", "before.json").out


@pytest.mark.parametrize(("drop", "code"), [("0.5", 1), ("0.75", 0)])
def test_a_drop_is_a_gate(run: Commands, tmp_path: Path, drop: str, code: int) -> None:
    run("safe", "score", cases(tmp_path / "a.jsonl", 4), "--format", "json", "--output", "before.json")
    ran = run("safe", "score", cases(tmp_path / "b.jsonl", 1), "--against", "before.json", "--max-drop", drop)
    assert (ran.code, "pass rate -75.0 points since the earlier batch" in ran.err) == (code, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--max-drop", "0.1"), "--max-drop needs an earlier batch; name one with --against"),
        (("--against", "nowhere.json"), "--against nowhere.json: cannot be read (No such file or directory)"),
        (("--against", "a.jsonl"), "--against a.jsonl: is no JSON report of safe_v0"),
    ],
)
@pytest.mark.parametrize("command", [("safe", "score"), ("score", "safe_v0")], ids=" ".join)
def test_a_mistake_is_one_line_and_exit_3_before_anything_is_scored(run: Commands, tmp_path: Path, command: tuple[str, str], arguments: Any, said: str) -> None:
    cases(tmp_path / "a.jsonl", 4)
    ran = run(*command, "a.jsonl", *arguments)
    assert (ran.code, ran.out) == (3, "")
    assert said in ran.one_line


def test_every_command_that_reports_has_both_options(run: Commands) -> None:
    for command in (("safe", "score"), ("loss", "score"), ("eval", "validate"), ("score",), ("report",)):
        told = run(*command, "--help", env={"COLUMNS": "200", "TERM": "dumb"}).out
        assert "--against" in told
        assert "--max-drop" in told


@pytest.fixture
def stored(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = ResultStore.open(url, create=True)
    store.apply(projection(*batch("b1", 0, ("Pass",) * 6), *batch("b2", 24, ("Pass",) * 3 + ("Fail",) * 3)), 1.0)
    store.close()
    return url


def test_a_stored_batch_is_compared_with_another_and_has_a_trend(run: Commands, stored: str) -> None:
    ran = run("report", "--store", stored, "--batch", "b2", "--against", "b1", "--format", "html")
    assert "Against batch b1: pass rate 100% → 50%" in ran.out
    assert 'aria-label="Pass rate over 2 points, from 100% to 50%' in ran.out


def test_a_batch_that_the_store_does_not_have_is_one_line_and_exit_3(run: Commands, stored: str) -> None:
    ran = run("report", "--store", stored, "--batch", "b2", "--against", "b0")
    assert ran.code == 3
    assert "--against b0: the store has no such batch of the concern (it holds b1, b2)" in ran.err


def test_a_stored_batch_can_be_gated_against_a_file(run: Commands, stored: str) -> None:
    run("report", "--store", stored, "--batch", "b1", "--format", "json", "--output", "before.json")
    ran = run("report", "--store", stored, "--batch", "b2", "--against", "before.json", "--max-drop", "0.4")
    assert (ran.code, "Against before.json: pass rate 100% → 50%" in ran.out) == (1, True)
    assert run("report", "--store", stored, "--batch", "b2", "--max-drop", "0.4").code == 3
