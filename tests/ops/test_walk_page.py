"""docs/walk.md is run as a reader would: every command of it, in its order, and its outputs are those that the page shows."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.doubles.judges import JudgeServer, Script, read_script
from tests.ops.commands import Commands, Ran
from tests.ops.selftest.test_selftest_cli import InAThread
from tests.ops.viewer.started import viewing

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "walk.md").read_text("utf-8")
#: The kinds that the reader calls failures of the specification, in the editor.
SPECIFICATION = {"placeholder_name"}


@dataclass(frozen=True)
class Step:
    """A command of the page, and what the page shows below it."""

    command: str
    shown: str


def steps(page: str) -> Iterator[Step]:
    """The commands of a page's console blocks, in order."""
    for block in re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = re.sub(r"\\\n\s*", "", part).partition("\n")
            yield Step(command, shown)


def assert_shown(shown: str, ran: Ran) -> None:
    """The output is what is shown; a line `…` stands for any lines."""
    printed = (ran.out + ran.err).splitlines()
    wanted = [re.escape(line.rstrip()) if line != "…" else None for line in shown.splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line is None else f"{line} *\n" for line in wanted)
    assert re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)), "\n".join(printed)


def look_at_traces(shown: str) -> None:
    """Open the viewer and end it. Time and port are others than on the page, and a slow machine sees the progress, or the address before it."""
    with viewing(cwd=Path.cwd()) as viewer:
        viewer.told("traces read in")
        assert viewer.end() == 0
    vary = re.compile(r"\d+\.\d s|:\d+(?= )")
    assert {vary.sub("", line) for line in shown.splitlines()} <= {vary.sub("", line) for line in viewer.said}


def edit_categories() -> None:
    """What the page asks for in the editor."""
    path = Path("categories.json")
    document = json.loads(path.read_text("utf-8"))
    for one in document["categories"]:
        one["kind"] = "specification" if one["name"] in SPECIFICATION else "generalization"
    path.write_text(json.dumps(document), "utf-8")


@pytest.mark.slow(20)
def test_the_walk_does_what_the_page_shows(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    script = read_script(ROOT / "docs" / "examples" / "walk-judge.json")
    with InAThread(JudgeServer(Script(*script.rules))) as server:
        for step in steps(PAGE):
            match shlex.split(step.command, comments=True):
                case ["$EDITOR", "categories.json"]:
                    edit_categories()
                case ["touchstone", "viewer"]:
                    look_at_traces(step.shown)
                case ["python", "-m", "tests.doubles.judges", "--script", "docs/examples/walk-judge.json", *_]:
                    pass  # runs since the beginning, on a free port
                case ["export", _]:
                    monkeypatch.setenv("TOUCHSTONE_JUDGE_BASE_URL", server.base_url)
                case ["head", "-12", file]:
                    assert step.shown.splitlines() == Path(file).read_text("utf-8").splitlines()[:12]
                case ["touchstone", *arguments]:
                    before = server.seen.summary()["requests"]
                    assert_shown(step.shown, commands(*arguments))
                    # The prompts of cases are patient data: who asks for no judge must have none.
                    assert "--no-judge" not in arguments or server.seen.summary()["requests"] == before
                case _:
                    pytest.fail(f"the page shows a command that no reader was thought to run: {step.command}")
        assert_rates_of_the_report(commands)
        assert_corrected_rates(commands)


def assert_corrected_rates(commands: Commands) -> None:
    """Every kind that the page leaves to the reader has a judge, and its planted rate in patients whom nobody reviewed lies in its corrected interval."""
    files = ("--annotations", "reviews.json", "--traces", "eval-results/traces")
    question = "Is there a visit for something that the patient does not have?"
    assert commands("judges", "new", "visit_for_something_else", *files, "--question", question).code == 0
    planted = json.loads(Path("next/plan.json").read_text("utf-8"))["counts"]
    for kind, count in planted.items():
        if kind in SPECIFICATION:
            continue
        subject = f"failure_modes/{kind}"
        if not Path("judges", kind, "calibration.json").exists():
            assert commands("judges", "calibrate", subject, *files, "--test").code == 0
        found = json.loads(commands("judges", "prevalence", subject, "next/traces", "--json").out)
        assert found["seen"]["total"] == 200
        assert found["low"] <= count / 200 <= found["high"], kind


def assert_rates_of_the_report(commands: Commands) -> None:
    """Each kind is reported, and its planted rate lies in its interval."""
    ran = commands("errors", "report", "reviews.json", "--format", "json")
    (table,) = (one for one in json.loads(ran.out)["tables"] if one["title"] == "Kinds of failure")
    found = {row["Kind"]: row["Share (95% interval)"] for row in table["rows"]}
    planted = json.loads(Path("plan.json").read_text("utf-8"))["counts"]
    assert set(found) == set(planted)
    for kind, count in planted.items():
        _, low, high = map(int, re.findall(r"(\d+)%", found[kind]))
        assert low <= count <= high, kind


def test_an_output_that_is_not_shown_fails() -> None:
    ran = Ran(0, "one\ntwo\nthree\n", "")
    assert_shown("one\n…\nthree\n", ran)
    for shown in ("one\nthree\n", "one\n", "one\n…\ntwo\n"):
        with pytest.raises(AssertionError):
            assert_shown(shown, ran)
