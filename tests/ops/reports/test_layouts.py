import dataclasses
import gc
import json
import re
import tracemalloc
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pydantic import BaseModel

from tests.ops.reports.toy import HOSTILE, SUITE, Many, finding, laid_out, options, problem, report_of, result
from touchstone.ops.reports.layouts import FORMATS, SUFFIXES, lay_out
from touchstone.ops.reports.markdown import begun, escaped
from touchstone.scorers.base import ConfigError
from touchstone.scorers.reporting.report import Entry, suite_view
from touchstone.scorers.reporting.view import CaseView, LayoutOptions, View
from touchstone.scorers.reporting.words import visible

THREE = [result("a", "Pass"), result("b", "Review", number=1), result("c", "Fail", number=2, findings=(finding(),))]
HOSTILE_BATCH = [
    result(HOSTILE, "Fail", findings=(finding(HOSTILE, path=HOSTILE, message=HOSTILE, suggestion=HOSTILE),), concern_id=HOSTILE, batch_id=HOSTILE),
    problem(HOSTILE, file=HOSTILE),
    problem(HOSTILE, file=HOSTILE, kind="passed_over"),
]
#: What would act on a terminal, a page or a parser if it came through as it is. Line ends are the layouts' own.
RAW = ("\x1b", "\x07", "\x00", "\u202e", "\ufffe")


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_names_the_cases_and_ends_with_one_line_end(format: str) -> None:
    text = laid_out(THREE, format)

    assert all(f"{name}" in text for name in ("toy", "C1", "B1"))
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_batch_has_a_report_in_every_format(format: str) -> None:
    assert "no case was scored" in laid_out([], format) or format == "junit"


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_results_give_the_same_bytes(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    long = [*THREE, result("word " * 40, "Fail", number=3)]
    before = laid_out(long, format), laid_out(long, format, colour=True, width=150)
    for name, value in {"NO_COLOR": "1", "FORCE_COLOR": "1", "TERM": "dumb", "COLUMNS": "20", "LINES": "5", "JUPYTER_COLUMNS": "9"}.items():
        monkeypatch.setenv(name, value)

    assert (laid_out(long, format), laid_out(long, format, colour=True, width=150)) == before


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "json"])
def test_nothing_that_a_case_says_acts_on_its_reader(format: str) -> None:
    text = laid_out(HOSTILE_BATCH, format, verbose=True)

    assert not [character for character in RAW if character in text]
    assert "\\u202e" in text.replace("\\\\", "\\")


def test_an_unknown_format_is_refused_by_name() -> None:
    report = report_of(THREE)
    with pytest.raises(ValueError, match="unknown report format 'pdf'; known: console, json, markdown, junit, html"):
        lay_out(SUITE, report, "pdf", options(report))


def test_every_format_has_a_suffix() -> None:
    assert tuple(SUFFIXES) == FORMATS


def test_a_layout_of_the_suite_takes_the_place_of_the_generic_one() -> None:
    def own(report: Any, options: LayoutOptions) -> Iterable[str]:
        return ["as the ", f"specification draws it: {options.verdict.word}\n"]

    suite = dataclasses.replace(SUITE, layouts={"console": own})

    assert laid_out(THREE, "console", suite) == "as the specification draws it: FAIL\n"
    assert laid_out(THREE, "markdown", suite) == laid_out(THREE, "markdown")


