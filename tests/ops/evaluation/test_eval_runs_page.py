import re
from collections import Counter
from pathlib import Path

import pytest
from typer.main import get_command

from tests.ops.commands import Commands
from touchstone.ops.cli import app
from touchstone.ops.evaluation.settings import SystemSettings
from touchstone.scorers.clinical.curated import curated_cases

PAGE = (Path(__file__).parents[3] / "docs" / "eval-runs.md").read_text("utf-8")
#: What is another one every time.
CHANGING = re.compile(r"(?<=Duration: )\d+\.\d|(?<=eval-)\d{8}-\d{6}-[0-9a-f]{6}")


def test_the_example_is_what_the_command_prints(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    _, _, rest = PAGE.partition("$ ")
    command, _, wanted = rest.partition("\n")
    ran = Commands(capfdbinary, monkeypatch)(*command.split()[1:])
    assert CHANGING.sub("…", ran.out + ran.err) == CHANGING.sub("…", wanted.partition("```")[0])


def test_every_option_and_setting_is_on_the_page() -> None:
    command = get_command(app).commands["eval"]  # type: ignore[attr-defined]
    names = {name for parameter in command.params for name in parameter.opts if name not in {"--help", "-h"}}
    assert {name for name in names if f"`{name}" not in PAGE} == set()
    assert {name for name in SystemSettings.model_fields if f"`{name}`" not in PAGE} == set()


def test_the_counts_of_the_categories_are_those_of_the_cases() -> None:
    for category, count in Counter(case.category for case in curated_cases()).items():
        assert re.search(rf"`{category}`\s+\({count}[):]", PAGE), category
