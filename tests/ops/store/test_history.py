"""Lists, counts and single cases, as the history of results shows them."""

from datetime import timedelta

import pytest

from tests.ops.store.histories import AT, add, scored
from touchstone.ops.store.case_filter import SORTS, CaseFilter, FilterError
from touchstone.ops.store.case_rows import CaseRow
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.result import ScoreResult


@pytest.fixture
def filled(store: ResultStore) -> ResultStore:
    add(
        store,
        scored("e1", 0, label="Pass", batch="b1", score=0.2),
        scored("e2", 1, label="Fail", batch="b1", codes=("missing_signal", "hallucination"), model="writer-a"),
        scored("e3", 2, label="unscored", batch="b2", score=0.5, failures=("judge_away",)),
        scored("t-4", 3, label="Fail", suite="clinical", kind="trace", case="trace-4", batch=None, codes=("hallucination",), severity="critical"),
    )
    index = CaseIndex(store.engine)
    index.keep([
        CaseRow("e2", "safe", AT, AT, path="cases/safe/e2.json", bytes=10, source="other"),
        CaseRow("t-4", "trace", AT, AT, trace_id="trace-4", path="traces/trace-4.json", bytes=10, source="production"),
        CaseRow("e3", "safe", AT, AT, state="too_large"),
    ])  # fmt: skip
    index.rate("trace-4", "down", AT)
    index.rate("e1", "up", AT)
    return store


def ids(store: ResultStore, **wanted: object) -> list[str]:
    return [row.event_id for row in History(store.engine).cases(CaseFilter(**wanted)).rows]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ["t-4", "e3", "e2", "e1"]),
        ({"sort": "time"}, ["e1", "e2", "e3", "t-4"]),
        ({"sort": "-findings"}, ["e2", "t-4", "e3", "e1"]),
        ({"sort": "findings"}, ["e3", "e1", "t-4", "e2"]),
        ({"sort": "label"}, ["t-4", "e2", "e3", "e1"]),
        ({"sort": "-label"}, ["e1", "e3", "t-4", "e2"]),
        ({"suite": ("clinical",)}, ["t-4"]),
        ({"label": ("Fail", "unscored")}, ["t-4", "e3", "e2"]),
        ({"code": ("hallucination",)}, ["t-4", "e2"]),
        ({"code": ("hallucination", "missing_signal")}, ["e2"]),
        ({"code": ("judge_away",)}, ["e3"]),
        ({"concern": ("I25",), "batch": ("b1",)}, ["e2", "e1"]),
        ({"model": ("writer-a",)}, ["e2"]),
        ({"kind": ("trace",)}, ["t-4"]),
        ({"severity": ("critical",)}, ["t-4"]),
        ({"source": ("production",)}, ["t-4"]),
        ({"kept": "yes"}, ["t-4", "e2"]),
        ({"kept": "no"}, ["e3", "e1"]),
        ({"feedback": "down"}, ["t-4"]),
        ({"feedback": "up"}, ["e1"]),
        ({"feedback": "none"}, ["e3", "e2"]),
        ({"since": AT + timedelta(seconds=1), "until": AT + timedelta(seconds=3)}, ["e3", "e2"]),
        ({"value": ("CR>=0.5", "CR<0.8")}, ["e3"]),
        ({"value": ("CR", "CR<=0.2")}, ["e1"]),
        ({"value": ("no such value",)}, []),
        ({"version": "0.1", "digest": "d1", "label": ("Pass",)}, ["e1"]),
        ({"version": "0.2"}, []),
        ({"q": "E2"}, ["e2"]),
        ({"q": "ACE-4"}, ["t-4"]),
        ({"q": "missing"}, ["e2"]),
        ({"q": "100%"}, []),
        ({"scope": frozenset({"clinical"})}, ["t-4"]),
        ({"scope": frozenset()}, []),
    ],
)
def test_a_filter_finds_its_cases_in_order(filled: ResultStore, wanted: dict[str, object], found: list[str]) -> None:
    assert ids(filled, **wanted) == found
    page = History(filled.engine).cases(CaseFilter(**wanted))  # type: ignore[arg-type]
    assert (page.total, page.next) == (len(found), None)


