import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from touchstone.ops.reports.writing import STANDARD_OUTPUT, Stopped, check_output, stoppable, write_report
from touchstone.scorers.base import ConfigError


def failing() -> Iterator[str]:
    yield "half a "
    raise RuntimeError


def run_child(body: str, **streams: object) -> subprocess.CompletedProcess[bytes]:
    program = f"import sys\nfrom touchstone.ops.reports.writing import write_report\n{body}\nsys.exit(2)\n"
    return subprocess.run([sys.executable, "-c", program], check=False, timeout=100, **streams)  # type: ignore[call-overload, no-any-return]


def test_pieces_become_one_file(tmp_path: Path) -> None:
    assert write_report(["one ", "two ", "é\n"], tmp_path / "report.txt")

    assert (tmp_path / "report.txt").read_bytes() == "one two é\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["report.txt"]


def test_a_report_that_fails_half_way_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text("old")
    with pytest.raises(RuntimeError):
        write_report(failing(), tmp_path / "report.txt")

    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("report.txt", "old")]


def test_a_report_that_fails_half_way_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError):
        write_report(failing(), None)

    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("output", [None, STANDARD_OUTPUT])
def test_without_a_file_it_goes_to_standard_output_in_utf_8(output: Path | None, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert write_report(["é\n"], output)

    assert capfdbinary.readouterr().out == "é\n".encode()


@pytest.mark.parametrize("lines", [1, 1_000_000])
def test_a_reader_that_goes_early_changes_no_exit_code(lines: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = run_child(f"assert not write_report(['line\\n'] * {lines}, None)\nprint('more')", stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)

    assert (ran.returncode, ran.stderr) == (2, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_standard_output_is_one_clear_error() -> None:
    with Path("/dev/full").open("wb") as full:
        ran = run_child(
            "try:\n    write_report(['line\\n'], None)\nexcept Exception as error:\n    print(error, file=sys.stderr)", stdout=full, stderr=subprocess.PIPE
        )

    assert ran.stderr.decode() == "standard output: cannot be written (No space left on device); check free space, or name a file with --output\n"


def test_a_directory_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a directory; give --output a file"):
        check_output(tmp_path)


@pytest.mark.parametrize("output", [None, STANDARD_OUTPUT, Path("report.txt")])
def test_places_that_can_be_written_are_let_through(output: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_output(output)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_work_with_the_code_that_shells_expect(number: signal.Signals, exit_code: int, tmp_path: Path) -> None:
    def pieces() -> Iterator[str]:
        yield "half"
        signal.raise_signal(number)
        yield " and the other half"

    # Where tests run in the background, Ctrl-C is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(Stopped) as stopped, stoppable():
            write_report(pieces(), tmp_path / "report.txt")
    finally:
        signal.signal(signal.SIGINT, before)

    assert stopped.value.exit_code == exit_code
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is handler


def test_outside_the_main_thread_nothing_is_waited_for(tmp_path: Path) -> None:
    def work() -> None:
        with stoppable():
            write_report(["done"], tmp_path / "report.txt")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)

    assert (tmp_path / "report.txt").read_text() == "done"
