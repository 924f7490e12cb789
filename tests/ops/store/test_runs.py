"""Runs in the history, and two of them side by side."""

import pytest

from tests.ops.store.histories import add, scored
from touchstone.ops.store.case_filter import CaseFilter, FilterError
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.runs import parse_run, run_name

OLD = run_name("safe_v0", "0.1", "d1", "I25", "b1")
NEW = run_name("safe_v0", "0.1", "d2", "I25", "b1")


def test_runs_are_batches_and_where_there_are_several_all_together(store: ResultStore) -> None:
    add(
        store,
        scored("a", 0, batch="b1"),
        scored("b", 1, batch="b2", label="Fail"),
        scored("c", 2, digest="d2", batch="b1"),
        scored("d", 3, digest="d3", batch=None),
    )
    runs = History(store.engine).runs()
    assert [(run.config_digest, run.batch_id, run.total) for run in runs] == [("d3", "", 1), ("d2", "b1", 1), ("d1", "", 2), ("d1", "b2", 1), ("d1", "b1", 1)]
    assert runs[2].labels == {"Pass": 1, "Fail": 1}
    assert History(store.engine).runs(CaseFilter(scope=frozenset({"other"}))) == []


@pytest.mark.parametrize("parts", [("a", "1", "d"), ("a:b", "1%", "d", "c/ü", "x y")])
def test_the_name_of_a_run_holds_its_parts(parts: tuple[str, ...]) -> None:
    assert parse_run(run_name(*parts)) == parts


@pytest.mark.parametrize("name", ["", "a", "a:b:c:d", "a:b:c:d:e:f", "a:b:%00"])
def test_a_name_that_no_run_can_have_is_refused(store: ResultStore, name: str) -> None:
    with pytest.raises(FilterError, match="run: write"):
        History(store.engine).compare(name, OLD)


def test_two_runs_show_flips_shifts_and_changed_cases_in_pages(store: ResultStore) -> None:
    for n in range(10):
        label = "Fail" if n < 4 else "Pass"
        add(store, scored(f"e{n}", n, label="Pass", codes=("both",)), scored(f"e{n}", n, digest="d2", label=label, score=0.5, codes=("both", "new")))
    add(store, scored("only-now", 50, digest="d2"), scored("elsewhere", 51, batch="b2", label="Fail"))
    history = History(store.engine)
    found = history.compare(OLD, NEW, limit=3)
    assert found is not None
    assert (found.by, found.pairs, found.before.total, found.now.total) == ("event_id", 10, 10, 11)
    assert found.labels == {("Pass", "Pass"): 6, ("Pass", "Fail"): 4}
    shift = next(value for value in found.values if value.name == "composite")
    assert (shift.before, shift.now, shift.difference, shift.pairs, shift.changed) == (1.0, 0.5, -0.5, 10, 10)
    assert [(code.code, code.before, code.now) for code in found.codes] == [("new", 0, 10), ("both", 10, 10)]
    assert [case.event_id for case in found.cases] == ["e0", "e1", "e2"]
    assert (found.cases[0].label_before, found.cases[0].label) == ("Pass", "Fail")
    following = history.compare(OLD, NEW, limit=3, cursor=found.next)
    assert following is not None
    assert ([case.event_id for case in following.cases], following.next) == (["e3"], None)
    unchanged = history.compare(OLD, NEW, changed=("Fail", "Pass"))
    assert unchanged is not None
    assert unchanged.cases == ()


def test_runs_without_a_common_event_are_paired_by_case(store: ResultStore) -> None:
    add(store, *(scored(f"one-{n}", n, case=f"case-{n}") for n in range(3)))
    add(store, *(scored(f"two-{n}", 10 + n, case=f"case-{n}", digest="d2", label="Fail") for n in range(3)))
    found = History(store.engine).compare(OLD, NEW)
    assert found is not None
    assert (found.by, found.pairs, found.cases[0].event_before) == ("case_id", 3, "one-0")


def test_a_run_of_a_suite_that_the_reader_may_not_see_is_not_there(store: ResultStore) -> None:
    add(store, scored("a", 0), scored("a", 0, digest="d2"))
    history = History(store.engine)
    assert history.compare(OLD, NEW, scope=frozenset({"other"})) is None
    assert history.compare(OLD, NEW, scope=frozenset({"safe_v0"})) is not None
    assert history.compare(OLD, run_name("safe_v0", "9", "d1")) is None
