import gzip
import json
from pathlib import Path

import pytest

from tests.ops.batch.files import ONE, QUOTING, written
from tests.scorers.safe.cases import samples
from touchstone.ops.batch.cases import BatchCase, cases_of
from touchstone.ops.batch.data_directory import find_batches
from touchstone.ops.batch.sources import Source
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Problem
from touchstone.scorers.base import ConfigError
from touchstone.scorers.safe import SUITE


def cases(sources: list[Source]) -> list[BatchCase | Problem | None]:
    return [case for source in sources for case in cases_of(source, SUITE, QUOTING)]


@pytest.mark.parametrize("name", ["golden_set.jsonl", "golden_set.jsonl.gz"])
def test_the_place_in_a_data_directory_completes_cases(tmp_path: Path, name: str) -> None:
    bare = json.dumps({key: value for key, value in ONE.items() if key not in {"batch_id", "concern_id"}}).encode()
    written(tmp_path / "I30" / name, gzip.compress(bare, mtime=0) if name.endswith(".gz") else bare)
    (found,) = cases(find_batches(tmp_path, "I30", "golden*"))
    assert isinstance(found, BatchCase)
    assert isinstance(found.case, SafeCase)
    assert (found.case.concern_id, found.case.batch_id) == ("I30", "golden_set")


def test_a_case_under_another_concern_is_a_problem(tmp_path: Path) -> None:
    written(tmp_path / "I30" / "b.jsonl", json.dumps(ONE))
    (problem,) = cases(find_batches(tmp_path, "I30", "*"))
    assert isinstance(problem, Problem)
    assert "another concern" in problem.what


@pytest.mark.parametrize(
    ("concern", "pattern", "told"),
    [
        ("I99", "*", "unknown concern 'I99': .* holds I25, I30, I41, I52; check --concern"),
        ("../safe/I25", "*", "unknown concern"),
        ("I25", "nope*", "no batch of I25 matches 'nope\\*': .* holds I25_batch_1, I25_batch_2; check --batch"),
        (None, "*", "holds I25, I30, I41, I52; choose one with --concern"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(concern: str | None, pattern: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        find_batches(samples(), concern, pattern)


def test_patterns_choose_batches_in_name_order() -> None:
    assert [source.place.name for source in find_batches(samples(), "I25", "I25_batch_*")] == ["I25_batch_1", "I25_batch_2"]


def test_the_only_concern_needs_no_name(tmp_path: Path) -> None:
    written(tmp_path / "I30" / "b.json", "[]")
    assert [source.place.folder for source in find_batches(tmp_path, None, "*")] == ["I30"]


def test_a_missing_data_directory_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read .* check --data"):
        find_batches(tmp_path / "absent", "I25", "*")


def test_the_samples_are_valid_and_varied() -> None:
    found = [case for concern in samples().iterdir() for case in cases(find_batches(samples(), concern.name, "*"))]
    valid = [one.case for one in found if isinstance(one, BatchCase) and isinstance(one.case, SafeCase)]
    assert len(valid) == len(found) >= 40
    assert len({case.id for case in valid}) == len(valid)
    assert len({case.concern_id for case in valid}) >= 3
    assert len({case.archetype for case in valid}) >= 5
