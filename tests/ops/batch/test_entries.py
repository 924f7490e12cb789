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


@pytest.mark.parametrize("held", [1, 2_000, 1_000_000])
def test_entries_are_what_was_added_in_order_however_often_they_are_read(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(module, "HELD_BYTES_MAX", held)
    wanted = mixed(50)
    entries = kept(wanted)
    assert len(entries) == 50
    assert list(entries) == list(entries) == wanted


@pytest.mark.parametrize("held", [1_500, 1_000_000])
def test_two_readers_at_once_do_not_disturb_each_other_nor_what_is_added_meanwhile(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(module, "HELD_BYTES_MAX", held)
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
    monkeypatch.setattr(module, "HELD_BYTES_MAX", 5_000)
    entries = kept(mixed(50))
    assert entries._held == []
    assert list(tmp_path.iterdir()) == []
    assert len(list(entries)) == 50


def test_entries_are_held_by_their_size_not_by_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HELD_BYTES_MAX", 5_000)
    small, large = kept([result(number, findings=0) for number in range(3)]), kept([result(number, findings=60) for number in range(3)])
    assert (len(small._held), large._held) == (3, [])
    assert [len(one.findings) for one in large if isinstance(one, ScoreResult)] == [60, 60, 60]


def test_entries_of_many_megabytes_are_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HELD_BYTES_MAX", 0)
    monkeypatch.setattr(module, "_PIECE_BYTES", 100)
    wanted = mixed(20)
    assert list(kept(wanted)) == wanted


@pytest.mark.parametrize("held", [0, 1_000_000])
def test_problems_can_be_read_alone(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(module, "HELD_BYTES_MAX", held)
    wanted = mixed(30)
    assert list(kept(wanted).problems()) == [one for one in wanted if isinstance(one, Problem)]
