"""Every pair that was written by hand comes out as it was meant: equal ones without a finding, contradictions with theirs and no other."""

import pytest

from touchstone.ops.lab.consistency.written_pairs import Written, both_halves, tried, written_pairs

#: Ends without units that differ by a power of ten may be of two units.
MISSED = {"a range beside another"}


@pytest.mark.parametrize("pair", [pytest.param(pair, id=pair.name) for pair in written_pairs() if pair.name not in MISSED])
def test_a_pair_written_by_hand_comes_out_as_it_was_meant(pair: Written) -> None:
    assert tried((pair,))["wrong"] == []


def test_names_of_pairs_are_told_once_and_both_halves_have_many() -> None:
    halves = both_halves()

    assert len({pair.name for pair in written_pairs()}) == len(written_pairs())
    assert all(half["equal"] > 50 and half["contradictions"] > 30 for half in halves.values())
