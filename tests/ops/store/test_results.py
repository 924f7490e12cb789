import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from tests.streams.results_topic import SOURCE, TOPIC, ledger, projection, result
from touchstone.ops.store.engine import reading, writing
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.schema import metadata, pages, repeats, results
from touchstone.schemas.ledger import LedgerRecord
from touchstone.schemas.result import ScoreResult
from touchstone.streams.account.batch_reports import BatchState, Emitted, Summary
from touchstone.streams.account.intervals import Interval, fold, size
from touchstone.streams.account.projection import AccountKey
from touchstone.streams.account.store_port import Applied, StoreRefused

ACCOUNT = AccountKey("safe_v0", "0.1", SOURCE, "", 0)


def write(store: ResultStore, *events: ScoreResult | LedgerRecord, now: float = 1000.0) -> Applied:
    first = store.positions(TOPIC).get(0, 0)
    return store.apply(projection(*events, first=first), now)


def only_batch(store: ResultStore, now: float = 1e9) -> BatchState:
    (state,) = store.due(now, 10)
    return state


def acknowledge(store: ResultStore, state: BatchState, *, final: bool = False, now: float = 1000.0, due_at: float | None = None) -> None:
    store.mark_emitted([Emitted(state.report_id, state.revision, final, now, due_at, 1.0)])


def test_a_batch_of_records_is_rows_outcomes_and_positions(store: ResultStore) -> None:
    applied = write(store, result(event="a", offset=0), result(event="b", offset=1), ledger(("dead", "not_json", ((2, 3),))))
    assert applied == Applied(new=2)
    assert store.positions(TOPIC) == {0: 3}
    account = store.account(ACCOUNT)
    assert account.intervals == (Interval(0, 1, "scored"), Interval(2, 3, "dead", "not_json"))
    assert account.rows == ((0, 1),)


def test_positions_of_another_topic_are_its_own(store: ResultStore) -> None:
    write(store, result())
    assert store.positions("elsewhere") == {}
    store.forget_positions("elsewhere")
    assert store.positions(TOPIC) == {0: 1}


def test_a_replay_changes_neither_row_nor_report(store: ResultStore) -> None:
    write(store, result(offset=3))
    before = store.summary(only_batch(store).report_id)
    acknowledge(store, only_batch(store))
    assert write(store, result(offset=3, seconds=60)) == Applied(replays=1)
    assert store.due(1e9, 10) == []
    assert store.summary(projection(result()).results[0].batch.report_id) == before  # type: ignore[union-attr]


def test_a_repeated_event_is_one_row_and_one_repeat(store: ResultStore) -> None:
    write(store, result(offset=3))
    acknowledge(store, only_batch(store))
    assert write(store, result(offset=9, seconds=5)) == Applied(repeats=1)
    assert store.due(1e9, 10) == []
    account = store.account(ACCOUNT)
    assert account.rows == ((3, 3), (9, 9))
    assert size(account.rows) == sum(one.length for one in account.intervals)


def test_a_repeat_at_a_lower_offset_takes_the_row_without_a_change_of_report(store: ResultStore) -> None:
    write(store, result(offset=9, seconds=1))
    before = store.summary(only_batch(store).report_id)
    acknowledge(store, only_batch(store))
    assert write(store, result(offset=3, seconds=5)) == Applied(repeats=1)
    assert store.due(1e9, 10) == []
    assert store.summary(projection(result()).results[0].batch.report_id) == before  # type: ignore[union-attr]
    with reading(store.engine) as connection:
        assert connection.execute(select(results.c.source_offset)).scalars().all() == [3]
        assert connection.execute(select(repeats.c.source_offset)).scalars().all() == [9]


def test_an_id_used_twice_for_different_cases_keeps_the_lower_offset_in_any_order(store: ResultStore) -> None:
    write(store, result(offset=9, label="Fail", score=0.1), result(event="other", offset=1))
    acknowledge(store, only_batch(store))
    assert write(store, result(offset=3, label="Pass")) == Applied(replaced=1)
    assert store.summary(only_batch(store).report_id).labels == {"Pass": 2}
    assert write(store, result(offset=5, label="Review")) == Applied(repeats=1)
    assert store.summary(only_batch(store).report_id).labels == {"Pass": 2}


