from pathlib import Path

import pytest

from touchstone.ops.lab.chaos import small_disk
from touchstone.ops.lab.chaos.command import main


def test_where_nothing_can_be_mounted_a_run_is_not_possible_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(small_disk, "_run", lambda *_: "mount: only root can do that")
    assert main(["--scenario", "disk_full_broker", "--runner", "direct", "--keep", str(tmp_path)]) == 3
    assert "no run, because a small file system cannot be mounted" in capsys.readouterr().err
