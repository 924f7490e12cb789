import subprocess
import sys
from pathlib import Path

import pytest

#: Prints the mask of ignored signals of a child that a process with our conftest starts.
CHILD = """
import subprocess, sys
import tests.conftest
tell = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('SigIgn')))"
subprocess.run([sys.executable, "-c", tell], check=True)
"""
SIGHUP, SIGINT, SIGTERM = 1, 2, 15


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_child_of_a_background_job_hears_ctrl_c() -> None:
    command = ["bash", "-c", 'trap "" INT TERM HUP; exec "$@"', "-", sys.executable, "-c", CHILD]
    mask = int(subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True).stdout, 16)
    assert not [number for number in (SIGHUP, SIGINT, SIGTERM) if mask & 1 << (number - 1)]
