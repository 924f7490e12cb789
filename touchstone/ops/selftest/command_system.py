"""A system under test that is a program, started anew for each turn."""

import asyncio
import contextlib
import os
import shutil
import signal

from touchstone.scorers.base import ConfigError
from touchstone.scorers.selftest.system import OUTPUT_CHARS_MAX, Outcome, SystemFault, Task, writable
from touchstone.scorers.selftest.system_settings import CommandSystem
from touchstone.scorers.selftest.template import as_text, filled
from touchstone.scorers.selftest.turns import outcome_of_answer, sendable, values_of

#: Room for UTF-8 and JSON's escapes.
OUTPUT_BYTES_MAX = 6 * OUTPUT_CHARS_MAX + 65_536
#: How long a program that was killed is waited for.
END_S = 2.0


class Command:
    """Starts the program without a shell, in a process group of its own that ends with the turn. Standard error is not read: it may quote texts."""

    def __init__(self, settings: CommandSystem) -> None:
        """Starts nothing. Raises `ConfigError` for a program that is not there."""
        program = settings.command[0]
        if shutil.which(program) is None:
            raise ConfigError(f"system.command: no program {program} that can be run; check its name, or give its path")
        self.name = f"command:{program}"
        self._settings = settings

    async def open(self) -> None:
        """Nothing to connect beforehand."""

    async def ask(self, task: Task, timeout_s: float) -> Outcome:
        """Run the program for the first turn."""
        return await self._asked(task, task.prompt, None, timeout_s)

    async def reply(self, task: Task, before: Outcome, text: str, timeout_s: float) -> Outcome:
        """Run the program for the next turn."""
        return await self._asked(task, text, before, timeout_s)

    async def close(self) -> None:
        """Nothing to release: no program outlives its turn."""

    async def _asked(self, task: Task, text: str, before: Outcome | None, timeout_s: float) -> Outcome:
        values = values_of(self._settings, task, text, before)
        with sendable():
            arguments = [writable(as_text(filled(part, values))) for part in self._settings.command]
            told = b"" if self._settings.input is None else as_text(filled(self._settings.input, values)).encode("utf-8", "replace")
        try:
            async with asyncio.timeout(timeout_s):
                output = await _run(arguments, told)
        except TimeoutError:
            raise SystemFault("timeout") from None
        return outcome_of_answer(self._settings, output, task, text, before)


async def _run(arguments: list[str], told: bytes) -> bytes:
    """The standard output of a program that ended well. Raises `SystemFault`."""
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, start_new_session=True, limit=1 << 16
        )
    except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
        raise SystemFault("failed", type(error).__name__) from None
    try:
        output, _ = await asyncio.gather(_read(process.stdout), _write(process.stdin, told))
        code = await process.wait()
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        # Trap: waiting for the process also waits for its pipes. They stay open while unread output is in them, or a child that left the group holds
        # them, and later the interpreter complains that they were not closed. asyncio has no public way to close them; closing the whole transport
        # would reap the process before asyncio does, which complains about that.
        for number in (0, 1):
            pipe_end = process._transport.get_pipe_transport(number)  # type: ignore[attr-defined]  # noqa: SLF001
            if pipe_end is not None:
                pipe_end.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), END_S)
    if code:
        raise SystemFault("failed", f"exit code {code}")
    return output


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    """What a program writes, up to the bound. Raises `SystemFault` beyond."""
    assert stream is not None
    parts, size = [], 0
    while part := await stream.read(1 << 16):
        parts.append(part)
        if (size := size + len(part)) > OUTPUT_BYTES_MAX:
            raise SystemFault("too_large", f"an output of more than {OUTPUT_BYTES_MAX} bytes")
    return b"".join(parts)


async def _write(stream: asyncio.StreamWriter | None, told: bytes) -> None:
    """Hand the input over. A program need not read it."""
    assert stream is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(told)
        await stream.drain()
    stream.close()
