import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.streams.intake.offsets import PartitionProgress, Slice, append_span, ledger_entries


def piece(first: int, count: int = 1) -> Slice:
    return Slice(first=first, after=first + count, records=count, payload_bytes=0)


def test_nothing_is_ready_while_an_earlier_slice_is_in_flight() -> None:
    progress = PartitionProgress()
    early, late = piece(0), piece(1)
    progress.begin(early)
    progress.begin(late)
    assert progress.finish(late) == []
    assert progress.take_ready() == (None, [])


def test_the_last_missing_slice_releases_all_behind_it() -> None:
    progress = PartitionProgress()
    pieces = [piece(first) for first in range(5)]
    for each in pieces:
        progress.begin(each)
    for each in pieces[1:]:
        progress.finish(each)
    assert progress.finish(pieces[0]) == pieces
    assert progress.take_ready()[0] == 5


def test_a_gap_in_the_offsets_does_not_hold_commits_back() -> None:
    progress = PartitionProgress()
    before, after = piece(0, 3), piece(10, 2)
    progress.begin(before)
    progress.begin(after)
    progress.finish(before)
    progress.finish(after)
    assert progress.take_ready()[0] == 12


def test_going_back_is_refused() -> None:
    progress = PartitionProgress()
    progress.begin(piece(5, 5))
    with pytest.raises(ValueError, match="ascend"):
        progress.begin(piece(7))


def test_a_failed_ledger_write_gives_back_offset_and_spans() -> None:
    progress = PartitionProgress()
    first, second = piece(0), piece(1)
    first.spans = [("skipped", "other_kind", 0, 0)]
    second.spans = [("skipped", "other_kind", 1, 1)]
    progress.begin(first)
    progress.begin(second)
    progress.finish(first)
    taken = progress.take_ready()
    progress.finish(second)
    progress.give_back(*taken)
    assert progress.take_ready() == (2, [("skipped", "other_kind", 0, 1)])


def test_spans_join_only_equal_neighbours() -> None:
    spans: list[tuple[str, str, int, int]] = []
    for span in [("dead", "empty", 0, 0), ("dead", "empty", 1, 1), ("dead", "not_json", 2, 2), ("dead", "not_json", 4, 4)]:
        append_span(spans, span)
    assert spans == [("dead", "empty", 0, 1), ("dead", "not_json", 2, 2), ("dead", "not_json", 4, 4)]
    assert [(entry.reason, entry.ranges) for entry in ledger_entries(spans)] == [("empty", ((0, 1),)), ("not_json", ((2, 2), (4, 4)))]


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=12),
    order=st.randoms(use_true_random=False),
    gaps=st.lists(st.integers(0, 3), min_size=12, max_size=12),
)
def test_the_ready_offset_never_passes_an_unfinished_slice(sizes: list[int], order: object, gaps: list[int]) -> None:
    progress = PartitionProgress()
    pieces: list[Slice] = []
    offset = 0
    for size, gap in zip(sizes, gaps, strict=False):
        offset += gap
        pieces.append(piece(offset, size))
        offset += size
    for each in pieces:
        progress.begin(each)
    finishing = list(pieces)
    order.shuffle(finishing)  # type: ignore[attr-defined]
    unfinished = set(range(len(pieces)))
    for each in finishing:
        unfinished.discard(pieces.index(each))
        progress.finish(each)
        ready, _ = progress.take_ready()
        if ready is not None:
            assert all(pieces[index].first >= ready for index in unfinished)
    assert progress.in_flight == ()
