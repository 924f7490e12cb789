from datetime import timedelta

import pytest

from tests.streams.results_topic import BEGAN, projection, result
from touchstone.ops.store.judges import JudgeStore
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.rows import to_micros
from touchstone.schemas.prevalence import JudgeStatus
from touchstone.schemas.result import ScoreResult
from touchstone.streams.account.verdict_window import SPANS, VerdictWindow

START = to_micros(BEGAN)
WAY = ("0.1", "d1")
HOUR = 3_600_000_000
#: Seconds that a busy machine may take for a whole window.
BOUND_S = 60.0
NOW = BEGAN.timestamp() + 60


def add(store: ResultStore, *events: ScoreResult) -> None:
    first = store.positions("touchstone.results").get(0)
    store.apply(projection(*events, first=first or 0, expected=first), 0.0)


def verdict(number: int, *, fails: bool = False, **told: object) -> ScoreResult:
    return result(event=f"e{number}", offset=number, label="Fail" if fails else "Pass", score=0.0 if fails else 1.0, **told)


def test_verdicts_are_counted_by_configuration_by_label_and_by_value(store: ResultStore) -> None:
    add(store, verdict(0), verdict(1, fails=True), verdict(2, digest="d2"), result(event="e3", offset=3, label="unscored"), verdict(4, suite="other"))
    found = JudgeStore(store.engine).verdicts("safe_v0", ["CR", "absent"], START, START + HOUR)
    assert {digest: (verdicts.of(None), verdicts.values) for (_, digest), verdicts in found.items()} == {
        "d1": ((1, 2), {"CR": (1, 3)}),
        "d2": ((0, 1), {"CR": (0, 1)}),
    }


def test_a_span_has_its_first_moment_and_not_its_last(store: ResultStore) -> None:
    add(store, verdict(0), verdict(1, seconds=1), verdict(2, seconds=2))
    source = JudgeStore(store.engine)
    assert source.verdicts("safe_v0", (), START, START + 2_000_000)[WAY].of(None) == (0, 2)
    assert source.newest("safe_v0", WAY, None, START, START + 2_000_000)["event_id"] == "e1"
    assert source.newest("safe_v0", ("0.1", "d9"), None, START, START + 2_000_000) == {}


def test_a_window_counts_what_was_written_since_it_counted_last(store: ResultStore) -> None:
    source = JudgeStore(store.engine)
    window = VerdictWindow(source, 24 * 3600)
    window.watch({"safe_v0": ["CR"]})
    add(store, verdict(0), verdict(1, fails=True))
    assert window.count(NOW, BOUND_S)
    assert window.totals("safe_v0")[WAY].values == {"CR": (1, 2)}
    more = [verdict(2, fails=True), verdict(3, fails=True, seconds=-25 * 3600)]
    add(store, *more)
    assert window.count(NOW, BOUND_S)
    assert window.totals("safe_v0")[WAY].of(None) == (1, 2)
    window.touch(projection(*more).results)
    assert window.count(NOW, BOUND_S)
    assert window.totals("safe_v0")[WAY].of(None) == (2, 3), "the result of the day before is outside"
    assert window.count(NOW + 25 * 3600, BOUND_S)
    assert window.totals("safe_v0") == {}


def test_a_window_reads_each_span_once_and_pauses_when_its_time_is_over(store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    source = JudgeStore(store.engine)
    whole = source.verdicts
    monkeypatch.setattr(source, "verdicts", lambda suite, values, since, until: asked.append(since) or whole(suite, values, since, until))
    window = VerdictWindow(source, 24 * 3600)
    window.watch({"safe_v0": []})
    assert not window.count(NOW, count_s=0.0)
    assert asked == []
    assert window.count(NOW, BOUND_S)
    assert len(set(asked)) == len(asked) == SPANS
    assert window.count(NOW, BOUND_S)
    assert len(asked) == SPANS


def test_states_of_judges_are_kept_until_they_are_dropped(store: ResultStore) -> None:
    source = JudgeStore(store.engine)
    one, other = (
        JudgeStatus(subject="safe_v0", state="promoted", decides=True),
        JudgeStatus(subject="failure_modes/missing", state="shadow", decides=False, reasons=("no test",)),
    )
    source.keep_states([one, other], BEGAN.timestamp())
    source.keep_states([one.model_copy(update={"state": "stale"})], (BEGAN + timedelta(minutes=1)).timestamp())
    assert [(status.subject, status.state, at) for status, at in source.states()] == [
        ("failure_modes/missing", "shadow", BEGAN),
        ("safe_v0", "stale", BEGAN + timedelta(minutes=1)),
    ]
    source.drop_states(["safe_v0"])
    assert [status for status, _ in source.states()] == [other]


def test_what_changes_with_an_annotation_tells_that_one_was_written(store: ResultStore) -> None:
    from touchstone.ops.store.cases import CaseIndex

    source = JudgeStore(store.engine)
    before = source.annotations_state()
    CaseIndex(store.engine).annotate_many([("e1", "t1", "ana", 1, BEGAN, {"verdict": "fail"})])
    assert source.annotations_state() != before
