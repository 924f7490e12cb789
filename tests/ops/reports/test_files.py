from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from touchstone.ops.reports.files import check_directory, name_part, report_path, write_whole
from touchstone.scorers.base import ConfigError

NOW = datetime(2025, 1, 15, 11, 30, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(("identifier", "part"), [("I25", "I25"), ("../../etc/passwd", "_.._etc_passwd"), ("a/b\\c:d", "a_b_c_d"), ("...", "unnamed")])
def test_identifiers_cannot_leave_the_report_directory(identifier: str, part: str, tmp_path: Path) -> None:
    assert name_part(identifier) == part
    assert report_path(tmp_path, identifier, "markdown", NOW).parent == tmp_path


def test_report_names_carry_concern_and_utc_time(tmp_path: Path) -> None:
    assert report_path(tmp_path, "I25", "markdown", NOW).name == "SAFE_v0_I25_20250115T103000Z.md"


def test_a_report_name_that_is_taken_is_numbered(tmp_path: Path) -> None:
    report_path(tmp_path, "I25", "json", NOW).touch()
    assert report_path(tmp_path, "I25", "json", NOW).name == "SAFE_v0_I25_20250115T103000Z_2.json"


def test_writing_replaces_whole_files_and_leaves_nothing_beside(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")
    write_whole(target, "naïve")
    assert target.read_text(encoding="utf-8") == "naïve"
    assert list(tmp_path.iterdir()) == [target]


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_an_unwritable_directory_is_named_with_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"cannot be written .* set SAFE_V0_REPORT_DIR"):
        check_directory(tmp_path / "file" / "reports", "SAFE_V0_REPORT_DIR")


def test_a_failed_write_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        write_whole(tmp_path / "absent" / "r.json", "x")
