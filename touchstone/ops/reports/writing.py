"""Writes reports whole or not at all, to a file or to standard output, even if a signal arrives or the reader stops."""

import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Final, NoReturn

from touchstone.ops.reports.files import check_directory, write_whole
from touchstone.scorers.base import ConfigError

STANDARD_OUTPUT: Final = Path("-")
EXIT_STOPPED: Final = 130  # the exit code that shells expect after Ctrl-C
EXIT_TERMINATED: Final = 143  # and after SIGTERM
#: Bytes of a report that are held in memory; a larger one goes to an unnamed temporary file.
_SPOOL_BYTES: Final = 8 * 1024 * 1024
_CHUNK_BYTES: Final = 1024 * 1024


class Stopped(BaseException):
    """Ctrl-C or SIGTERM arrived before the report was written. `exit_code`: the command's."""

    def __init__(self, exit_code: int) -> None:
        super().__init__("stopped before the end; no report was written")
        self.exit_code = exit_code


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise `Stopped` on Ctrl-C and SIGTERM, so that processes and temporary files are tidied away before a command ends.

    It wraps a whole run: scoring, report and writing. Outside the main thread, where no signal arrives, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: object) -> NoReturn:
        raise Stopped(EXIT_TERMINATED if number == signal.SIGTERM else EXIT_STOPPED)

    # SIGINT too: asyncio replaces Python's handler by a cancellation, which a run that never awaits does not receive.
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    taken = [number for number, handler in before.items() if number == signal.SIGTERM or handler is signal.default_int_handler]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(EXIT_STOPPED) from None
    finally:
        for number in taken:
            signal.signal(number, before[number])


def check_output(output: Path | None) -> None:
    """Check that a report can be written there, before anything is read. Raises `ConfigError`."""
    if output is None or output == STANDARD_OUTPUT:
        return
    if output.is_dir():
        raise ConfigError(f"{output}: is a directory; give --output a file")
    if not output.exists():
        check_directory(output.parent, "--output")


def write_report(pieces: Iterable[str], output: Path | None) -> bool:
    """Write a report once it is complete; a failure leaves no partial one. None and `-` are standard output.

    False if the reader stopped early (`head`, a closed pager): the verdict, and so the exit code, are the same. Raises
    `ConfigError` where it cannot be written.
    """
    with SpooledTemporaryFile(_SPOOL_BYTES) as spool:
        for piece in pieces:
            # In chunks, so that a large piece is neither copied as bytes nor held in the spool's memory.
            for start in range(0, len(piece), _CHUNK_BYTES):
                spool.write(piece[start : start + _CHUNK_BYTES].encode("utf-8"))
        spool.seek(0)
        if output is None or output == STANDARD_OUTPUT:
            return _to_standard_output(spool)
        write_whole(output, spool)
    return True


def _to_standard_output(report: IO[bytes]) -> bool:
    """Write bytes, so that the encoding of a terminal or pipe cannot break a report."""
    if sys.stdout is None:  # it was closed before the program began
        return False
    try:
        sys.stdout.flush()
        while chunk := report.read(_CHUNK_BYTES):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Otherwise the interpreter's last flush fails, which changes the exit code.
        sys.stdout = None
        return False
    except OSError as error:
        sys.stdout = None
        raise ConfigError(f"standard output: cannot be written ({error.strerror}); check free space, or name a file with --output") from None
    return True
