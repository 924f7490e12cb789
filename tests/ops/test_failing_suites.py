from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.ops.batch.files import ONE, QUOTING, lines
from tests.ops.commands import Commands
from touchstone.scorers.safe import SUITE


def fails(*_: Any) -> Any:
    raise KeyError("secret-canary")


@pytest.mark.parametrize("step", ["report", "view", "verdict"])
def test_a_suite_that_fails_in_a_report_is_named_with_the_place(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str
) -> None:
    suite = replace(SUITE, layouts={}, fingerprint=lambda _: {}, build=lambda _: SUITE.build(QUOTING), **{step: fails})
    monkeypatch.setattr("touchstone.scorers.registry.load_suite", lambda _: suite)
    ran = Commands(capfdbinary, monkeypatch)("score", "safe_v0", lines(tmp_path / "a.jsonl", ONE))
    assert ran.code == 70
    assert ran.one_line.startswith(f"touchstone: suite safe_v0: {step} failed (KeyError at test_failing_suites.py:")
    assert "secret-canary" not in ran.err


def test_the_files_in_folders_that_are_not_read_are_told(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines(tmp_path / "d" / "a.jsonl", ONE)
    (tmp_path / "d" / "c.txt").touch()
    run = Commands(capfdbinary, monkeypatch)
    for command in (("score", "safe_v0"), ("safe", "score")):
        assert "1 file in folders is not a case file (.json, .jsonl, .ndjson, .gz, .zst): not read" in run(*command, tmp_path / "d").err
