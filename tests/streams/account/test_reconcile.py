from typing import Any

import pytest

from touchstone.streams.account.intervals import Interval, size
from touchstone.streams.account.reconcile import DeadLetters, PartitionFacts, Reconciliation, candidate_holes, facts_of_accounts, judge
from touchstone.streams.account.store_port import Account


def facts(**told: Any) -> PartitionFacts:
    usual: dict[str, Any] = {
        "start": 0,
        "end": 10,
        "committed": 8,
        "intervals": (Interval(0, 4, "scored"), Interval(5, 5, "dead", "not_json"), Interval(6, 8, "skipped", "other_kind")),
        "dead_letters": DeadLetters(((5, 5),), 1),
    }
    return PartitionFacts("events", 0, **(usual | told))


def codes(of: PartitionFacts) -> list[str]:
    return [difference.code for difference in judge(of, []).differences]


def test_a_closed_account_adds_up() -> None:
    account = judge(facts(), [])
    assert account.closes
    assert (account.scored, account.skipped, account.dead, account.in_flight, account.ahead) == (5, {"other_kind": 2}, {"not_json": 1}, 2, 1)
    assert account.consumed == account.scored + 2 + 1 + account.in_flight


def test_an_event_below_the_committed_offset_without_an_outcome_is_a_hole() -> None:
    open_facts = facts(intervals=(Interval(0, 2, "scored"), Interval(5, 7, "scored")), dead_letters=None)
    assert candidate_holes(open_facts) == [(3, 4)]
    account = judge(open_facts, [3, 4])
    assert account.holes == [(3, 4)]
    assert not account.closes


def test_an_offset_that_holds_no_record_is_no_hole() -> None:
    account = judge(facts(intervals=(Interval(0, 2, "scored"), Interval(5, 7, "scored")), dead_letters=None), [4])
    assert (account.holes, account.empty) == ([(4, 4)], 1)
    assert account.consumed == account.scored + account.in_flight + account.empty + 1


def test_without_a_look_at_the_topic_every_candidate_counts() -> None:
    assert judge(facts(intervals=(), dead_letters=None)).holes == [(0, 7)]


def test_a_group_that_never_committed_owes_nothing_yet() -> None:
    account = judge(facts(committed=None, intervals=(), dead_letters=DeadLetters()), [])
    assert account.closes
    assert account.in_flight == 10


def test_outcomes_and_commits_past_the_end_tell_of_a_topic_made_anew() -> None:
    remade = facts(end=4, committed=8)
    assert codes(remade) == ["outcome_past_end", "commit_past_end"]


def test_outcomes_of_events_that_came_while_the_store_was_read_are_no_difference() -> None:
    assert codes(facts(end=8, latest_end=9)) == []
    assert codes(facts(end=8, latest_end=8)) == ["outcome_past_end"]


def test_a_dead_outcome_without_its_letter_is_a_difference() -> None:
    assert codes(facts(dead_letters=DeadLetters())) == ["dead_letter_missing"]


def test_a_letter_that_retention_deleted_is_told_and_not_failed() -> None:
    account = judge(facts(dead_letters=DeadLetters(complete=False)), [])
    assert account.closes
    assert "retention" in account.notes[0]


def test_a_dead_outcome_above_the_committed_offset_may_still_wait_for_its_letter() -> None:
    assert codes(facts(intervals=(Interval(0, 7, "scored"), Interval(8, 8, "dead", "x")), dead_letters=DeadLetters())) == []


def test_a_letter_without_an_outcome_is_a_difference_below_the_committed_offset_only() -> None:
    without = facts(intervals=(Interval(0, 5, "scored"), Interval(7, 7, "scored")), dead_letters=DeadLetters(((6, 6), (9, 9)), 2))
    account = judge(without, [6])
    assert [(one.code, one.offsets) for one in account.differences] == [("dead_outcome_missing", ((6, 6),))]


def test_a_letter_of_an_event_that_a_later_version_scored_is_history() -> None:
    account = judge(facts(intervals=(Interval(0, 8, "scored"),)), [])
    assert account.closes
    assert "scored in the end" in account.notes[0]


