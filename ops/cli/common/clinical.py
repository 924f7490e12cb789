"""Writing a clinical report: whole or not at all, to a file or to standard output. `eval validate` and `report` share it."""

import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, NoReturn

import typer

from touchstone.ops.cli.common.shared import EXIT_STOPPED, EXIT_TERMINATED, fail, one_line, until_read_no_more
from touchstone.ops.cli.common.terminal import STANDARD_OUTPUT

if TYPE_CHECKING:
    from touchstone.ops.reports.clinical import ClinicalReporter
    from touchstone.ops.reports.verdict import Verdict
    from touchstone.schemas.reports.clinical import JudgedFile

#: What is written before the run ends is held in memory, and beyond so many bytes on disk.
_SPOOL_BYTES = 8 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024


def check_output(output: Path | None) -> None:
    """Refuse a place where no report can be written, before anything is read."""
    from touchstone.ops.reports.files import check_directory

    if output is None or output == STANDARD_OUTPUT:
        return
    if output.is_dir():
        fail(f"{output}: is a directory; give --output a file")
    if not output.exists():
        check_directory(output.parent, "--output")


def write_report(
    judged: "Iterable[JudgedFile]", reporter: "ClinicalReporter", output: Path | None, *, noun: str = "file", min_pass_rate: float | None = None
) -> "Verdict":
    """Report on everything that is judged, and say the verdict. Where it is stopped it ends without a report: exit 130 by Ctrl-C, 143 by SIGTERM."""
    from touchstone.ops.reports.clinical import Tally, clinical_verdict

    begun, tally = time.perf_counter(), Tally()
    # A run that is broken off leaves no half report, and no report has to fit into memory.
    with SpooledTemporaryFile(_SPOOL_BYTES) as spool:
        spool.write(reporter.begin().encode())
        with _stopped():
            for one in judged:
                tally.add(one)
                spool.write(reporter.add(one).encode())
        summary = tally.summary(time.perf_counter() - begun)
        verdict = clinical_verdict(summary, noun=noun, min_pass_rate=min_pass_rate)
        spool.write(reporter.end(summary, verdict).encode())
        spool.seek(0)
        _deliver(spool, output)
    return verdict


class _Terminated(BaseException):
    """SIGTERM came."""


@contextmanager
def _stopped() -> Iterator[None]:
    """Let processes and temporary files be tidied away before a signal ends this one, and say that there is no report."""

    def end(*_: object) -> NoReturn:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        fail("stopped before the end; no report was written", EXIT_STOPPED)
    except _Terminated:
        fail("stopped before the end; no report was written", EXIT_TERMINATED)
    finally:
        signal.signal(signal.SIGTERM, before)


def _deliver(report: IO[bytes], output: Path | None) -> None:
    """The report to its file or to standard output."""
    from touchstone.ops.reports.files import write_whole

    if output is not None and output != STANDARD_OUTPUT:
        write_whole(output, report)
        typer.echo(one_line(f"wrote {output}"), err=True)
        return
    # Bytes, so that the encoding of the terminal or pipe cannot break a report.
    with until_read_no_more():
        while chunk := report.read(_CHUNK_BYTES):
            typer.echo(chunk, nl=False)
