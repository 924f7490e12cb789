"""Ctrl-C ends any command without a traceback, also while it is still imported."""

import os
import subprocess
import sys

import pytest

#: Sends the interrupt at the moment at which a module is looked for: a stopwatch would hit another place on every machine.
INTERRUPTED = """
import os, signal, sys
import touchstone.__main__

class Interrupter:
    def find_spec(name, path=None, target=None):
        if name == {at!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupter)
sys.argv = ["touchstone", *{command!r}]
touchstone.__main__.main()
print("not interrupted")
"""


@pytest.mark.parametrize(
    ("command", "at"),
    [
        (["--help"], "touchstone.ops"),
        (["--help"], "typer"),
        (["--help"], "touchstone.ops.cli.selftest"),  # the last one of the commands
        (["demo"], "touchstone.streams.topics.tail"),
        (["up", "--suite", "safe_v0"], "aiokafka"),
        (["serve", "--port", "0"], "starlette"),
        (["worker", "--suite", "safe_v0"], "touchstone.streams.process.worker"),
    ],
)
def test_an_interrupt_amid_an_import_ends_it_quietly(command: list[str], at: str) -> None:
    program = INTERRUPTED.format(command=command, at=at)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 130
    assert "Traceback" not in run.stderr
    assert "not interrupted" not in run.stdout


def test_the_command_is_that_module() -> None:
    from importlib.metadata import entry_points

    (command,) = entry_points(group="console_scripts", name="touchstone")
    assert command.value == "touchstone.__main__:main"


def test_an_interrupt_that_the_parent_ignores_stays_ignored() -> None:
    program = INTERRUPTED.format(command=["--help"], at="typer")
    command = ["bash", "-c", 'trap "" INT; exec "$@"', "bash", sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=dict(os.environ))
    assert run.returncode == 0
    assert "Usage: touchstone" in run.stdout
