import json
import time
from pathlib import Path

import pytest

from touchstone.scorers.summary.commentary import is_commentary

CORPUS = [json.loads(line) for line in (Path(__file__).parent / "corpus" / "meta_commentary.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_corpus_is_large_enough() -> None:
    assert sum(not row["fires"] for row in CORPUS) >= 60
    assert sum(row["fires"] for row in CORPUS) >= 40


@pytest.mark.parametrize("row", CORPUS, ids=lambda row: row["text"][:60])
def test_no_false_hit_and_no_miss(row: dict[str, object]) -> None:
    assert is_commentary(str(row["text"])) is row["fires"]


@pytest.mark.parametrize("text", ["the " * 200, "the document " * 100, "here is " + "a-b " * 200, "* " * 10_000, "As an AI " * 100, "the main " * 1000])
def test_a_hostile_beginning_costs_no_time(text: str) -> None:
    begun = time.perf_counter()
    is_commentary(text)
    assert time.perf_counter() - begun < 1
