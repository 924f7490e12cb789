import sys
from pathlib import Path

import pytest

from tests.ops.commands import Commands

PROBLEM = "broken.jsonl"


class Watched:
    def __init__(self, name: str) -> None:
        self._name = name

    def isatty(self) -> bool:
        return True

    def __getattr__(self, name: str) -> object:
        return getattr(getattr(sys, f"__{self._name}__"), name)


@pytest.fixture
def run(commands: Commands, tmp_path: Path) -> Commands:
    (tmp_path / PROBLEM).write_text('{"test_id": "a", "concern_id": "c", "batch_id": "b"}\n{"test_id"\n')
    return commands


@pytest.mark.parametrize("command", ["score safe_v0", "safe score", "eval validate"])
@pytest.mark.parametrize("watched", [("stdout", "stderr"), ("stderr",), ("stdout",)], ids=" and ".join)
def test_an_error_of_the_input_is_told_once_on_a_terminal(run: Commands, monkeypatch: pytest.MonkeyPatch, command: str, watched: tuple[str, ...]) -> None:
    for name in watched:
        monkeypatch.setattr(sys, name, Watched(name))
    ran = run(*command.split(), PROBLEM)
    assert ran.code in {2, 3}
    assert (ran.out.count(PROBLEM), ran.err.count(PROBLEM)) == (1, 0 if len(watched) == 2 else 1)
