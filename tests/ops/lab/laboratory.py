"""Runs `python -m touchstone.ops.lab` in this process, for tests of its commands."""

import pytest

from tests.ops.commands import Ran
from touchstone.ops.lab.__main__ import main


class Laboratory:
    def __init__(self, captured: pytest.CaptureFixture[bytes]) -> None:
        self._captured = captured

    def __call__(self, *arguments: object) -> Ran:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ended:  # argparse's
            code = int(ended.code or 0)
        captured = self._captured.readouterr()
        return Ran(code, captured.out.decode(), captured.err.decode())
