import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scorers.safe.cases import samples

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository as the workflow finds it: the script in its place, batches under data/."""
    (tmp_path / ".github" / "scripts").mkdir(parents=True)
    shutil.copy(EXAMPLES / "safe-gate.sh", tmp_path / ".github" / "scripts")
    shutil.copytree(samples(), tmp_path / "data")
    return tmp_path


def gate(checkout: Path, *arguments: str, command: str | None = None) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": str(checkout / "summary.md")}
    line = ["bash", "-e", "-c", command] if command else ["bash", ".github/scripts/safe-gate.sh", *arguments]
    return subprocess.run(line, cwd=checkout, env=env, capture_output=True, text=True, check=False, timeout=500)


def test_the_gate_passes_at_a_rate_that_is_reached(checkout: Path) -> None:
    done = gate(checkout, "data", "I52", "*", "0.6")
    assert done.returncode == 0, done.stderr
    assert "SAFE v0 PASS: pass rate 60% of 5 cases, at least 0.6 asked (exit 0)" in done.stderr


def test_the_gate_fails_below_the_rate_and_still_hands_over_the_reports(checkout: Path) -> None:
    done = gate(checkout, "data", "I52", "*", "0.8", "out")
    assert done.returncode == 1
    (report,) = (checkout / "out").glob("*.json")
    assert json.loads(report.read_text())["summary"]["overall_pass_rate"] == 0.6
    assert (checkout / "summary.md").read_text().startswith("# SAFE v0: I52\n\n**FAIL**")


def test_the_gate_exits_3_where_nothing_could_be_scored(checkout: Path) -> None:
    assert gate(checkout, "data", "I99").returncode == 3


def test_the_workflow_runs_the_gate(checkout: Path) -> None:
    (step,) = [line.split("run: ", 1)[1] for line in (EXAMPLES / "safe-gate.yml").read_text().splitlines() if "safe-gate.sh data" in line]
    assert gate(checkout, command=step).returncode == 1  # the samples hold cases that fail on purpose
