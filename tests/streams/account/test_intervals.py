import itertools
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from touchstone.schemas.result import Outcome
from touchstone.streams.account.intervals import STRENGTH, Interval, clip, fold, gaps, join, offsets, runs, runs_of_ascending, show, size, spans_of, subtract

REASONS = ("", "a", "b")


@st.composite
def interval(draw: st.DrawFn) -> Interval:
    first = draw(st.integers(0, 40))
    return Interval(first, first + draw(st.integers(0, 12)), draw(st.sampled_from(get_args(Outcome))), draw(st.sampled_from(REASONS)))


intervals = st.lists(interval(), max_size=12)
spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 8)).map(lambda pair: (pair[0], sum(pair))), max_size=8).map(join)


def as_points(claims: list[Interval]) -> dict[int, tuple[str, str]]:
    """The same claims, offset by offset, by the definition of strength."""
    points: dict[int, tuple[int, str, str]] = {}
    for claim in claims:
        rank = (-STRENGTH[claim.outcome], claim.reason, claim.outcome)
        for offset in range(claim.first, claim.last + 1):
            points[offset] = min(points.get(offset, rank), rank)
    return {offset: (rank[2], rank[1]) for offset, rank in points.items()}


@given(intervals)
def test_a_fold_says_of_every_offset_what_its_strongest_claim_says(claims: list[Interval]) -> None:
    assert as_points(fold(claims)) == as_points(claims)


@given(intervals)
def test_a_fold_is_ascending_disjoint_and_joined(claims: list[Interval]) -> None:
    for before, after in itertools.pairwise(fold(claims)):
        assert before.last < after.first
        assert before.last + 1 < after.first or before[2:] != after[2:]


@given(intervals, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(claims: list[Interval], random: object) -> None:
    shuffled = list(claims)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fold(shuffled) == fold(claims)


@given(intervals, intervals)
def test_folding_in_steps_or_twice_is_folding_once(first: list[Interval], second: list[Interval]) -> None:
    whole = fold([*first, *second])
    assert fold([*fold(first), *fold(second)]) == whole
    assert fold([*whole, *second]) == whole


def test_what_any_worker_has_read_has_not_expired() -> None:
    claims = [Interval(0, 1, "expired", "deleted"), Interval(1, 1, "skipped", "x")]
    assert [(one.first, one.outcome) for one in fold(claims)] == [(0, "expired"), (1, "skipped")]


def test_a_result_outweighs_a_dead_letter_which_outweighs_shed_which_outweighs_skipped() -> None:
    claims = [Interval(0, 3, "skipped", "x"), Interval(1, 3, "shed", "x"), Interval(2, 3, "dead", "x"), Interval(3, 3, "scored")]
    assert [(one.first, one.outcome) for one in fold(claims)] == [(0, "skipped"), (1, "shed"), (2, "dead"), (3, "scored")]


@given(st.lists(st.integers(0, 60)))
def test_runs_hold_exactly_the_offsets(numbers: list[int]) -> None:
    assert list(offsets(runs(numbers))) == sorted(set(numbers))
    assert runs(numbers) == join(runs(numbers)) == runs_of_ascending(sorted(numbers))


@given(spans, spans)
def test_subtraction_is_set_difference(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    difference = subtract(left, right)
    assert list(offsets(difference)) == sorted(set(offsets(left)) - set(offsets(right)))
    assert size(difference) == len(list(offsets(difference)))


@given(intervals, st.integers(0, 30), st.integers(0, 30))
def test_gaps_and_outcomes_together_are_the_whole_range(claims: list[Interval], first: int, length: int) -> None:
    end = first + length
    inside = clip(fold(claims), first, end)
    assert sum(one.length for one in inside) + size(gaps(fold(claims), first, end)) == length


@given(intervals)
def test_spans_of_an_outcome_are_its_offsets(claims: list[Interval]) -> None:
    points = as_points(claims)
    assert list(offsets(spans_of(fold(claims), "dead"))) == sorted(offset for offset, (outcome, _) in points.items() if outcome == "dead")


def test_many_offsets_are_shown_in_few_words() -> None:
    assert show([(3, 3), (7, 9)]) == "3, 7-9"
    assert show([(2 * number, 2 * number) for number in range(12)]) == "0, 2, 4, 6, 8, 10, 12, 14, 16, 18 and 2 more"
