import pytest

from touchstone.streams.account.store_port import StoreRefused, check_positions


def test_positions_within_the_log_are_read_on_from() -> None:
    check_positions("results", {0: 3, 1: 7}, {0: (0, 3), 1: (7, 9), 2: (0, 5)})


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ({0: (0, 2)}, "up to offset 3, but it ends at 2: the topic was recreated"),
        ({0: (5, 9)}, "offsets 3 to 4 of partition 0 of results were deleted by retention"),
        ({1: (0, 9)}, "partition 0 of results, which the topic does not have: the topic was recreated"),
    ],
)
def test_a_position_that_the_log_does_not_have_is_refused_with_the_way_to_fix_it(log: dict[int, tuple[int, int]], why: str) -> None:
    with pytest.raises(StoreRefused, match=why) as refused:
        check_positions("results", {0: 3}, log)
    assert "--from-start" in str(refused.value)
