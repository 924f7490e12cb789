from pathlib import Path

import pytest

from touchstone.scorers.base import Check
from touchstone.scorers.safe import SUITE
from touchstone.scorers.safe.settings import SafeSettings


def told(directory: Path) -> Check:
    assert SUITE.doctor is not None
    (check,) = SUITE.doctor(SafeSettings(report_dir=directory))
    return check


def test_a_directory_that_can_be_written_is_good(tmp_path: Path) -> None:
    assert told(tmp_path) == Check("reports", "good", f"{tmp_path} can be written")


def test_a_directory_that_can_be_made_is_good_and_is_not_made(tmp_path: Path) -> None:
    assert told(tmp_path / "a" / "b") == Check("reports", "good", f"{tmp_path / 'a' / 'b'} can be made")
    assert not (tmp_path / "a").exists()


def test_a_file_in_its_place_is_to_be_mended(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    for directory in (tmp_path / "taken", tmp_path / "taken" / "below"):
        check = told(directory)
        assert (check.state, check.what) == ("bad", f"{tmp_path / 'taken'}: is not a directory")
        assert "SAFE_V0_REPORT_DIR" in check.fix


def test_a_directory_that_cannot_be_written_is_to_be_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    assert told(tmp_path).state == "bad"