def test_a_letter_sent_twice_is_told() -> None:
    assert "more than once" in judge(facts(dead_letters=DeadLetters(((5, 5),), 2)), []).notes[0]


def test_scored_offsets_and_rows_are_compared_one_by_one() -> None:
    unmatched = facts(scored_without_row=((1, 1),), row_without_scored=((5, 5),))
    assert codes(unmatched) == ["result_missing", "outcome_missing"]


def test_versions_are_folded_into_one_account_but_their_rows_are_not() -> None:
    older = Account((Interval(0, 3, "scored"), Interval(4, 4, "dead", "x")), ((0, 3),))
    newer = Account((Interval(4, 6, "scored"),), ((4, 5),))
    assert facts_of_accounts([older, newer]) == ((Interval(0, 6, "scored"),), ((6, 6),), ())


@pytest.mark.parametrize(("drained", "closes"), [(False, True), (True, False)])
def test_drained_demands_that_nothing_is_in_flight(*, drained: bool, closes: bool) -> None:
    assert Reconciliation("safe_v0", [judge(facts(), [])], behind=0, drained=drained).closes is closes


HOLE = facts(intervals=(Interval(1, 7, "scored"),), dead_letters=None)
UNMATCHED = facts(intervals=(Interval(1, 7, "scored"),), scored_without_row=((1, 1),), dead_letters=None)
LETTER_FIRST = facts(intervals=(Interval(0, 6, "scored"),), dead_letters=DeadLetters(((7, 7),), 1))


@pytest.mark.parametrize(
    ("of", "behind", "drained", "undecided"),
    [
        (HOLE, 3, False, True),
        (HOLE, 0, False, False),
        (HOLE, 3, True, False),
        (UNMATCHED, 3, False, False),
        (LETTER_FIRST, 3, False, True),
        (facts(), 3, False, False),
    ],
)
def test_what_a_store_that_is_behind_may_still_read_is_undecided(*, of: PartitionFacts, behind: int, drained: bool, undecided: bool) -> None:
    verdict = Reconciliation("safe_v0", [judge(of)], behind, drained)
    assert verdict.undecided is undecided
    assert verdict.as_json()["undecided"] is undecided
    assert verdict.closes is (of not in {HOLE, UNMATCHED, LETTER_FIRST})


def test_the_json_names_the_offsets() -> None:
    document = Reconciliation("safe_v0", [judge(facts(scored_without_row=((1, 1),)), [])], behind=3, drained=False).as_json()
    assert document["closes"] is False
    assert document["behind"] == 3
    assert document["partitions"][0]["differences"][0]["offsets"] == ((1, 1),)


def test_what_was_deleted_unread_is_a_count_of_its_own_and_keeps_the_account_open() -> None:
    told = facts(intervals=(Interval(0, 4, "scored"), Interval(5, 7, "expired", "deleted")), dead_letters=None)
    account = judge(told, [])
    assert (account.expired, account.holes, account.empty, account.closes) == ([(5, 7)], [], 0, False)
    assert account.consumed == account.scored + size(account.expired) + account.in_flight


def test_what_was_deleted_past_the_committed_offset_has_expired_though_no_worker_has_told_it() -> None:
    account = judge(facts(start=9, committed=6, intervals=(Interval(0, 6, "scored"),), dead_letters=None), [], 1)
    assert (account.scored, account.expired, account.in_flight) == (7, [(7, 8)], 1)
    assert account.consumed == account.scored + size(account.expired) + account.in_flight
    assert account.notes == ["2 of the expired offsets are not in the ledger yet: the next worker that reads the partition writes them"]


def test_what_cannot_be_looked_up_any_more_is_told_apart_from_offsets_that_hold_no_record() -> None:
    account = judge(facts(start=6, intervals=(Interval(0, 2, "scored"), Interval(5, 6, "scored")), dead_letters=None), [])
    assert (account.empty, account.closes) == (3, True)
    (note,) = account.notes
    assert note.startswith("2 empty offsets are below the log's start 6")
