"""What the index keeps of cases: the archive's rows, annotations, thumbs and saved filters."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from tests.ops.store.histories import AT, add, scored
from touchstone.ops.store.case_rows import CaseRow, CaseState
from touchstone.ops.store.cases import CaseIndex, Conflict
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore

CANARY = "Zebulon Quartermaine"


@pytest.fixture
def index(store: ResultStore) -> CaseIndex:
    return CaseIndex(store.engine)


def kept(event_id: str, seconds: int = 0, state: CaseState = "kept") -> CaseRow:
    at = AT + timedelta(seconds=seconds)
    return CaseRow(event_id, "safe", at, at, path=f"cases/safe/{event_id}.json", bytes=7, state=state)


def test_a_row_comes_back_as_it_was_written(index: CaseIndex) -> None:
    assert index.keep([kept("a"), kept("b")]) == 2
    assert index.row("a") == kept("a")
    assert index.rows(["a", "b", "c"]).keys() == {"a", "b"}
    assert index.counts() == {"kept": (2, 14)}


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        ("unreadable", "kept", "kept"),
        ("kept", "source_expired", "kept"),
        ("too_large", "source_expired", "source_expired"),
        ("forgotten", "kept", "forgotten"),
        ("removed", "unreadable", "removed"),
        ("removed", "kept", "kept"),
    ],
)
def test_a_late_failure_hides_no_case_and_a_forgotten_one_stays_forgotten(index: CaseIndex, first: CaseState, then: CaseState, expected: CaseState) -> None:
    index.keep([kept("a", state=first)])
    index.keep([kept("a", state=then)])
    row = index.row("a")
    assert row is not None
    assert row.state == expected


def test_retention_names_the_oldest_cases(index: CaseIndex) -> None:
    index.keep([kept(f"e{n}", n) for n in range(6)] + [kept("failed", -5, state="too_large")])
    assert [row.event_id for row in index.expired(before=AT + timedelta(seconds=2))] == ["e0", "e1"]
    assert [row.event_id for row in index.expired(keep_newest=3)] == ["e0", "e1", "e2"]
    assert [row.event_id for row in index.expired(before=AT + timedelta(seconds=1), keep_newest=4)] == ["e0", "e1"]
    assert index.expired() == []
    assert index.drop(["e0", "e1", "failed"]) == 2
    assert [row.event_id for row in index.expired(keep_newest=3)] == ["e2"]


def test_annotations_count_their_revisions(index: CaseIndex) -> None:
    first = index.annotate("a", "r1", {"qualityRating": 4}, AT, expected=0, trace_id="t")
    second = index.annotate("a", "r2", {"notes": "ü"}, AT, expected=1, review_pass=2)
    assert index.annotations("a") == (first, second)
    assert (first.revision, second.revision) == (1, 2)
    with pytest.raises(Conflict) as conflict:
        index.annotate("a", "r1", {}, AT, expected=1)
    assert conflict.value.revision == 2
    assert len(index.annotations("a")) == 2


def test_of_reviewers_who_saw_the_same_revision_one_writes(index: CaseIndex) -> None:
    def write(reviewer: int) -> bool:
        try:
            index.annotate("a", f"r{reviewer}", {}, AT, expected=0)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(16))) == 1
    assert len(index.annotations("a")) == 1


def test_a_thumb_may_come_before_its_case_and_be_changed(index: CaseIndex, store: ResultStore) -> None:
    index.rate("trace-1", "up", AT)
    index.rate("trace-1", "down", AT + timedelta(seconds=1))
    add(store, scored("e1", 0, kind="trace", case="trace-1"))
    assert History(store.engine).cases().rows[0].feedback == "down"
    assert index.feedback(["trace-1", "other"]).keys() == {"trace-1"}


def test_views_are_saved_replaced_and_deleted(index: CaseIndex) -> None:
    assert index.save_view("b", "label=Fail", AT)
    assert index.save_view("a", "label=Pass", AT)
    assert index.save_view("b", "label=Review", AT)
    assert list(index.views().items()) == [("a", "label=Pass"), ("b", "label=Review")]
    assert index.delete_view("b")
    assert not index.delete_view("b")


def test_a_forgotten_case_leaves_no_text_in_the_store(index: CaseIndex, store: ResultStore) -> None:
    quoting = scored("e1", 0, codes=("c",), kind="trace", case="trace-1", details={"sentence": CANARY})
    quoting = quoting.model_copy(update={"findings": tuple(one.model_copy(update={"message": CANARY, "suggestion": CANARY}) for one in quoting.findings)})
    add(store, quoting, scored("e2", 1))
    index.keep([kept("e1")])
    index.annotate("e1", "r", {"notes": CANARY}, AT, expected=0)
    index.rate("trace-1", "up", AT)
    history = History(store.engine)

    planned = index.forget("e1", AT, dry_run=True)
    assert (planned.case, planned.results, planned.annotations, planned.feedback) == (kept("e1"), 1, 1, 1)
    assert CANARY in repr(history.case("e1"))

    assert index.forget("e1", AT) == planned
    found = history.case("e1")
    assert found is not None
    assert CANARY not in repr(found)
    assert (found.kept and found.kept.state, found.annotations, found.feedback) == ("forgotten", (), None)
    assert [row.label for row in found.results] == ["Pass"]
    add(store, quoting)  # a replay from the topic
    assert CANARY not in repr(history.case("e1"))