def test_an_id_that_moves_to_another_batch_brings_news_to_both(store: ResultStore) -> None:
    write(store, result(offset=9, batch="b1"))
    acknowledge(store, only_batch(store))
    write(store, result(offset=3, batch="b2"))
    states = {state.key.batch_id: store.summary(state.report_id).total for state in store.due(1e9, 10)}
    assert states == {"b1": 0, "b2": 1}


EVENTS: list[ScoreResult | LedgerRecord] = [
    result(event="a", offset=0),
    result(event="a", offset=4, seconds=3),
    result(event="b", offset=1, label="Fail", score=0.2),
    result(event="b", offset=2, label="Pass"),
    ledger(("skipped", "other_kind", ((3, 6),))),
    ledger(("dead", "not_json", ((2, 2), (5, 5)))),
    ledger(("shed", "too_old", ((5, 7),))),
]


def contents(store: ResultStore) -> tuple[object, ...]:
    account = store.account(ACCOUNT)
    with reading(store.engine) as connection:
        rows = connection.execute(select(results.c.result_id, results.c.source_offset, results.c.content).order_by(results.c.result_id)).all()
        again = connection.execute(select(repeats.c.result_id, repeats.c.source_offset).order_by(repeats.c.result_id, repeats.c.source_offset)).all()
    return account, tuple(map(tuple, rows)), tuple(map(tuple, again))


def empty(store: ResultStore) -> None:
    with writing(store.engine) as connection:
        for table in reversed(metadata.sorted_tables):
            if table.name != "touchstone_schema":
                connection.execute(table.delete())


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(EVENTS + EVENTS[:3]), cuts=st.sets(st.integers(1, 9)))
def test_order_batching_and_replays_do_not_show(store: ResultStore, order: Sequence[ScoreResult | LedgerRecord], cuts: set[int]) -> None:
    empty(store)
    write(store, *EVENTS)
    expected = contents(store)
    empty(store)
    for first, end in itertools.pairwise(sorted({0, *cuts, len(order)})):
        write(store, *order[first:end])
    assert contents(store) == expected


def test_alternating_outcomes_take_few_rows(store: ResultStore) -> None:
    for start in range(0, 6_000, 1_000):
        skipped = tuple((offset, offset) for offset in range(start + 1, start + 1_000, 2))
        dead = tuple((offset, offset) for offset in range(start, start + 1_000, 2))
        write(store, ledger(("skipped", "other_kind", skipped), ("dead", "not_json", dead)))
    assert len(store.account(ACCOUNT).intervals) == 6_000
    with reading(store.engine) as connection:
        assert connection.execute(select(func.count()).select_from(pages)).scalar_one() < 30


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 3)), min_size=1, max_size=400), min_size=1, max_size=4))
def test_pages_hold_what_one_fold_would(store: ResultStore, writes: list[list[tuple[int, int]]]) -> None:
    empty(store)
    claims = []
    for places in writes:
        ranges = tuple((first, first + length) for first, length in places)
        write(store, ledger(("shed", f"reason{len(ranges) % 3}", ranges)))
        claims += [Interval(first, last, "shed", f"reason{len(ranges) % 3}") for first, last in ranges]
    assert list(store.account(ACCOUNT).intervals) == fold(claims)


def test_versions_of_a_suite_have_accounts_of_their_own(store: ResultStore) -> None:
    write(store, result(offset=0), result(offset=0, version="0.2"), result(offset=1, digest="d2"))
    assert [key.suite_version for key in store.accounts("safe_v0", SOURCE)] == ["0.1", "0.2"]
    assert store.account(ACCOUNT).rows == ((0, 1),)


def test_a_second_projector_is_refused_and_writes_nothing(store: ResultStore) -> None:
    store.apply(projection(result(event="a")), 1.0)
    with pytest.raises(StoreRefused, match="another projector"):
        store.apply(projection(result(event="b", offset=1)), 1.0)
    write(store, result(event="c", offset=2))
    with pytest.raises(StoreRefused, match="another projector"):
        store.apply(projection(result(event="d", offset=3), first=1), 1.0)
    assert store.account(ACCOUNT).rows == ((0, 0), (2, 2))


