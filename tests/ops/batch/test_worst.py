"""Which cases are kept to be read: the worst ones, bounded in number and bytes, whatever the order."""

import random

import pytest

from touchstone.ops.batch.packing import Kept
from touchstone.ops.batch.worst import NAMES_MAX, WorstCases
from touchstone.scorers.safe import SUITE

CASES = [Kept((0, -number), f"case {number}", bytes(1 + number * 7 % 40)) for number in range(10_000)]


def worst_of(cases: list[Kept], most: int, bytes_max: int) -> WorstCases:
    worst = WorstCases(SUITE, most, bytes_max)
    for case in cases:
        worst.keep(case)
        assert len(worst.cases) <= most
        assert len(worst.cases) == 1 or sum(len(one.data) for one in worst.cases) <= bytes_max
    return worst


@pytest.mark.parametrize(("most", "bytes_max"), [(200, 10**6), (200, 300), (1, 10**6)])
def test_the_worst_of_ten_thousand_are_kept_within_the_bounds_in_whatever_order_they_come(most: int, bytes_max: int) -> None:
    shuffled = random.Random(22).sample(CASES, len(CASES))
    kept = [[one.name for one in worst_of(order, most, bytes_max).cases] for order in (CASES, CASES[::-1], shuffled)]
    assert kept[0] == kept[1] == kept[2]
    assert kept[0] == [case.name for case in CASES[::-1][: len(kept[0])]]


def test_the_worst_case_is_kept_whatever_its_size_and_the_others_are_named() -> None:
    worst = worst_of(CASES[:100], 50, 0)
    assert [one.name for one in worst.cases] == ["case 99"]
    assert len(worst.names) == NAMES_MAX
