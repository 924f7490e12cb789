import random

from hypothesis import given
from hypothesis import strategies as st

from touchstone.scorers.backoff import Backoff


@given(st.floats(0.01, 60), st.floats(0.01, 600), st.integers(1, 40), st.integers())
def test_every_delay_lies_between_the_shortest_and_the_longest(min_s: float, max_s: float, attempts: int, seed: int) -> None:
    backoff = Backoff(min_s, max_s, random.Random(seed).uniform)
    for _ in range(attempts):
        assert min(min_s, max_s) <= backoff.next_s() <= max_s


def test_the_ceiling_doubles_up_to_the_longest_delay() -> None:
    backoff = Backoff(1, 10, lambda low, high: high)
    assert [backoff.next_s() for _ in range(5)] == [2, 4, 8, 10, 10]


def test_after_a_success_it_begins_anew() -> None:
    backoff = Backoff(1, 10, lambda low, high: high)
    first = [backoff.next_s() for _ in range(3)]
    backoff.reset()
    assert [backoff.next_s() for _ in range(3)] == first


def test_two_clients_do_not_come_back_in_step() -> None:
    one, other = Backoff(0.1, 5), Backoff(0.1, 5)
    assert [one.next_s() for _ in range(8)] != [other.next_s() for _ in range(8)]