def test_a_row_says_what_other_tables_know_of_its_case(filled: ResultStore) -> None:
    (row,) = History(filled.engine).cases(CaseFilter(q="trace-4")).rows
    assert row.codes == ("hallucination",)
    assert (row.feedback, row.source, row.matched, row.findings_total) == ("down", "production", "case_id", 1)
    assert row.kept is not None
    assert row.kept.path == "traces/trace-4.json"


@pytest.mark.parametrize("sort", SORTS)
def test_pages_hold_every_case_once_while_others_are_added(store: ResultStore, sort: str) -> None:
    # Many at the same moment: the id decides.
    labels = ("Pass", "Fail", "Review")
    add(store, *(scored(f"e{n:02}", n, seconds=n // 5, score=n % 4 / 3, label=labels[n % 3], codes=("a", "b")[: n % 3]) for n in range(23)))
    history, seen, cursor = History(store.engine), list[str](), None
    for turn in range(10):
        page = history.cases(CaseFilter(sort=sort), 5, cursor)  # type: ignore[arg-type]
        seen += [row.event_id for row in page.rows]
        cursor = page.next
        if cursor is None:
            break
        add(store, scored(f"new-{turn}", 100 + turn, seconds=-1000 if sort == "time" else 1000))
    assert sorted(name for name in seen if name.startswith("e")) == [f"e{n:02}" for n in range(23)]
    assert len(seen) == len(set(seen))


def test_a_list_by_value_begins_with_the_worst_whatever_the_suites_scale_and_ends_with_what_has_none(store: ResultStore) -> None:
    def valued(event: str, offset: int, suite: str, **values: float) -> ScoreResult:
        return scored(event, offset, suite=suite).model_copy(update={"values": values})

    add(
        store,
        valued("good", 0, "clinical", overall=97.5, format=0.0),
        valued("bad", 1, "summary_loss", loss=0.9),
        valued("fair", 2, "summary_loss", loss=0.25),
        valued("middling", 3, "safe_v0", composite=0.5, CR=1.0),
        valued("nothing", 4, "safe_v0"),
        valued("strange", 5, "not_installed", overall=3.0),
        valued("middling too", 6, "safe_v0", composite=0.5),
    )
    assert ids(store, sort="overall") == ["bad", "middling too", "middling", "fair", "good", "strange", "nothing"]
    assert ids(store, sort="-overall") == ["good", "fair", "middling too", "middling", "bad", "strange", "nothing"]
    assert [row.overall for row in History(store.engine).cases(CaseFilter(sort="overall"), 2).rows] == [pytest.approx(0.1), 0.5]


@pytest.mark.parametrize("cursor", ["x", "e30", "WyJvbGRlc3QiLDEsImEiXQ", "WyJuZXdlc3QiLDFlOTksImEiXQ", "WyJuZXdlc3QiLCJhIiwiYSJd", "é", "a" * 5000])
def test_a_foreign_cursor_is_refused(store: ResultStore, cursor: str) -> None:
    with pytest.raises(FilterError, match="cursor"):
        History(store.engine).cases(cursor=cursor)


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("label", [("Fail", 2), ("Pass", 1), ("unscored", 1)]),
        ("suite", [("safe_v0", 3), ("clinical", 1)]),
        ("code", [("hallucination", 2), ("judge_away", 1), ("missing_signal", 1)]),
        ("batch", [("b1", 2), ("", 1), ("b2", 1)]),
        ("source", [("", 2), ("other", 1), ("production", 1)]),
        ("model", [("", 3), ("writer-a", 1)]),
        ("day", [("2026-01-02", 4)]),
    ],
)
def test_facets_count_results(filled: ResultStore, by: str, expected: list[tuple[str, int]]) -> None:
    facets = History(filled.engine).facets(by=by)
    assert [(facet.value, facet.count) for facet in facets] == expected
    assert all(sum(facet.labels.values()) == facet.count for facet in facets)


@pytest.mark.parametrize(
    ("by", "wanted", "expected"),
    [
        ("label", {"label": ("Fail",)}, {"Fail": 2, "Pass": 1, "unscored": 1}),
        ("label", {"label": ("Fail",), "batch": ("b1",)}, {"Fail": 1, "Pass": 1}),
        ("batch", {"label": ("Fail",), "batch": ("b1",)}, {"b1": 1, "": 1}),
        ("source", {"source": ("other",)}, {"": 2, "other": 1, "production": 1}),
        ("source", {"kept": "yes"}, {"other": 1, "production": 1}),
        ("version", {"version": "0.2"}, {"0.1": 4}),
        ("suite", {"suite": ("clinical",), "scope": frozenset({"safe_v0"})}, {"safe_v0": 3}),
        # All codes must be there: the others are counted among the results that have the chosen one.
        ("code", {"code": ("missing_signal",)}, {"hallucination": 1, "missing_signal": 1}),
    ],
)
def test_a_facet_is_counted_without_its_own_filter_so_that_one_can_choose_another_value(
    filled: ResultStore, by: str, wanted: dict[str, object], expected: dict[str, int]
) -> None:
    facets = History(filled.engine).facets(CaseFilter(**wanted), by)  # type: ignore[arg-type]
    assert {facet.value: facet.count for facet in facets} == expected


@pytest.mark.parametrize("identifier", ["t-4", "trace-4", scored("t-4", 3, suite="clinical").result_id])
def test_a_case_is_found_by_event_trace_and_result(filled: ResultStore, identifier: str) -> None:
    found = History(filled.engine).case(identifier)
    assert found is not None
    assert (found.event_id, found.results_total, found.revision) == ("t-4", 1, 0)
    assert found.feedback is not None
    assert found.feedback.rating == "down"
    assert found.kept is not None


def test_a_reader_sees_cases_of_the_own_suites_only(filled: ResultStore) -> None:
    history = History(filled.engine)
    assert history.case("t-4", frozenset({"safe_v0"})) is None
    assert history.case("t-4", frozenset({"clinical"})) is not None
    assert history.case("nowhere") is None


def test_a_rescored_event_has_all_its_results_newest_first(filled: ResultStore) -> None:
    add(filled, scored("e1", 0, label="Fail", digest="d2", seconds=50))
    found = History(filled.engine).case("e1")
    assert found is not None
    assert [row.label for row in found.results] == ["Fail", "Pass"]


def test_a_replaced_result_has_the_codes_of_its_new_row(store: ResultStore) -> None:
    add(store, scored("e1", 9, codes=("old",)))
    add(store, scored("e1", 1, codes=("new", "newer")))
    (row,) = History(store.engine).cases().rows
    assert row.codes == ("new", "newer")


def test_a_filter_is_the_same_after_its_address() -> None:
    wanted = CaseFilter(suite=("a", "b"), label=("Fail",), q="ü&=", since=AT, kept="no", sort="time")
    assert CaseFilter.parse(wanted.parameters()) == wanted


@pytest.mark.parametrize(
    "query",
    [
        [("label", "Nope")],
        [("colour", "red")],
        [("since", "yesterday")],
        [("q", "a"), ("q", "b")],
        [("q", "a\0")],
        [("q", "x" * 600)],
        [("kept", "maybe")],
        [("value", "loss=0.1")],
        [("value", "loss>=nan")],
    ],
)
def test_a_filter_that_cannot_be_used_is_refused_without_its_value(query: list[tuple[str, str]]) -> None:
    with pytest.raises(FilterError) as refused:
        CaseFilter.parse(query)
    assert all(value not in str(refused.value) or len(value) < 2 for _, value in query)