class TestConsole:
    def test_without_a_width_a_long_name_stays_on_one_line(self) -> None:
        assert "word " * 99 + "end" in laid_out([result("word " * 99 + "end")], "console")

    def test_with_a_width_no_line_is_wider(self) -> None:
        text = laid_out([result("word " * 99 + "end", "Fail"), problem("very " * 60)], "console", width=60, verbose=True)

        assert max(map(len, text.splitlines())) <= 60
        assert text.split().count("word") == 99

    def test_colour_comes_only_where_it_is_asked_for(self) -> None:
        assert "\x1b[" not in laid_out(THREE, "console")
        assert "\x1b[31mFail" in laid_out(THREE, "console", colour=True, width=80)

    def test_findings_are_told_when_verbose(self) -> None:
        assert "[major] size: is small" not in laid_out(THREE, "console")
        assert "[major] size: is small" in laid_out(THREE, "console", verbose=True)

    def test_of_many_cases_those_that_did_not_pass_are_listed_and_the_bound_is_said(self) -> None:
        text = laid_out(Many(600), "console")

        assert "Cases that did not pass (the first 50 of 300; all are in the JSON report)" in text
        assert "case-00003" in text
        assert "case-00000" not in text

    def test_only_some_statuses_are_listed_where_they_are_asked_for(self) -> None:
        text = laid_out(THREE, "console", only=frozenset({"fail"}))

        rows = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and "0.50" in line and "0.25" in line]
        assert rows == ["c"]

    def test_what_was_not_read_and_the_verdict_stand_at_the_end(self) -> None:
        text = laid_out([*THREE, problem()], "console")

        assert text.splitlines()[-4:] == ["Not read: 1", "  broken.json: is no JSON", "", "ERROR: 1 problem, 3 cases scored"]


class TestMarkdown:
    def test_the_verdict_comes_first(self) -> None:
        assert laid_out(THREE, "markdown").splitlines()[:3] == ["# Toy scores: C1 B1", "", "**FAIL**: 1 of 3 cases failed."]

    def test_a_case_is_one_row_whatever_it_is_called(self) -> None:
        rows = [line for line in laid_out(HOSTILE_BATCH, "markdown").splitlines() if line.startswith("| \\<script")]

        # The table of codes, the case, the problem, and what was passed over.
        assert len(rows) == 4
        assert "<script" not in laid_out(HOSTILE_BATCH, "markdown").replace("\\<script", "")

    def test_text_that_markdown_makes_a_link_of_is_none(self) -> None:
        assert escaped("see www.example.org") == "see www\\.example.org"
        assert escaped("https://example.org mail@example.org @team #12 GH-12 a/b!12 :tada: :+1:") == (
            "https\\://example.org mail\\@example.org \\@team \\#12 GH\\-12 a/b\\!12 \\:tada: \\:+1:"
        )

    @pytest.mark.parametrize(
        "text",
        [
            "suite safe_v0 0.1, configuration db679b75c764251c, generated 2026-01-15T10:30:00Z",
            "Pass rate 20% (95% interval 4% to 62%)",
            "expectations.must_contain_phrases[1]".replace("[1]", ""),
            "I25-BATCH-1-001",
            "a > b + c & d! {e} = f - g",
        ],
    )
    def test_what_is_no_markup_is_written_as_it_is(self, text: str) -> None:
        assert (escaped(text), begun(text)) == (text, text)

    @given(st.text(st.sampled_from("*_`[]()<>#+-=!|~&;:.)\\ \taä1€\n\"'"), max_size=30) | st.text(max_size=30))
    def test_a_reader_of_markdown_finds_the_very_text(self, text: str) -> None:
        """Read as CommonMark with strikes and tables: one paragraph of plain text, and one cell."""
        reader = MarkdownIt("commonmark").enable(["strikethrough", "table"])
        told = " ".join(visible(text).split())
        assume(told)
        tokens = reader.parse(begun(told))
        assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
        assert {child.type for child in tokens[1].children or ()} <= {"text", "text_special"}
        assert "".join(child.content for child in tokens[1].children or ()) == told
        cells = [token for token in reader.parse(f"| {escaped(told)} |\n| --- |\n| {escaped(told)} |\n") if token.type == "inline"]
        assert ["".join(child.content for child in cell.children or ()) for cell in cells] == [told, told]

    def test_rows_and_findings_are_bounded(self) -> None:
        text = laid_out(Many(3_000, findings=30), "markdown")

        assert "## Cases that did not pass (the first 1000 of 1500; all are in the JSON report)" in text
        assert text.count("\n### ") == 50
        assert "(the first 50 cases that have any; all are in the JSON report)" in text
        assert max(section.count("\n- ") for section in text.split("\n### ")) <= 20


