"""What a run has yielded: in order, read again and again, in a file where it is much."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from touchstone.ops.batch import entries as module
from touchstone.ops.batch.entries import Entries
from touchstone.schemas.result import FileRef, Finding, Problem, ScoreResult
from touchstone.scorers.reporting.report import Entry

PLACE = FileRef(file="a.jsonl", place="line 1")


def result(number: int, findings: int = 1) -> ScoreResult:
    return ScoreResult(
        result_id=f"r{number}",
        event_id=f"e{number}",
        case_id=None,
        kind="toy",
        suite="toy",
        suite_version="1",
        config_digest="0" * 16,
        label="Pass",
        values={"score": number / 3},
        findings=tuple(Finding(severity="minor", code="late", path=f"a.{place}", message="naïve 痛") for place in range(findings)),
        details={"parts": [1, {"deep": None}]},
        source=PLACE,
        scored_at=datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC),
        duration_ms={"score": 0.125},
    )


def mixed(count: int) -> list[Entry]:
    return [Problem(source=PLACE, what="is not valid JSON") if number % 7 == 3 else result(number) for number in range(count)]


def kept(wanted: list[Entry]) -> Entries:
    entries = Entries()
    for entry in wanted:
        entries.add(entry)
    return entries


@pytest.mark.parametrize("held", [1, 5, 1_000])
def test_entries_are_what_was_added_in_order_however_often_they_are_read(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(module, "HELD_MAX", held)
    wanted = mixed(50)
    entries = kept(wanted)
    assert len(entries) == 50
    assert list(entries) == list(entries) == wanted


@pytest.mark.parametrize("held", [3, 1_000])
def test_two_readers_at_once_do_not_disturb_each_other_nor_what_is_added_meanwhile(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(module, "HELD_MAX", held)
    wanted = mixed(20)
    entries = kept(wanted)
    first, second = iter(entries), iter(entries)
    assert [next(first) for _ in range(5)] == wanted[:5]
    assert [next(second) for _ in range(9)] == wanted[:9]
    entries.add(result(99))
    assert [*first][:15] == wanted[5:]
    assert [*second][:11] == wanted[9:]
    assert list(entries) == [*wanted, result(99)]


def test_much_goes_into_a_file_that_has_no_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(module, "HELD_MAX", 10)
    entries = kept(mixed(50))
    assert entries._held == []
    assert list(tmp_path.iterdir()) == []
    assert len(list(entries)) == 50


def test_many_findings_count_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FINDINGS_HELD_MAX", 30)
    entries = kept([result(number, findings=20) for number in range(3)])
    assert entries._held == []
    assert [len(one.findings) for one in entries] == [20, 20, 20]
