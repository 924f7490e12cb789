from pathlib import Path

import pytest

from touchstone.ops.lab.__main__ import main
from touchstone.ops.lab.bench.judge.faults import kinds


def test_every_fault_has_a_row_with_requests_cents_and_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quick = ["--cases", "3", "--timeout-s", "1", "--deadline-s", "2", "--ways", "text", "--faults", "none", "refusal", "chatty", "hang"]
    assert main(["bench", "judge-faults", *quick, "--output", str(tmp_path / "report.md")]) == 0
    rows = {row.split()[1]: row for row in (tmp_path / "report.md").read_text().splitlines() if row.startswith("| ")}
    assert "judged 3 | 3, " in rows["none"]
    assert "refused 3 | 3, " in rows["refusal"]
    assert "judged 3 | 3, " in rows["chatty"]
    assert "away (judge_timeout) 3" in rows["hang"]
    assert len(kinds()) == 37
    assert "| none |" in capsys.readouterr().out