class TestJunit:
    def test_labels_become_what_every_ci_system_knows(self) -> None:
        entries = [*THREE, result("d", "unscored", number=3), problem(), problem(kind="passed_over", file="x.png")]
        root = ET.fromstring(laid_out(entries, "junit"))

        assert [(case.get("name"), [child.tag for child in case]) for case in root.iter("testcase")] == [
            ("a", []),
            ("b", ["skipped"]),
            ("c", ["failure"]),
            ("d", ["error"]),
            ("broken.json", ["error"]),
            ("x.png", ["skipped"]),
        ]
        assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {"tests": "6", "failures": "1", "errors": "2", "skipped": "2"}
        (failure,) = root.iter("failure")
        assert (failure.get("message"), failure.text) == ("Size 0.50, Weight 0.25; toy.small", "[major] size: is small")

    def test_a_suite_stands_for_each_group_however_the_cases_are_mixed(self) -> None:
        groups = [CaseView(f"n{number}", "Pass", "pass", group="xyz"[number % 3]) for number in range(9)]
        suite = dataclasses.replace(SUITE, view=lambda report: dataclasses.replace(suite_view(report), cases=groups))
        root = ET.fromstring(laid_out(THREE, "junit", suite))

        assert [(one.get("name"), one.get("tests"), [case.get("name") for case in one.iter("testcase")]) for one in root] == [
            ("x", "3", ["n0", "n3", "n6"]),
            ("y", "3", ["n1", "n4", "n7"]),
            ("z", "3", ["n2", "n5", "n8"]),
        ]

    def test_any_text_is_carried_as_text(self) -> None:
        root = ET.fromstring(laid_out(HOSTILE_BATCH, "junit"))

        assert [case.get("name") for case in root.iter("testcase")] == [visible(HOSTILE)] * 3

    def test_it_reads_as_junitparser_reads_it(self, tmp_path: Any) -> None:
        from junitparser import JUnitXml

        file = tmp_path / "report.xml"
        file.write_text(laid_out(THREE, "junit"), encoding="utf-8")

        read = JUnitXml.fromfile(str(file))
        assert (read.tests, read.failures, read.skipped, read.errors) == (3, 1, 1, 0)


class TestJson:
    def test_it_holds_the_figures_and_every_result(self) -> None:
        document = json.loads(laid_out([*THREE, problem()], "json"))

        assert [one["case_id"] for one in document["results"]] == ["a", "b", "c"]
        assert document["labels"]["Fail"] == 1
        assert document["means"] == {"size": 0.5, "weight": 0.25}
        assert document["codes"] == {"toy.small": 1}
        assert document["problems"][0]["where"] == "broken.json"
        assert document["verdict"] == {"word": "ERROR", "reason": "1 problem, 3 cases scored", "exit_code": 3}

    def test_a_report_of_the_suites_own_keeps_its_field_names(self) -> None:
        class Own(BaseModel):
            meanLoss: float  # noqa: N815

        text = "".join(lay_out(SUITE, Own(meanLoss=0.25), "json", options(report_of(THREE))))

        assert text == '{\n  "meanLoss": 0.25\n}\n'

    def test_a_report_of_any_other_type_has_none(self) -> None:
        with pytest.raises(ConfigError, match="toy makes a report of its own type and no JSON of it; choose another format"):
            "".join(lay_out(SUITE, object(), "json", options(report_of(THREE))))


