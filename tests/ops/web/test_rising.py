"""What is reported as rising, and what is left alone because chance explains it."""

from dataclasses import replace
from math import comb
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ops.web.served import toy_suite
from tests.streams.subscription.made import R0, event
from touchstone.ops.web.rising import chance_of, rising
from touchstone.streams.subscription.events import Event

NOW_MS = 1_800_000_000_000
MINUTES = 15
FINDING = {"severity": "major", "code": "cr_missing", "path": "p", "message": "m", "suggestion": None}


def made(number: int, minutes_ago: float, **told: Any) -> Event:
    return replace(event(str(number), R0, number, **told), at_ms=int(NOW_MS - minutes_ago * 60_000))


def of(events: list[Event]) -> list[dict[str, Any]]:
    return rising(sorted(events, key=lambda one: -one.at_ms), {"one": toy_suite("one")}, now_ms=NOW_MS, minutes=MINUTES)


def run(count: int, minutes_ago: float, start: int, every: int = 0, **told: Any) -> list[Event]:
    """So many results at one time; each `every`th has a finding."""
    return [made(start + number, minutes_ago, **told, findings=[FINDING] if every and number % every == 0 else []) for number in range(count)]


def test_a_code_whose_share_grew_is_reported_with_how_many_and_since_when() -> None:
    (found,) = of(run(100, 12, 0, every=50) + run(60, 2, 100, every=3))
    assert (found["code"], found["count"], found["of"], found["before"], found["before_of"], found["more"]) == ("cr_missing", 20, 60, 2, 100, 19)
    assert found["since"] == "2027-01-15T07:55:00.000Z"
    assert (sum(found["minutes"]), len(found["minutes"])) == (22, MINUTES + 1)


def test_more_of_a_code_because_there_are_more_results_is_no_growth() -> None:
    assert of(run(60, 12, 0, every=3) + run(600, 2, 100, every=3)) == []


def test_another_configuration_is_not_compared_with_the_one_before() -> None:
    assert of(run(100, 12, 0, config_digest="a") + run(60, 2, 100, every=2, config_digest="b")) == []


def test_the_slice_that_explains_it_best_is_named() -> None:
    before = run(200, 12, 0, attributes={"model": "a"}) + run(50, 12, 200, attributes={"model": "b"})
    (found,) = of(before + run(200, 2, 300, attributes={"model": "a"}) + run(50, 2, 500, every=2, attributes={"model": "b"}))
    assert (found["model"], found["concern"], found["count"]) == ("b", None, 25)


def test_failed_cases_can_rise_without_a_code() -> None:
    (found,) = of(run(100, 12, 0) + run(30, 2, 200) + run(30, 2, 300, label="Fail"))
    assert (found["code"], found["label"], found["count"]) == (None, "Fail", 30)


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_the_chance_is_that_of_the_hypergeometric_distribution(of_: int, before_of: int, data: st.DataObject) -> None:
    count, before = data.draw(st.integers(0, of_)), data.draw(st.integers(0, before_of))
    marked, total = count + before, of_ + before_of
    exact = sum(comb(marked, number) * comb(total - marked, of_ - number) for number in range(count, min(marked, of_) + 1)) / comb(total, of_)
    assert chance_of(count, of_, before, before_of) == pytest.approx(exact, rel=1e-9)
