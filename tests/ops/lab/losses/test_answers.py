from pathlib import Path

import numpy as np
import pytest

from tests.scorers.summary.fakes import TableEngines, same_words
from touchstone.ops.lab.losses.answers import Answers, CountedEngines, key_of
from touchstone.scorers.base import ConfigError

PAIRS = [("The ferry sank.", "The ferry sank."), ("It rained.", "The ferry sank."), ("It rained.", "It rained.")]


async def test_what_a_model_answered_is_never_asked_again(tmp_path: Path) -> None:
    first, second = TableEngines(same_words), TableEngines(same_words)
    one = CountedEngines(first, Answers(tmp_path / "kept"))
    asked, vectors = await one.nli.entail(PAIRS[:2]), await one.embedder.embed(["It rained."])
    await one.close()
    other = CountedEngines(second, Answers(tmp_path / "kept"))
    again = await other.nli.entail(PAIRS)
    assert second.nli.calls == [[PAIRS[2]]]
    assert np.array_equal(again[:2], asked)
    assert np.array_equal(await other.embedder.embed(["It rained."]), vectors)
    assert second.embedder.calls == []
    counts = other.counts(1)
    assert (counts["pairs"], counts["pair_words"], counts["rounds"], counts["processor_s"]) == (3, 15, 1, None)


async def test_another_model_is_asked_itself(tmp_path: Path) -> None:
    kept = Answers(tmp_path / "kept")
    await CountedEngines(TableEngines(same_words), kept).nli.entail(PAIRS[:1])
    other = TableEngines(lambda *_: (0.0, 0.9))
    other.nli.model = "another@2"
    assert (await CountedEngines(other, kept).nli.entail(PAIRS[:1]))[0, 2] == pytest.approx(0.9)


def test_texts_are_kept_apart_wherever_they_divide() -> None:
    assert key_of("m", "a", "bc") != key_of("m", "ab", "c") != key_of("m", "abc")
    assert key_of("m", "a\0b") != key_of("m", "a", "b")


def test_a_file_that_holds_no_answers_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("This is a text, and a text is no data base. " * 50)
    with pytest.raises(ConfigError, match="text: cannot hold answers"):
        Answers(tmp_path / "text")


async def test_without_kept_answers_the_processor_time_is_measured() -> None:
    engines = CountedEngines(TableEngines(same_words))
    await engines.nli.entail(PAIRS)
    seconds = engines.counts(2)["processor_s"]
    assert seconds is not None
    assert seconds >= 0
    assert engines.counts(2)["pairs"] == 1.5
