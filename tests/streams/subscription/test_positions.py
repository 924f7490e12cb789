import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.streams.subscription.positions import Clock, Place, covers, position_text, read_positions

PLACES = st.tuples(st.sampled_from(["r", "p"]), st.integers(0, 999))


@given(st.dictionaries(PLACES, st.integers(0, 10**17), min_size=1))
def test_positions_survive_being_written_as_text(positions: dict[Place, int]) -> None:
    assert read_positions(position_text(positions)) == positions


def test_the_text_is_compact_and_names_results_first() -> None:
    assert position_text({("p", 0): 3, ("r", 10): 7, ("r", 2): 12}) == "r2.12-r10.7-p0.3"


@pytest.mark.parametrize(
    "text", ["", "r0", "r0.1-", "x0.1", "r0.-1", "r0.1-r0.2", "r0.1\n", "r0.1 ", "r0." + "9" * 30, "r٣.1", "-".join(f"r{n}.1" for n in range(9000))]
)
def test_what_is_no_position_is_none(text: str) -> None:
    assert read_positions(text) is None


@given(st.dictionaries(PLACES, st.integers(0, 10**9)), st.lists(st.tuples(PLACES, st.integers(0, 10**9))))
def test_a_clock_says_what_its_positions_say(start: dict[Place, int], moves: list[tuple[Place, int]]) -> None:
    clock = Clock(start)
    for place, offset in moves:
        clock.advance(place, offset)
    assert clock.text == position_text(clock.positions)


def test_positions_cover_others_where_no_partition_is_behind() -> None:
    assert covers({("r", 0): 2, ("r", 1): 0}, {("r", 0): 2})
    assert not covers({("r", 0): 2}, {("r", 0): 2, ("r", 1): 1})
