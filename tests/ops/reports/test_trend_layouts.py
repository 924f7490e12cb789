import dataclasses
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.ops.reports.test_html import Page
from tests.ops.reports.toy import HOSTILE, NOW, SUITE, options, report_of, result
from touchstone.ops.reports.layouts import FORMATS, lay_out
from touchstone.schemas.reports.changes import Trend, TrendPoint, TrendValue
from touchstone.schemas.reports.intervals import Interval
from touchstone.schemas.reports.suite import SuiteReportDocument
from touchstone.scorers.reporting.intervals import wilson


def point(number: int, passed: int | None = 5, size: float | None = 0.5, **given: Any) -> TrendPoint:
    """A batch of ten cases; without `passed`, of none that was scored."""
    scored = 0 if passed is None else 10
    made = TrendPoint(
        name=f"night-{number}",
        begun=NOW + timedelta(days=number),
        cases=10,
        scored=scored,
        passed=passed or 0,
        pass_rate=None if passed is None else passed / 10,
        pass_rate_interval=wilson(passed or 0, scored),
        means={} if size is None else {"size": size},
        intervals={} if size is None else {"size": Interval(low=size - 0.1, high=size + 0.1)},
        suite_version="1.2.0",
        config_digest="d41d8cd98f00b204",
        changed=False,
    )
    return made.model_copy(update=given)


def trend(*points: TrendPoint, by: str = "batch") -> Trend:
    return Trend(by=by, values=(TrendValue(name="size", heading="Size", places=2, better="higher"),), points=points, left_out=0)


def laid_out(one: Trend, format: str) -> str:
    report = report_of([result("a")])
    return "".join(lay_out(SUITE, report, format, dataclasses.replace(options(report), trend=one)))


THREE = trend(point(0, 2, 0.4), point(1, 4, 0.5, changed=True, suite_version="1.3.0"), point(2, 9, 0.7))


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in {"json", "junit"}])
def test_every_format_for_people_has_a_row_for_each_point_and_marks_another_version(format: str) -> None:
    text = laid_out(THREE, format).replace("\\", "")
    assert all(part in text for part in ("Trend over 3 batches", "night-0", "night-2", "90%", "60% to 98%", "0.70", "1.3.0 d41d8cd9 (changed)"))


def test_the_console_draws_the_pass_rates_in_one_line() -> None:
    assert "pass rate ▂▄█" in laid_out(THREE, "console")


def test_json_has_the_points_in_the_form_that_its_schema_says() -> None:
    assert SuiteReportDocument.model_validate_json(laid_out(THREE, "json")).trend == THREE
    assert json.loads(laid_out(trend(point(0), point(1)), "json"))["trend"]["points"][1]["name"] == "night-1"


def test_junit_has_the_pass_rates_as_a_property() -> None:
    properties = {one.get("name"): one.get("value") for one in ET.fromstring(laid_out(THREE, "junit")).iter("property")}  # our own text
    assert properties["trend.pass_rate"] == "night-0 0.2000; night-1 0.4000; night-2 0.9000"


def charts(text: str) -> list[dict[str, str]]:
    return [one for one in Page(text).all("svg") if one.get("class") == "trend"]


def test_a_chart_says_in_words_what_it_shows_and_leads_to_the_table() -> None:
    rate, size = charts(laid_out(THREE, "html"))
    assert (rate["role"], size["role"]) == ("img", "img")
    assert rate["aria-label"] == "Pass rate over 3 points, from 20% to 90%, least 20%, greatest 90%; the table below has every one"
    assert size["aria-label"].startswith("Size over 3 points, from 0.40 to 0.70")


def test_every_point_says_its_figures_where_it_is_touched() -> None:
    titles = [text for text in Page(laid_out(THREE, "html")).texts if text.startswith("night-2, ")]
    assert titles == ["night-2, 2031-05-08 07:08: 90% (60% to 98%), 10 cases", "night-2, 2031-05-08 07:08: 0.70 (0.60 to 0.80), 10 cases"]


def numbers(text: str, element: str, name: str) -> list[Sequence[float]]:
    found = [one["points"] for one in Page(text).all(element) if one.get("class") == name]
    return [[float(number) for number in re.split("[ ,]", points)] for points in found]


def test_lines_and_bands_stay_inside_the_chart() -> None:
    wild = trend(point(0, 0, -1e9), point(1, 10, 1e9), point(2, 5, 0.0))
    text = laid_out(wild, "html")
    for places in (*numbers(text, "polyline", "line"), *numbers(text, "polygon", "band")):
        assert all(0 <= x <= 320 for x in places[::2])
        assert all(0 <= y <= 150 for y in places[1::2])


def test_a_point_without_a_scored_case_is_a_gap() -> None:
    text = laid_out(trend(point(0), point(1), point(2, None, None), point(3), point(4)), "html")
    assert [len(places) for places in numbers(text, "polyline", "line")] == [4, 4, 4, 4]
    assert "▅▅ ▅▅" in laid_out(trend(point(0), point(1), point(2, None, None), point(3), point(4)), "console")


def test_equal_means_have_an_axis_all_the_same() -> None:
    same = Interval(low=0.5, high=0.5)
    assert len(charts(laid_out(trend(point(0, intervals={"size": same}), point(1, intervals={"size": same})), "html"))) == 2
    nothing = Interval(low=0.0, high=0.0)
    assert len(charts(laid_out(trend(*(point(at, size=0.0, intervals={"size": nothing}) for at in (0, 1))), "html"))) == 2


def test_a_value_that_only_one_point_has_is_in_the_table_and_has_no_chart() -> None:
    assert len(charts(laid_out(trend(point(0, size=None), point(1)), "html"))) == 1


def test_spans_lie_where_their_time_is() -> None:
    (first, *_), *_ = numbers(laid_out(trend(point(0), point(1), point(4), by="day"), "html"), "polyline", "line"), ()
    left, middle, right = first[::2]
    assert (middle - left) / (right - left) == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "json"])
def test_nothing_that_a_batch_is_called_acts_on_its_reader(format: str) -> None:
    text = laid_out(trend(point(0, name=HOSTILE), point(1, changed=True, suite_version=HOSTILE)), format)
    assert not [character for character in ("\x1b", "\x07", "\x00", "\u202e", "\ufffe") if character in text]
    if format == "html":
        assert len(Page(text).all("script")) == 1
