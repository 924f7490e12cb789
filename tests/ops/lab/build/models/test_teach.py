import gzip
import random
from pathlib import Path

import pytest

from touchstone.ops.lab.build.models.teach import taught, unlabelled

TEXTS = [
    "The town had 12 mills and a harbour. Nobody had counted them before the survey. The survey was paid for by Anna Brandt.",
    "Rain fell for six days in the valley. The river rose above the old bridge. Two roads were closed until the following week.",
]


def test_pairs_are_of_windows_and_sentences_and_each_is_asked_once() -> None:
    made = unlabelled(TEXTS, count=12, chance=random.Random(1))
    assert 6 < len(made) == len(set(made)) <= 12
    assert all(any(window[:20] in text for text in TEXTS) for window, _ in made)
    assert made == unlabelled(TEXTS, count=12, chance=random.Random(1))


def test_few_texts_give_few_pairs_and_end() -> None:
    assert unlabelled(["One sentence is not enough here."], count=5, chance=random.Random(1)) == []


def test_what_was_written_in_rounds_is_read_as_one(tmp_path: Path) -> None:
    path = tmp_path / "taught.jsonl.gz"
    for name in ("a", "b"):
        with path.open("ab") as stream:
            stream.write(gzip.compress(f'{{"premise": "{name}", "hypothesis": "h", "p": [0.5, 0.25, 0.25]}}\n'.encode()))
    assert [(pair.premise, pair.taught) for pair in taught(path)] == [("a", (0.5, 0.25, 0.25)), ("b", (0.5, 0.25, 0.25))]


def test_a_row_of_another_shape_is_named(tmp_path: Path) -> None:
    path = tmp_path / "taught.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"premise": "a"}\n'))
    with pytest.raises(ValueError, match="line 1"):
        list(taught(path))
