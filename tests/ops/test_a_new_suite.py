"""A suite inside the house costs its package, one line of entry point, one test and one changelog line: nothing else has to be edited.

The example of docs/suites.md is registered as `touchstone.scorers.toy`, and the tests that go through all suites run with it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: The tests of what is committed beside the code: contracts, manifests, compose files.
GOING_THROUGH_SUITES = (
    "tests/ops/contracts/test_contracts.py",
    "tests/ops/test_k8s.py",
    "tests/ops/test_containers.py",
    "tests/scorers/test_suite_settings.py",
    "tests/ops/test_no_suite_is_named.py",
    "tests/ops/local/test_demo_parts.py",
    "tests/scorers/test_registry.py",
)
#: Those of them that a further suite can fail.
ABOUT_ANY = "toy or committed or every or any_suite or worker_per_suite or cannot_run_here or names_a_suite or image"
PLUGIN = "import touchstone.scorers\ntouchstone.scorers.__path__.append({folder!r})\n"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder that adds the suite to the package `touchstone.scorers`, and its entry point to the distribution's."""
    (code,) = re.findall(r"```python\n(# toy_suite.py\n.*?)```", (ROOT / "docs" / "suites.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "inside" / "toy").mkdir(parents=True)
    (tmp_path / "inside" / "toy" / "__init__.py").write_text(code, encoding="utf-8")
    (tmp_path / "extended_house.py").write_text(PLUGIN.format(folder=str(tmp_path / "inside")), encoding="utf-8")
    metadata = tmp_path / "toy-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text("[touchstone.suites]\ntoy = touchstone.scorers.toy:SUITE\n", encoding="utf-8")
    return tmp_path


def test_it_passes_every_test_that_goes_through_all_suites(house: Path) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(house), str(ROOT)])}
    command = [sys.executable, "-m", "pytest", "-v", "-k", ABOUT_ANY, "-n", "0", "-p", "no:cacheprovider", "-p", "extended_house", *GOING_THROUGH_SUITES]
    ran = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-2000:]
    assert "test_every_suite_has_a_worker_that_learns_its_name_from_its_label[toy] PASSED" in ran.stdout or shutil.which("kubectl") is None
