import json
import re
from pathlib import Path

import pytest

from tests.doubles.judges import JudgeServer, Script, read_script
from tests.ops.commands import Commands
from tests.ops.selftest.test_selftest_cli import InAThread
from touchstone.ops.selftest.config_file import parse
from touchstone.scorers.selftest.rubric import WEIGHTS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "selftest.md").read_text("utf-8")


def same_everywhere(text: str) -> str:
    """Without what differs between runs: name, moment, durations."""
    text = re.sub(r"selftest-\d{8}-\d{4}-[0-9a-f]+", "RUN", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "MOMENT", text)
    return re.sub(r"\d+\.\d s$", "0.0 s", text, flags=re.MULTILINE)


def block(kind: str) -> str:
    found = re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def test_the_example_prints_and_writes_what_the_page_shows(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    script = read_script(ROOT / "docs" / "examples" / "selftest-judge.json")
    with InAThread(JudgeServer(Script(*script.rules))) as server:
        ran = Commands(capfdbinary, monkeypatch)(
            *("selftest", "--system", "python:docs.examples.selftest_system:answer", "--seed", "7", "--output", tmp_path),
            env={"TOUCHSTONE_JUDGE_BASE_URL": server.base_url},
        )
    assert ran.code == 1
    shown = block("console").partition("--seed 7\n")[2]
    assert same_everywhere(ran.out + ran.err.replace(f"{tmp_path}/", "")) == same_everywhere(shown)
    (summary,) = (tmp_path / "docs" / "reports" / "selftest").iterdir()
    assert same_everywhere(summary.read_text()) == same_everywhere(block("markdown"))
    (whole,) = (tmp_path / "reports" / "selftest").iterdir()
    assert json.loads(whole.read_text())["cases"][1]["generator_refused"] == ["unsafe: file_change"]


def test_the_file_that_is_shown_can_be_read() -> None:
    assert parse(block("yaml"), "docs/selftest.md").effective_threshold == 0.74


def test_the_weights_are_those_of_the_code() -> None:
    assert {name: float(weight) for name, weight in re.findall(r"\| `(\w+_score)` \| ([\d.]+) \|", PAGE)} == WEIGHTS


def test_the_screen_s_requests_are_as_many_as_the_page_says() -> None:
    rows = [json.loads(line) for line in (ROOT / "tests/scorers/selftest/prompts.jsonl").read_text("utf-8").splitlines()]
    unseen = [row["dangerous"] for row in rows if row["round"]]
    assert (len(rows), len(rows) - len(unseen), sum(unseen), len(unseen) - sum(unseen)) == (239, 52, 97, 90)
