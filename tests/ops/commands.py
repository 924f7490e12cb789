"""Runs `touchstone` in this process, for tests of commands."""

import functools
import io
import sys
from dataclasses import dataclass

import pytest
import typer

from touchstone.ops.cli import main

#: The tree of all commands, made once: it takes 40 ms, and tests run a thousand commands.
command_tree = functools.cache(typer.main.get_command)


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def one_line(self) -> str:
        """Standard error, where it is one clear line."""
        (line,) = self.err.strip().splitlines()
        assert line.startswith("touchstone: ")
        return line


class Commands:
    def __init__(self, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
        self._captured, self._monkeypatch = capfdbinary, monkeypatch

    def __call__(self, *arguments: object, stdin: bytes | None = None, env: dict[str, str] | None = None) -> Ran:
        with self._monkeypatch.context() as patch:
            patch.setattr(typer.main, "get_command", command_tree)
            patch.setattr(sys, "argv", ["touchstone", *map(str, arguments)])
            # It sets up logging for the whole process, which is pytest's here, and on a stream that is closed after this test.
            patch.setattr("touchstone.streams.telemetry.logs.configure", lambda _settings: None)
            if stdin is not None:
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main()
        captured = self._captured.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, captured.out.decode(), captured.err.decode())
