"""The command line, for the tests of commands."""

from pathlib import Path

import pytest

from tests.ops.commands import Commands


@pytest.fixture
def commands(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Commands:
    """`touchstone`, run in this process and in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return Commands(capfdbinary, monkeypatch)


@pytest.fixture
def run(commands: Commands) -> Commands:
    return commands
