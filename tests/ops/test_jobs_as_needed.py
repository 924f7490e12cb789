from pathlib import Path

import pytest

from touchstone.ops.batch.sources import Source
from touchstone.ops.cli.common.scoring import jobs_for


def made(folder: Path, size: int) -> Source:
    path = folder / f"{size}.txt"
    with path.open("wb") as file:
        file.truncate(size)
    return Source(path)


@pytest.mark.parametrize(("sizes", "is_long"), [([1_000] * 100, False), ([1_000] * 2_000, True), ([20_000_000], True), ([], False)])
def test_a_long_run_is_scored_on_all_cores_and_a_short_one_in_one_process(
    sizes: list[int], is_long: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("touchstone.scorers.engines.machine.usable_cores", lambda: 3)
    assert jobs_for([made(tmp_path, size) for size in sizes]) == (3 if is_long else 1)
