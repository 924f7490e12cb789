import subprocess
import sys
import threading
from pathlib import Path

from touchstone.ops.local.kafka.processes import is_running, wait_until
from touchstone.scorers.process import when_parent_ends

#: Starts a child that sleeps for longer than any test, says its id, and waits to be killed.
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", *sys.argv[1:]], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(600)
"""
CHILD = """
import signal, sys, time
from pathlib import Path
from touchstone.scorers import process
{before}
process.end_with_parent()
print("ready", flush=True)
time.sleep(600)
"""


def child_of_a_killed_parent(marker: str, before: str = "") -> int:
    started = subprocess.Popen([sys.executable, "-c", PARENT, CHILD.format(before=before), marker], stdout=subprocess.PIPE)
    assert started.stdout is not None
    pid = int(started.stdout.readline())
    assert is_running(pid, marker)
    started.kill()
    started.communicate()
    return pid


def test_a_child_ends_once_its_parent_is_killed(tmp_path: Path) -> None:
    marker = str(tmp_path / "plain")
    pid = child_of_a_killed_parent(marker)
    assert wait_until(lambda: not is_running(pid, marker), 30)


def test_a_child_may_end_in_order(tmp_path: Path) -> None:
    told = tmp_path / "told"
    before = "signal.signal(signal.SIGTERM, lambda *_: (Path(sys.argv[1]).write_text('in order'), sys.exit()))"
    pid = child_of_a_killed_parent(str(told), before)
    assert wait_until(lambda: not is_running(pid, str(told)), 30)
    assert told.read_text() == "in order"


def test_a_child_that_does_not_end_in_order_is_ended(tmp_path: Path) -> None:
    marker = str(tmp_path / "deaf")
    pid = child_of_a_killed_parent(marker, "signal.signal(signal.SIGTERM, signal.SIG_IGN); process.GRACE_S = 0.1")
    assert wait_until(lambda: not is_running(pid, marker), 30)


def test_a_parent_that_ended_before_it_was_watched_is_noticed() -> None:
    noticed = threading.Event()
    when_parent_ends(noticed.set, parent=-1)
    assert noticed.wait(30)


def test_nothing_happens_while_the_parent_lives() -> None:
    noticed = threading.Event()
    when_parent_ends(noticed.set)
    assert not noticed.wait(1.2)