class TestIntervals:
    BATCH = tuple(
        result(str(number), "Pass" if number < 7 else "Fail", number=number, values={"size": number / 12, "weight": 0.25}, concern_id="I25")
        for number in range(12)
    )

    def test_every_format_that_people_read_tells_the_pass_rate_with_its_interval(self) -> None:
        told = "ass rate 58% (95% interval 32% to 81%)"

        assert told in laid_out(self.BATCH, "console")
        assert told in laid_out(self.BATCH, "html")
        assert escaped(told) in laid_out(self.BATCH, "markdown")

    def test_the_means_have_theirs_beside_them(self) -> None:
        span = json.loads(laid_out(self.BATCH, "json"))["intervals"]["means"]["size"]
        told = f"{span['low']:.2f} to {span['high']:.2f}"

        assert 0 < span["low"] < 5.5 / 12 < span["high"] < 1
        assert ["Size", "0.46", *told.split()] in [line.split() for line in laid_out(self.BATCH, "console").splitlines()]
        assert f"| Size | 0.46 | {told} |" in laid_out(self.BATCH, "markdown")
        assert f"| size | 0.46 | {told} | 12 | higher |" in laid_out(self.BATCH, "markdown")
        assert f"<small>{told}</small>" in laid_out(self.BATCH, "html")

    def test_json_has_the_numbers(self) -> None:
        intervals = json.loads(laid_out(self.BATCH, "json"))["intervals"]

        assert intervals["level"] == 0.95
        assert intervals["pass_rate"] == {"low": pytest.approx(0.3195, abs=1e-4), "high": pytest.approx(0.8067, abs=1e-4)}
        assert intervals["means"]["weight"] == {"low": 0.25, "high": 0.25}

    def test_junit_has_them_as_properties_of_each_suite_of_cases(self) -> None:
        root = ET.fromstring(laid_out([*self.BATCH, problem()], "junit"))
        properties = [{one.get("name"): one.get("value") for one in suite.iter("property")} for suite in root]

        assert properties == [{"pass_rate": "0.5833", "pass_rate_95_low": "0.3195", "pass_rate_95_high": "0.8067"}, {}]

    @pytest.mark.parametrize("format", FORMATS)
    def test_without_a_scored_case_there_is_none(self, format: str) -> None:
        # The names of style and script are digits by chance.
        text = re.sub(r"sha256-[^']*", "", laid_out([result("d", "unscored", concern_id="C")], format))
        assert "95" not in text.replace("0.95", "")

    def test_one_case_has_a_rate_and_no_interval_of_a_mean(self) -> None:
        text = laid_out([result("a")], "console")

        assert "Pass rate 100% (95% interval 21% to 100%)" in text
        assert " to 0." not in text

    @pytest.mark.parametrize("format", FORMATS)
    def test_the_order_of_the_cases_changes_no_number(self, format: str) -> None:
        def figures(entries: Iterable[Entry]) -> list[str]:
            return [line for line in laid_out(entries, format).splitlines() if "95" in line or "Size" in line]

        assert figures(self.BATCH[::-1])[:2] == figures(self.BATCH)[:2]

    def test_a_view_of_the_suites_own_has_the_rate_of_its_labels(self) -> None:
        suite = dataclasses.replace(SUITE, view=lambda _: View("T", "toy", "1", "d", "now", (), labels={"Pass": 7, "Fail": 5, "unscored": 4}))

        assert "Pass rate 58% (95% interval 32% to 81%)" in "".join(lay_out(suite, object(), "console", options(report_of(THREE))))


class _Quick:
    """So many entries, made anew whenever they are read, and quickly."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._kinds = list(Many(6))

    def __iter__(self) -> Iterator[Entry]:
        for number in range(self._count):
            yield self._kinds[number % 6].model_copy(update={"event_id": f"e{number}", "case_id": f"case-{number:05}", "details": {"filler": [number] * 100}})


def _peak_bytes(pieces: Iterator[str]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        for _ in pieces:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_memory_does_not_grow_with_the_number_of_cases(format: str) -> None:
    peaks = []
    for count in (2_500, 10_000):
        report = report_of(_Quick(count))
        peaks.append(_peak_bytes(lay_out(SUITE, report, format, options(report))))

    # The bounded lists are full with the first. A case more costs nothing; held, these would be some 15 MB.
    assert peaks[1] - peaks[0] < 3_000_000