def test_news_of_a_batch_wait_for_the_interval(store: ResultStore) -> None:
    write(store, result(event="a"), now=1000.0)
    acknowledge(store, only_batch(store, 1000.0), now=1000.2, due_at=1300.0)
    write(store, result(event="b", offset=1), now=1000.5)
    assert store.due(1001.1, 10) == []
    write(store, result(event="c", offset=2), now=1000.9)
    assert only_batch(store, 1001.2).revision == 3


def test_a_batch_without_news_is_due_when_it_will_have_been_quiet(store: ResultStore) -> None:
    write(store, result())
    acknowledge(store, only_batch(store), due_at=1300.0)
    assert store.due(1299.0, 10) == []
    assert only_batch(store, 1300.0).emitted_revision == 1


def test_a_late_case_reopens_a_final_batch(store: ResultStore) -> None:
    write(store, result(event="a"))
    acknowledge(store, only_batch(store), final=True)
    assert store.due(1e9, 10) == []
    write(store, result(event="late", offset=1))
    state = only_batch(store)
    assert (state.emitted_final, state.revision, state.emitted_revision) == (True, 2, 1)


def test_what_was_not_acknowledged_is_still_due_after_a_restart(store: ResultStore, store_url: str) -> None:
    write(store, result())
    reopened = ResultStore.open(store_url)
    assert only_batch(reopened) == only_batch(store)
    reopened.close()


def test_an_acknowledgement_of_an_older_revision_does_not_hide_newer_cases(store: ResultStore) -> None:
    write(store, result(event="a"))
    older = only_batch(store)
    write(store, result(event="b", offset=1))
    acknowledge(store, older, final=True)
    assert only_batch(store).revision == 2


def test_results_without_a_batch_are_kept_but_not_reported(store: ResultStore) -> None:
    assert write(store, result(event="a", batch=None), result(event="b", offset=1, batch=None, suite="toy")).new == 2
    assert store.due(1e9, 10) == []


def test_batches_of_every_suite_are_reported_installed_here_or_not(store: ResultStore) -> None:
    write(store, result(event="a"), result(event="b", offset=1, suite="toy"))
    assert sorted(state.key.suite for state in store.due(1e9, 10)) == ["safe_v0", "toy"]


def test_a_summary_counts_labels_and_means_over_the_batch_only(store: ResultStore) -> None:
    write(store, result(event="a", score=0.5, label="Review", size=7), result(event="b", offset=1), result(event="c", offset=2, batch="b2"))
    first = next(state for state in store.due(1e9, 10) if state.key.batch_id == "b1")
    summary = store.summary(first.report_id)
    assert isinstance(summary, Summary)
    assert (summary.total, summary.labels, summary.mean_scores["CR"], summary.batch_size) == (2, {"Review": 1, "Pass": 1}, 0.75, 7)


KILLED = """
import os, signal, sys
import touchstone.ops.store.results as module
from touchstone.ops.store.results import ResultStore
from tests.streams.results_topic import ledger, projection, result

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

store = ResultStore.open(sys.argv[1])
setattr(module, sys.argv[2], die)
store.apply(projection(result(event="b", offset=1), ledger(("dead", "x", ((2, 2),))), first=1), 2.0)
"""


@pytest.mark.parametrize("step", ["write_results", "add_outcomes", "touch_batches"])
def test_a_projector_killed_inside_its_transaction_leaves_nothing_half_written(store: ResultStore, store_url: str, step: str) -> None:
    write(store, result(event="a"))
    before = contents(store), store.positions(TOPIC), only_batch(store)
    died = subprocess.run([sys.executable, "-c", KILLED, store_url, step], env={**os.environ, "PYTHONPATH": str(Path.cwd())}, check=False, timeout=500)
    assert died.returncode == -signal.SIGKILL
    assert (contents(store), store.positions(TOPIC), only_batch(store)) == before
    assert write(store, result(event="b", offset=1)).new == 1
