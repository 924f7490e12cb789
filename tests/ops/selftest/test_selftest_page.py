import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.doubles.judges import JudgeServer, Script, read_script
from tests.ops.commands import Commands
from tests.ops.selftest.test_selftest_cli import InAThread
from touchstone.ops.selftest.config_file import packaged, parse, read_requests
from touchstone.scorers.selftest.rubric import WEIGHTS
from touchstone.scorers.selftest.template import NAMES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "selftest.md").read_text("utf-8")
SYSTEMS = (ROOT / "docs" / "selftest-systems.md").read_text("utf-8")


def same_everywhere(text: str) -> str:
    """Without what differs between runs: name, moment, durations."""
    text = re.sub(r"selftest-\d{8}-\d{4}-[0-9a-f]+", "RUN", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "MOMENT", text)
    return re.sub(r"\d+\.\d s$", "0.0 s", text, flags=re.MULTILINE)


def block(kind: str, containing: str = "") -> str:
    return next(found for found in re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) if containing in found)


def test_the_example_prints_and_writes_what_the_page_shows(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    script = read_script(ROOT / "docs" / "examples" / "selftest-judge.json")
    with InAThread(JudgeServer(Script(*script.rules))) as server:
        ran = Commands(capfdbinary, monkeypatch)(
            *("selftest", "--system", "python:docs.examples.selftest_system:answer", "--seed", "7", "--output", tmp_path),
            env={"TOUCHSTONE_JUDGE_BASE_URL": server.base_url},
        )
    assert ran.code == 1
    shown = block("console", "--seed 7\n").partition("--seed 7\n")[2]
    assert same_everywhere(ran.out + ran.err.replace(f"{tmp_path}/", "")) == same_everywhere(shown)
    (summary,) = (tmp_path / "docs" / "reports" / "selftest").iterdir()
    assert same_everywhere(summary.read_text()) == same_everywhere(block("markdown"))
    (whole,) = (tmp_path / "reports" / "selftest").iterdir()
    assert json.loads(whole.read_text())["cases"][1]["generator_refused"] == ["unsafe: file_change"]


def test_the_first_command_of_the_page_prints_what_it_shows(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    _, command, shown = re.split(r"^\$ touchstone (.+)\n", block("console"), flags=re.MULTILINE)
    assert PAGE.index("```console") < 500
    with InAThread(JudgeServer(Script(*read_script(ROOT / "docs" / "examples" / "selftest-judge.json").rules))) as server:
        ran = Commands(capfdbinary, monkeypatch)(
            *shlex.split(command.replace("command:python ", f"command:{sys.executable} ")),
            *("--output", tmp_path),
            env={"TOUCHSTONE_JUDGE_BASE_URL": server.base_url},
        )
    assert same_everywhere(ran.out + ran.err.replace(f"{tmp_path}/", "")) == same_everywhere(shown)
    (example,) = (line for line in PAGE.splitlines() if line.startswith('{"id": "card"'))
    (tmp_path / "line.jsonl").write_text(example)
    assert len(read_requests(tmp_path / "line.jsonl")[0].follow_ups) == 1


def test_the_file_that_is_shown_can_be_read() -> None:
    assert parse(block("yaml"), "docs/selftest.md").effective_threshold == 0.74


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", SYSTEMS, re.DOTALL))
def test_the_systems_that_are_shown_can_be_read(text: str) -> None:
    scenario = "scenarios: [{id: a, description: b, expected_status: COMPLETE}]"
    assert parse(f"version: 1\n{scenario}\n{text}", "docs/selftest-systems.md").system is not None


def test_the_places_are_those_of_the_code() -> None:
    shown = set(re.findall(r"`\{\{(\w+)\}\}`", SYSTEMS.partition("**Places**")[2].partition("names in")[0]))
    assert shown == set(NAMES)


def test_the_commented_systems_of_the_packaged_file_can_be_used() -> None:
    commented = re.findall(r"(?:^#[ ].*\n)+", packaged().partition("or give --system.\n")[2], re.MULTILINE)[0]
    for text in commented.replace("# ", "", 1).split("\n# system:"):
        document = "system:" + text.removeprefix("system:").replace("\n# ", "\n")
        scenario = "scenarios: [{id: a, description: b, expected_status: COMPLETE}]"
        assert parse(f"version: 1\n{scenario}\n{document}", "packaged").system is not None


def test_the_weights_are_those_of_the_code() -> None:
    assert {name: float(weight) for name, weight in re.findall(r"\| `(\w+_score)` \| ([\d.]+) \|", PAGE)} == WEIGHTS


def test_the_screen_s_requests_are_as_many_as_the_page_says() -> None:
    rows = [json.loads(line) for line in (ROOT / "tests/scorers/selftest/prompts.jsonl").read_text("utf-8").splitlines()]
    unseen = [row["dangerous"] for row in rows if row["round"]]
    assert (len(rows), len(rows) - len(unseen), sum(unseen), len(unseen) - sum(unseen)) == (239, 52, 97, 90)
