import json
import urllib.request
from pathlib import Path

import pytest

from tests.doubles.judges import Fault, JudgeProcess, Kind, Rule, read_script
from tests.doubles.judges.__main__ import main
from touchstone.scorers.base import ConfigError


def test_a_process_answers_by_its_script_and_tells_what_it_was_asked(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"rules": [{"contains": "sky", "answers": ["blue"]}]}))
    with JudgeProcess(script=script) as judge:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "the sky"}]}).encode()
        request = urllib.request.Request(f"{judge.base_url}/chat/completions", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            said = json.load(answer)
        assert said["choices"][0]["message"]["content"] == "blue"
        assert judge.seen()["kinds"] == {"answered": 1}
    assert judge._process.returncode == 0


def test_a_script_file_holds_rules_faults_and_a_seed(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"seed": 3, "rules": [{"model": "m*", "answers": [{"a": 1}]}], "faults": [{"kind": "hang", "share": 0.1}]}')
    script = read_script(path)
    assert (script.seed, script.rules, script.faults) == (3, (Rule(model="m*", answers=({"a": 1},)),), (Fault(Kind.HANG, share=0.1),))


@pytest.mark.parametrize(
    ("text", "place"),
    [("{", "the whole file"), ('{"rule": []}', "rule"), ('{"faults": [{"kind": "flood"}]}', "faults.0.kind"), ('{"rules": [{"turn": 0}]}', "rules.0.turn")],
)
def test_a_wrong_script_is_told_with_the_place(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"is wrong at {place}:"):
        read_script(path)


def test_a_script_that_is_not_there_ends_the_command_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--script", str(tmp_path / "none.json")]) == 3
    assert "cannot be read" in capsys.readouterr().err


def test_an_unknown_fault_is_told_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--fault", "flood"])
    assert caught.value.code == 2
    assert "rate_limited" in capsys.readouterr().err
