import random
from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.ops.web.guard import URL_CHARS_MAX
from touchstone.streams.subscription.positions import Clock, Place, covers, position_text, read_positions, read_topic_ids

PLACES = st.tuples(st.sampled_from(["r", "p"]), st.integers(0, 999))


@given(st.dictionaries(PLACES, st.integers(0, 10**17), min_size=1))
def test_positions_survive_being_written_as_text(positions: dict[Place, int]) -> None:
    assert read_positions(position_text(positions)) == positions


@given(st.dictionaries(PLACES, st.integers(0, 10**17), min_size=1), st.dictionaries(st.sampled_from(["r", "p"]), st.binary(min_size=16, max_size=16)))
def test_a_text_may_name_its_topics(positions: dict[Place, int], topics: dict[str, bytes]) -> None:
    text = position_text(positions, topics)
    assert (read_positions(text), read_topic_ids(text)) == (positions, topics)


def test_the_form_of_earlier_releases_is_read() -> None:
    assert read_positions("r2.12-r10.7-p0.3") == {("p", 0): 3, ("r", 10): 7, ("r", 2): 12}
    assert read_topic_ids("r2.12-r10.7-p0.3") == {}


def test_positions_in_a_thousand_partitions_of_each_topic_fit_an_address() -> None:
    chance = random.Random(7)
    positions = {(role, number): most + chance.randrange(most // 50) for role, most in (("r", 3_000_000), ("p", 9_000)) for number in range(1_000)}
    text = position_text(positions, {"r": b"i" * 16, "p": b"j" * 16})
    assert len(text) < URL_CHARS_MAX - 1_000
    assert read_positions(text) == positions


@given(st.text(st.sampled_from("ABQEwg_-"), max_size=12) | st.binary(max_size=12).map(lambda raw: urlsafe_b64encode(b"\1" + raw).rstrip(b"=").decode()))
def test_whatever_the_text_reading_it_never_raises(text: str) -> None:
    read = read_positions(text)
    assert read is None or all(offset >= 0 for offset in read.values())


@pytest.mark.parametrize("cut", [1, 3, 9])
def test_a_text_that_is_cut_off_or_of_another_version_is_none(cut: int) -> None:
    text = position_text({("r", number): 70_000 + 900 * number for number in range(9)})
    assert read_positions(text[:-cut]) is None
    assert read_positions("B" + text[1:]) is None
    assert read_positions(text + "AAAA" * cut) is None


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
