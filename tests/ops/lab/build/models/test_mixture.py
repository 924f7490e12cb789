import gzip
import random
from pathlib import Path

import orjson
import pytest

from touchstone.ops.lab.build.models import mixture
from touchstone.ops.lab.build.models.edits import (
    EDITS,
    change_number,
    edited_pairs,
    in_words,
    negate,
    reverse_word,
    reworded_number,
    sentences,
    swap_names,
    unrelated_pairs,
    value_pairs,
)
from touchstone.ops.lab.build.models.mixture import SOURCES, Source, phases, rows
from touchstone.ops.lab.build.models.pairs import NEUTRAL, NOT_ENTAILMENT, Pair


def write(path: Path, *values: object) -> Path:
    with gzip.open(path, "wb") as out:
        out.writelines(orjson.dumps(value) + b"\n" for value in values)
    return path


def pair(number: int, label: str = "entailment") -> dict[str, str]:
    return {"id": str(number), "premise": f"Premise {number}.", "hypothesis": f"Hypothesis {number}.", "label": label}


def test_rows_keep_their_order_and_their_label(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl.gz", pair(1), pair(2, "not_entailment"))
    assert list(rows(path)) == [Pair("Premise 1.", "Hypothesis 1.", 0), Pair("Premise 2.", "Hypothesis 2.", NOT_ENTAILMENT)]


@pytest.mark.parametrize("bad", [{"premise": "x"}, pair(1, "maybe"), [1], "text"])
def test_a_row_that_is_no_pair_is_named_by_file_and_line(tmp_path: Path, bad: object) -> None:
    path = write(tmp_path / "a.jsonl.gz", pair(1), bad)
    with pytest.raises(ValueError, match=r"a\.jsonl\.gz, line 2"):
        list(rows(path))


def test_phases_take_no_more_than_the_caps_and_are_the_same_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixture, "SOURCES", (Source("a", "stated", 5, 2, "MIT"), Source("b", "none", 3, 0, "none stated")))
    for name in "ab":
        write(tmp_path / f"{name}.jsonl.gz", *(pair(number) for number in range(20)))
    early, late, used = phases(tmp_path, seed=1, terms=("stated", "none"), edits=0)
    assert (len(early), len(late)) == (8, 2)
    assert used["a"] == (5, 2)
    assert phases(tmp_path, seed=1, terms=("stated", "none"), edits=0)[:2] == (early, late)
    assert phases(tmp_path, seed=1, terms=("stated",), edits=0)[2].keys() == {"a", "edits (made by rule)", "unrelated (made by rule)", "values (made by rule)"}


def test_a_set_that_is_absent_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=SOURCES[0].name):
        phases(tmp_path, seed=1, terms=("stated",), edits=0)


def test_each_edit_changes_the_one_thing_it_names() -> None:
    chance = random.Random(3)
    text = "In 1994 Anna Berg of Norway had won 3 medals before Carl Dahl of Sweden had won any."
    assert change_number(text, text, chance) not in {None, text}
    assert swap_names("The cup went from Anna Berg to Carl Dahl.", text, chance) == "The cup went from Carl Dahl to Anna Berg."
    assert negate("The tower is tall.", text, chance) == "The tower is not tall."
    assert reverse_word("It happened before noon.", text, chance) == "It happened after noon."


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_without_anything_to_change_says_so(edit: object) -> None:
    assert edit("nothing here applies", "nothing here applies", random.Random(1)) is None  # type: ignore[operator]


def test_edited_pairs_are_half_entailed_and_differ_from_their_twin() -> None:
    premises = [f"The {name} bridge is {length} metres long. It was built before the war in 19{length}." for length in range(10, 60) for name in ("old", "new")]
    made = edited_pairs(premises, count=60, chance=random.Random(5))
    assert sum(each.target == 0 for each in made) == len(made) / 2
    assert all(each.hypothesis in each.premise for each in made if each.target == 0)
    assert all(each.hypothesis not in sentences(each.premise) for each in made if each.target == NOT_ENTAILMENT)


def test_unrelated_pairs_are_neutral_and_never_hold_their_own_premise() -> None:
    premises = [" ".join(f"The {name} number {text} stands in a town of its own." for name in ("tower", "bridge", "castle", "mill")) for text in range(30)]
    made = unrelated_pairs(premises, count=40, chance=random.Random(7))
    assert len(made) == 40
    assert all(each.target == NEUTRAL and each.hypothesis not in each.premise for each in made)


def test_numbers_are_written_in_words() -> None:
    assert [in_words(value) for value in (0, 13, 40, 71, 300, 1_800, 45_012)] == [
        "zero", "thirteen", "forty", "seventy-one", "three hundred", "one thousand eight hundred", "forty-five thousand twelve",
    ]  # fmt: skip
    assert reworded_number("In 1987 the town had 12 mills.", random.Random(1)) == "In 1987 the town had twelve mills."
    assert reworded_number("It opened in 1987.", random.Random(1)) is None


def test_value_pairs_entail_another_writing_and_contradict_another_value() -> None:
    premise = "The town had 12 mills and a harbour. Nobody had counted them before."
    made = value_pairs([premise], count=2, chance=random.Random(3))
    assert sorted(pair.target for pair in made) == [0, 2]
    assert all(pair.premise.startswith("The town had 12 mills") for pair in made)
    (entailed,) = [pair for pair in made if pair.target == 0]
    assert "twelve mills" in entailed.hypothesis
    (contradicted,) = [pair for pair in made if pair.target == 2]
    assert "12 mills" not in contradicted.hypothesis
    assert "twelve mills" not in contradicted.hypothesis
