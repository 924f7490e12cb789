"""Scoring from Python and from files loads nothing that only a worker needs: no Kafka, no metrics, no database."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CASE = {
    "test_id": "t1",
    "archetype": "a",
    "concern_id": "c",
    "batch_id": "b",
    "expectations": {"signal_generation": {"must_find_signals": ["fever"]}},
    "output": {"signals": ["fever"], "summary": "", "followup_questions": []},
}
FROM_PYTHON = f"import touchstone; assert touchstone.score('safe_v0', {CASE!r}).label == 'Pass'"
FROM_A_FILE = """
sys.argv[1:] = ["score", "safe_v0", "cases.json"]
from touchstone.ops.cli import main
try:
    main()
except SystemExit as end:
    assert end.code == 0
"""
LOADED = "print(json.dumps(sorted(sys.modules)))"


@pytest.mark.parametrize("scored", [FROM_PYTHON, FROM_A_FILE])
def test_scoring_loads_no_module_of_a_worker(scored: str, tmp_path: Path) -> None:
    (tmp_path / "cases.json").write_text(json.dumps(CASE))
    run = subprocess.run([sys.executable, "-c", f"import json, sys\n{scored}\n{LOADED}"], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = json.loads(run.stdout.splitlines()[-1])
    assert "touchstone.scorers.scoring" in loaded
    heavy = ("touchstone.streams", "touchstone.ops.store", "prometheus_client", "aiokafka", "sqlalchemy")
    assert [name for name in loaded if name.startswith(heavy)] == []


def test_scoring_a_file_loads_nothing_of_a_comparison_or_of_other_processes(tmp_path: Path) -> None:
    """Each costs milliseconds of a command that takes less than a second; only `--against` and `--jobs` need them."""
    (tmp_path / "cases.json").write_text(json.dumps(CASE))
    run = subprocess.run([sys.executable, "-c", f"import json, sys\n{FROM_A_FILE}\n{LOADED}"], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = json.loads(run.stdout.splitlines()[-1])
    needless = (
        "touchstone.ops.reports.comparing",
        "touchstone.ops.reports.earlier",
        "touchstone.ops.batch.pool",
        "sqlite3",
        "multiprocessing",
        "http.",
        "openai",
    )
    assert [name for name in loaded if name.startswith(needless)] == []
    suites = {name.split(".")[2] for name in loaded if name.startswith("touchstone.scorers.")}
    assert not suites & {"clinical", "grounded", "summary", "engines"}
