"""A judge's whole way: made from a coded category, measured against people, promoted, deciding, and in the shadow again once its prompt is changed."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.doubles.judges import JudgeProcess
from touchstone.ops.cli import app

NAME = "ignores_allergy"
CASES = 240
FAIL = {"critique": "The drug is among the allergies.", "where": "persona", "verdict": "fail"}
#: The scripted judge reads the record, not the examples.
SCRIPT = {"rules": [{"matches": r"to be judged:\n<<\w+ trace>>\nDay of the record:\n\S+\n\nRequest:\nWRONG", "answers": [FAIL]}]}


def trace(number: int) -> dict[str, Any]:
    lists = {"conditions": ["Asthma"], "medications": ["Salbutamol"], "labs": []}
    persona = {"name": f"Ada {'bcdfghklmn'[number % 10] * (2 + number // 10)}", "birthDate": "1976-01-02", "age": 50, "sex": "female"} | lists
    prompt = f"{'WRONG' if number % 3 == 0 else 'RIGHT'} {number}"
    return {"traceId": f"t-{number}", "timestamp": "2026-02-04T14:30:00Z", "prompt": prompt, "persona": persona, "outputs": {}}


def annotation(number: int) -> dict[str, Any]:
    said = {"verdict": "fail", "failureMode": NAME} if number % 3 == 0 else {"verdict": "pass"}
    return {"traceId": f"t-{number}", "reviewer": "anna", "timestamp": "2026-02-05T00:00:00Z"} | said


def run(*arguments: str, code: int = 0) -> Result:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == code, done.output
    return done


def labels() -> dict[str, int]:
    """Label → how many of the two traces have it."""
    report = json.loads(CliRunner().invoke(app, ["score", "failure_modes", "two.jsonl", "--format", "json"]).stdout)
    return {name: count for name, count in report["labels"].items() if count}


@pytest.mark.slow
def test_a_judge_is_made_measured_promoted_and_returns_to_the_shadow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.json").write_text(json.dumps(SCRIPT))
    Path("traces.jsonl").write_text("".join(json.dumps(trace(number)) + "\n" for number in range(CASES)))
    Path("two.jsonl").write_text("".join(json.dumps(trace(number)) + "\n" for number in (0, 1)))
    Path("annotations.json").write_text(json.dumps([annotation(number) for number in range(CASES)]))
    people = ("--annotations", "annotations.json")
    with JudgeProcess(script=Path("script.json")) as server:
        monkeypatch.setenv("TOUCHSTONE_JUDGE_BASE_URL", server.base_url)
        run("judges", "new", NAME, *people, "--traces", "traces.jsonl")
        assert labels() == {"Pass": 2}
        run("judges", "promote", f"failure_modes/{NAME}", *people, code=1)
        run("judges", "calibrate", f"failure_modes/{NAME}", *people, "--traces", "traces.jsonl", "--test", "--gate")
        run("judges", "promote", f"failure_modes/{NAME}", *people)
        assert labels() == {"Pass": 1, "Fail": 1}
        prompt = Path("judges") / NAME / "prompt.md"
        prompt.write_text(prompt.read_text() + "\nTake your time.\n")
        assert labels() == {"Pass": 2}
