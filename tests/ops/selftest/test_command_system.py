import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from touchstone.ops.selftest import command_system
from touchstone.ops.selftest.command_system import Command
from touchstone.scorers.base import ConfigError
from touchstone.scorers.selftest.system import Outcome, SystemFault, Task
from touchstone.scorers.selftest.system_settings import CommandSystem

TASK = Task("selftest-20260206-1234-a001", "selftest-20260206-1234-a", "What is $(touch made) `touch made`; 'é'?")
ECHO = "import sys; print(sys.argv[1:], sys.stdin.read())"


def command(program: str, *arguments: str, **fields: Any) -> Command:
    return Command(CommandSystem.model_validate({"adapter": "command", "command": [sys.executable, "-c", program, *arguments], **fields}))


async def fault(program: str, timeout_s: float = 30, **fields: Any) -> SystemFault:
    with pytest.raises(SystemFault) as raised:
        await command(program, **fields).ask(TASK, timeout_s)
    return raised.value


async def test_the_request_is_standard_input_and_the_answer_standard_output() -> None:
    program = "import sys; print('You asked: ' + sys.stdin.read())"
    assert await command(program).ask(TASK, 30) == Outcome(TASK.session_id, "COMPLETE", f"You asked: {TASK.prompt}")


async def test_no_shell_reads_the_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = await command(ECHO, "--ask={{prompt}}", "{{turn}}", input=None).ask(TASK, 30)
    assert outcome.output == f"{[f'--ask={TASK.prompt}', '1']!r}"
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240  # nothing was made


async def test_the_next_turn_has_the_conversation() -> None:
    program = "import json, sys; said = json.load(sys.stdin); print(json.dumps({'text': f'{len(said)} messages', 'state': 'done'}))"
    tested = command(program, input="{{messages}}", answer="text", status="state", statuses={"done": "COMPLETE"})
    before = await tested.ask(TASK, 30)
    assert (before.output, (await tested.reply(TASK, before, "And then?", 30)).output) == ("1 messages", "3 messages")


@pytest.mark.parametrize(
    ("program", "fields", "code"),
    [
        ("raise SystemExit(3)", {}, "failed"),
        ("print('no JSON, a secret')", {"answer": "text"}, "unreadable"),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", {}, "unreadable"),
        ("print('{}')", {"answer": "text"}, "unreadable"),
        ("import os, sys; os.kill(os.getpid(), 9)", {}, "failed"),
    ],
)
async def test_a_fault_of_the_program_is_named_and_not_quoted(program: str, fields: dict[str, Any], code: str) -> None:
    error = await fault(program, **fields)
    assert error.code == code
    assert "secret" not in str(error)


async def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    program = f"import subprocess, time; child = subprocess.Popen(['sleep', '60']); open({str(note)!r}, 'w').write(str(child.pid)); time.sleep(60)"
    began = time.monotonic()
    assert (await fault(program, 2)).code == "timeout"
    assert time.monotonic() - began < 30, "the turn waits for the child's end"
    until = time.monotonic() + 30
    while is_running(int(note.read_text())):
        assert time.monotonic() < until, "the child outlives the turn"
        await asyncio.sleep(0.02)


async def test_a_child_that_left_the_group_does_not_hold_the_run(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    program = f"import subprocess; child = subprocess.Popen(['sleep', '60'], start_new_session=True); open({str(note)!r}, 'w').write(str(child.pid))"
    began = time.monotonic()
    try:
        assert (await fault(program, 2)).code == "timeout"
        assert time.monotonic() - began < 30
    finally:
        os.kill(int(note.read_text()), signal.SIGKILL)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except (OSError, IndexError):
        return False


async def test_output_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_system, "OUTPUT_BYTES_MAX", 100_000)
    assert (await fault("while True: print('x' * 10_000)")).code == "too_large"


async def test_a_request_that_is_not_read_is_no_fault() -> None:
    assert (await command("print('done')", input=["{{prompt}}", "x" * 500_000]).ask(TASK, 30)).output == "done"


async def test_a_nul_in_an_argument_is_a_fault() -> None:
    with pytest.raises(SystemFault, match="failed: ValueError"):
        await command(ECHO, "{{prompt}}").ask(Task(TASK.session_id, TASK.task_group_id, "a\0b"), 30)


def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(ConfigError, match="no program no-such-program-here"):
        Command(CommandSystem.model_validate({"adapter": "command", "command": ["no-such-program-here"]}))


ENDS = """
import asyncio, sys
from tests.ops.selftest import test_command_system as tests
async def run():
    error = await tests.fault(sys.argv[1], float(sys.argv[2]))
    print(error.code)
asyncio.run(run())
"""


@pytest.mark.parametrize(
    ("program", "timeout_s", "code"),
    [
        ("while True: print('y' * 100_000)", 60, "too_large"),
        ("import subprocess; subprocess.Popen(['sleep', '30'], start_new_session=True)", 2, "timeout"),
    ],
)
def test_a_run_ends_without_a_word_of_the_interpreter(program: str, timeout_s: float, code: str) -> None:
    ended = subprocess.run([sys.executable, "-c", ENDS, program, str(timeout_s)], capture_output=True, text=True, timeout=500, check=False)
    assert (ended.stdout.strip(), ended.stderr) == (code, "")
