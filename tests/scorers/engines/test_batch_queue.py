import random
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.scorers.engines.batch_queue import LookAhead, rounded, spread


@dataclass(eq=False)
class Item:
    length: int
    taken: bool = False


def queue(lengths: list[int], *, items_max: int = 1000, step: int = 1) -> tuple[LookAhead[Item], list[Item]]:
    made: LookAhead[Item] = LookAhead(items_max, step=step)
    items = [Item(length) for length in lengths]
    for item in items:
        made.add(item)
    return made, items


lengths = st.lists(st.integers(1, 200), min_size=1, max_size=80)


@given(lengths, st.integers(1, 2000), st.integers(1, 50), st.sampled_from([1, 8]))
def test_everything_is_handed_out_once_and_within_the_budget(sizes: list[int], budget: int, items_max: int, step: int) -> None:
    waiting, items = queue(sizes, items_max=items_max, step=step)
    out: list[Item] = []
    while len(waiting):
        batch = waiting.take(budget)
        assert [item.length for item in batch] == sorted(item.length for item in batch)
        assert len(batch) == 1 or rounded(batch[-1].length, step) * len(batch) <= budget
        out += batch
    assert sorted(map(id, out)) == sorted(map(id, items))
    assert waiting.tokens == 0


@given(lengths, st.integers(1, 2000), st.integers(1, 50), st.integers(0, 1000))
def test_the_oldest_item_is_in_every_batch_whatever_arrives_after_it(sizes: list[int], budget: int, items_max: int, seed: int) -> None:
    chance = random.Random(seed)
    waiting, items = queue(sizes, items_max=items_max)
    while len(waiting):
        oldest = next(item for item in items if not item.taken)
        assert waiting.oldest() is oldest
        assert oldest in waiting.take(budget)
        if chance.random() < 0.3:
            items.append(Item(chance.randint(1, 200)))
            waiting.add(items[-1])


def test_a_flood_of_short_items_does_not_starve_a_long_one() -> None:
    waiting, items = queue([10] * 50 + [200])
    long = items[-1]
    batches = 0
    while not long.taken:
        waiting.take(budget=200)
        batches += 1
        for _ in range(100):
            waiting.add(Item(10))
    assert batches <= 51  # at most as many as stood before it


def test_items_of_like_length_go_together() -> None:
    waiting, _ = queue([100, 10, 101, 11, 99, 9])
    assert [item.length for item in waiting.take(1000)] == [99, 100, 101]
    assert [item.length for item in waiting.take(1000)] == [9, 10, 11]


def test_what_is_beyond_the_look_ahead_is_not_looked_at() -> None:
    waiting, _ = queue([100, 10, 100], items_max=2)
    assert [item.length for item in waiting.take(1000)] == [100]


def test_a_batch_may_be_padded_a_little_when_it_is_small() -> None:
    assert spread([10, 11, 40], 0, budget=2048) == (0, 3)


@pytest.mark.parametrize("budget", [4_096, 8_192, 65_536])
@pytest.mark.parametrize("step", [1, 8])
def test_padding_stays_below_a_tenth_on_lengths_like_those_of_real_pairs(budget: int, step: int) -> None:
    chance = random.Random(7)
    waiting, items = queue([min(200, 20 + int(chance.lognormvariate(3.3, 0.6))) for _ in range(20_000)], items_max=4096, step=step)
    padded = 0
    while len(waiting):
        batch = waiting.take(budget)
        padded += rounded(batch[-1].length, step) * len(batch)
    real = sum(item.length for item in items)
    assert (padded - real) / padded <= (0.03 if budget <= 8_192 and step == 1 else 0.1)


@given(lengths, st.integers(1, 60))
def test_purging_forgets_exactly_what_is_unwanted(sizes: list[int], items_max: int) -> None:
    waiting, items = queue(sizes, items_max=items_max)
    gone = waiting.purge(lambda item: item.length % 2 == 0)
    assert {id(item) for item in gone} == {id(item) for item in items if item.length % 2 == 0}
    left: list[Item] = []
    while len(waiting):
        left += waiting.take(300)
    assert {id(item) for item in left} == {id(item) for item in items if item.length % 2}
