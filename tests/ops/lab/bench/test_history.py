"""The bench of the history: everything that it measures works on a small one, and finds what was put there."""

from pathlib import Path

from touchstone.ops.lab.bench.history import command


def test_a_small_history_is_filled_listed_searched_compared_indexed_anew_and_removed(tmp_path: Path) -> None:
    found = command.measure(f"sqlite:///{tmp_path / 'results.db'}", str(tmp_path / "archive"), 120)
    assert found["results"].startswith("160 in ")
    assert found["every page in turn"].startswith("4 pages")
    assert found["reindex into an empty store"].endswith("120 cases")
    assert "0 pairs" not in found["two runs compared"]
    assert found["forget one case"].endswith(" places")
