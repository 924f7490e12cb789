import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from tests.streams.results_topic import BEGAN, projection, result
from touchstone.ops.store import trends
from touchstone.ops.store.reports import Wanted, choose, choose_earlier
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.rows import from_micros, to_micros
from touchstone.ops.store.trends import span_between, trend_of
from touchstone.schemas.reports.changes import Trend
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.base import ConfigError
from touchstone.scorers.reporting.intervals import mean_interval, wilson
from touchstone.scorers.safe import SUITE
from touchstone.scorers.suite import unknown_suite

HOUR = 3600


def batch(name: str | None, hour: float, labels: Sequence[str] = ("Pass", "Fail"), **told: str) -> list[ScoreResult]:
    return [
        result(
            event=f"{name}-{hour}-{number}-{told.get('digest')}-{told.get('concern')}",
            label=label,
            score=number / 10,
            batch=name,
            seconds=hour * HOUR + number,
            offset=int(hour * 1000) + number,
            **told,
        )
        for number, label in enumerate(labels)
    ]


def keep(store: ResultStore, *batches: Sequence[ScoreResult]) -> None:
    store.apply(projection(*(one for results in batches for one in results)), 1.0)


def of(store: ResultStore, **wanted: str) -> Trend:
    found = trend_of(store, SUITE, choose(store, Wanted("safe_v0", **wanted)))  # type: ignore[arg-type]  # names of texts
    assert found is not None
    return found


def test_batches_of_the_concern_stand_in_the_order_in_which_they_began_whichever_is_reported(store: ResultStore) -> None:
    keep(store, batch("b2", 3), batch("b9", 1), batch("b1", 7), batch("x", 5, concern="other"))
    found = of(store, concern="I25", batch="b1")
    assert (found.by, [point.name for point in found.points], found.left_out) == ("batch", ["b9", "b2", "b1"], 0)
    assert found.points[0].begun == datetime(2026, 1, 2, 4, 4, 5, tzinfo=UTC)


def test_a_point_has_the_figures_of_its_batch_with_their_intervals(store: ResultStore) -> None:
    keep(store, batch("b1", 0), batch("b2", 1, ("Pass", "Pass", "Fail", "unscored")))
    point = of(store, concern="I25").points[1]
    assert (point.cases, point.scored, point.passed, point.pass_rate) == (4, 3, 2, pytest.approx(2 / 3))
    assert point.pass_rate_interval == wilson(2, 3)
    assert (point.means["CR"], point.intervals["CR"]) == (pytest.approx(0.15), mean_interval([0.0, 0.1, 0.2, 0.3]))


def test_values_are_those_that_the_suite_lists(store: ResultStore) -> None:
    keep(store, batch("b1", 0), batch("b2", 1))
    assert [value.name for value in of(store, concern="I25").values] == ["CR", "AH", "AC", "composite"]
    found = trend_of(store, unknown_suite("safe_v0", "0.1"), choose(store, Wanted("safe_v0", "I25")))
    assert found is not None
    assert [value.name for value in found.values] == ["AC", "AH", "CR", "composite"]


def test_another_version_or_configuration_is_a_point_of_its_own_that_says_so(store: ResultStore) -> None:
    keep(store, batch("b1", 0), batch("b2", 1, digest="d2"), batch("b3", 2, digest="d2"), batch("b3", 4))
    assert [(point.name, point.config_digest, point.changed) for point in of(store, concern="I25").points] == [
        ("b1", "d1", False),
        ("b2", "d2", True),
        ("b3", "d2", False),
        ("b3", "d1", True),
    ]


def test_the_last_batches_are_shown_and_the_others_counted(store: ResultStore) -> None:
    keep(store, *(batch(f"b{number:02}", number) for number in range(23)))
    found = of(store, concern="I25")
    assert ([point.name for point in found.points], found.left_out) == ([f"b{number:02}" for number in range(3, 23)], 3)


def test_of_large_batches_fewer_are_shown(store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trends, "CASES_MAX", 5)
    keep(store, *(batch(f"b{number}", number) for number in range(5)))
    found = of(store, concern="I25")
    assert ([point.name for point in found.points], found.left_out) == (["b3", "b4"], 3)


def test_a_single_batch_has_spans_of_time(store: ResultStore) -> None:
    keep(store, *(batch("b1", hour) for hour in (0, 1, 5, 30)))
    found = of(store, concern="I25")
    assert (found.by, [point.name[-5:] for point in found.points]) == ("hour", ["03:00", "04:00", "08:00", "09:00"])
    assert [point.cases for point in found.points] == [2, 2, 2, 2]


def test_results_of_several_concerns_or_without_a_batch_have_spans_of_time(store: ResultStore) -> None:
    keep(store, batch(None, 0), batch("b1", 100), batch("b1", 200, concern="other"))
    found = of(store)
    assert (found.by, len(found.points)) == ("6 hours", 3)


@pytest.mark.parametrize(
    ("hours", "named"),
    [(0.2, "minute"), (0.7, "2 minutes"), (3, "5 minutes"), (24, "hour"), (24 * 30, "day"), (24 * 200, "week"), (24 * 3000, "16 weeks")],
)
def test_spans_are_as_short_as_forty_of_them_allow(hours: float, named: str) -> None:
    first = to_micros(BEGAN)
    last = first + round(hours * HOUR) * 1_000_000
    by, step, offset = span_between(first, last)
    assert by == named
    assert 1 <= (last - offset) // step - (first - offset) // step < 40


def test_weeks_begin_on_mondays() -> None:
    first = to_micros(BEGAN)
    _, step, offset = span_between(first, first + 200 * 24 * HOUR * 1_000_000)
    assert from_micros((first - offset) // step * step + offset).weekday() == 0


def test_one_batch_scored_within_some_minutes_has_no_trend(store: ResultStore) -> None:
    keep(store, batch("b1", 0), batch("b1", 0.05))
    assert trend_of(store, SUITE, choose(store, Wanted("safe_v0"))) is None


def test_a_trend_can_be_written_as_json(store: ResultStore) -> None:
    keep(store, batch("b1", 0), batch("b2", 1))
    assert json.loads(of(store, concern="I25").model_dump_json())["points"][0]["begun"] == "2026-01-02T03:04:05Z"


def test_the_earlier_batch_is_of_the_same_concern_and_scored_in_the_same_way_if_it_can_be(store: ResultStore) -> None:
    keep(store, batch("b1", 0), batch("b1", 9, digest="d2"), batch("b2", 1), batch("b1", 3, concern="other"), batch("b0", 2, digest="d2"))
    now = choose(store, Wanted("safe_v0", "I25", "b2"))
    before = choose_earlier(store, now, "b1")
    assert (before.config_digest, before.concern_id) == ("d1", "I25")
    assert choose_earlier(store, now, "b0").config_digest == "d2"
    with pytest.raises(ConfigError, match="--against b7: the store has no such batch of the concern"):
        choose_earlier(store, now, "b7")


def test_a_batch_is_not_compared_with_itself(store: ResultStore) -> None:
    keep(store, batch("b1", 0), batch("b2", 1))
    for now in (choose(store, Wanted("safe_v0", "I25", "b2")), choose(store, Wanted("safe_v0"))):
        with pytest.raises(ConfigError, match="part of what is reported"):
            choose_earlier(store, now, "b2")
