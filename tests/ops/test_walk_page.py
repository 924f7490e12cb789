"""docs/walk.md is run as a reader would: every command of it, in its order, and its outputs are those that the page shows."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ops.commands import Commands, Ran

PAGE = (Path(__file__).parents[2] / "docs" / "walk.md").read_text("utf-8")
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


def edit_categories() -> None:
    """What the page asks for in the editor."""
    path = Path("categories.json")
    document = json.loads(path.read_text("utf-8"))
    for one in document["categories"]:
        one["kind"] = "specification" if one["name"] in SPECIFICATION else "generalization"
    path.write_text(json.dumps(document), "utf-8")


def test_the_walk_does_what_the_page_shows(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for step in steps(PAGE):
        if step.command == "$EDITOR categories.json":
            edit_categories()
            continue
        name, *arguments = shlex.split(step.command)
        assert name == "touchstone"
        assert_shown(step.shown, commands(*arguments))
    assert_rates_of_the_report(commands)


def assert_rates_of_the_report(commands: Commands) -> None:
    """Each kind is reported, and its planted rate lies in its interval."""
    ran = commands("errors", "report", "eval-results/annotations.json", "--format", "json")
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
