import base64
import dataclasses
import hashlib
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.ops.reports.toy import HOSTILE, SUITE, Many, finding, laid_out, problem, result
from touchstone.ops.reports import html_cases
from touchstone.ops.reports.charts import histogram
from touchstone.scorers.reporting.folding import FINDINGS_BY_CODE
from touchstone.scorers.reporting.report import suite_view
from touchstone.scorers.reporting.view import Distribution, Table
from touchstone.scorers.reporting.words import visible

_VOID = {"meta", "input"}
Opened = Callable[..., "Page"]
#: What fetches, embeds or submits something.
_REACHING_OUT = {"link", "img", "iframe", "object", "embed", "form", "base", "video", "audio", "source"}


class Page(HTMLParser):
    """A page taken apart: elements, texts, and whether every element is closed by its own end."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.code: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in {"style", "script"}:
            self.code[self._open[-1]] = data
        elif data.strip():
            self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def rows(page: Page) -> list[str]:
    return [attributes["data-label"] for attributes in page.all("tbody") if "data-label" in attributes]


def test_every_element_is_closed_and_every_id_is_one() -> None:
    page = Page(laid_out([*Many(60, findings=3), problem(), problem(kind="passed_over")], "html"))

    assert [name for name, count in Counter(one["id"] for _, one in page.elements if "id" in one).items() if count > 1] == []
    links = {one["href"].removeprefix("#") for one in page.all("a")}
    assert links <= {one["id"] for _, one in page.elements if "id" in one}


def test_it_needs_nothing_but_itself_and_its_policy_says_so() -> None:
    page = Page(laid_out(Many(60, findings=3), "html"))
    (policy,) = (one["content"] for one in page.all("meta") if one.get("http-equiv") == "Content-Security-Policy")

    assert not {tag for tag, _ in page.elements} & _REACHING_OUT
    assert not [one for _, one in page.elements if "src" in one or "style" in one or any(name.startswith("on") for name in one)]
    assert all(one["href"].startswith("#") for one in page.all("a"))
    assert policy.startswith("default-src 'none'; ")
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.code[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "url(" not in page.code["style"]
    assert "http" not in page.code["style"] + page.code["script"]


def test_input_adds_no_element_and_no_attribute() -> None:
    def batch(text: str) -> list[object]:
        return [
            result(text, "Fail", findings=(finding(text, path=text, message=text, suggestion=text),), concern_id=text, batch_id=text),
            problem(text, file=text),
            problem(text, file=text, kind="passed_over"),
        ]

    hostile, tame = (Page(laid_out(batch(text), "html")) for text in (HOSTILE, "tame"))

    assert [(tag, list(attributes)) for tag, attributes in hostile.elements] == [(tag, list(attributes)) for tag, attributes in tame.elements]
    assert hostile.code == tame.code
    assert hostile.texts.count(visible(HOSTILE)) == tame.texts.count("tame") > 5


def test_of_too_many_cases_those_that_did_not_pass_come_first_and_the_page_says_so() -> None:
    text = laid_out([result(f"n{number}", "Fail" if number >= 5_000 else "Pass", number=number) for number in range(5_010)], "html")
    page = Page(text)

    assert rows(page) == ["Fail"] * 10 + ["Pass"] * 4_990
    assert "5,000 of 5,010, those that did not pass first; all are in the JSON report" in page.texts


def test_cases_that_are_few_keep_their_order() -> None:
    assert rows(Page(laid_out([result("a"), result("b", "Fail", number=1), result("c", number=2)], "html"))) == ["Pass", "Fail", "Pass"]


def test_findings_are_grouped_by_code_and_lead_to_their_case() -> None:
    twice = (finding("x.often", path="one"), finding("x.often", path="two"), finding("x.hint", severity="info"))
    page = Page(laid_out([result("a"), result("b", "Fail", number=1, findings=twice), result("c", "Fail", number=2, findings=(finding("x.rare"),))], "html"))
    places = page.texts[page.texts.index("x.often") :]

    assert places[:7] == ["x.often", "major", "1 case, 2 times", "b", "one", "is small", "b"]
    assert [one["href"] for one in page.all("a") if one["href"].startswith("#case-")] == ["#case-1", "#case-1", "#case-2"]
    assert "x.hint" not in page.texts


def test_codes_are_listed_by_severity_and_a_code_of_two_severities_twice() -> None:
    minor = tuple(finding("x.both", severity="minor", path=path) for path in ("one", "two", "three"))
    cases = [result(f"n{number}", "Fail", number=number, findings=(*minor, finding("x.often", severity="minor"))) for number in range(3)]
    cases.append(result("worst", "Fail", number=3, findings=(finding("x.both"), finding("x.fatal", severity="critical"))))
    texts = Page(laid_out(cases, "html")).texts
    codes = [texts[place : place + 3] for place, text in enumerate(texts) if text in {"x.both", "x.often", "x.fatal"}][:4]

    assert codes == [
        ["x.fatal", "critical", "1 case"],
        ["x.both", "major", "1 case"],
        ["x.both", "minor", "3 cases, 9 times"],
        ["x.often", "minor", "3 cases"],
    ]


def test_many_codes_unfold_and_too_many_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = tuple(finding(f"x.{number:03}") for number in range(130))
    page = Page(laid_out([result("a", "Fail", findings=findings)], "html"))

    assert "88 more codes" in page.texts
    assert "and 30 other codes; all are in the JSON report" in page.texts
    monkeypatch.setattr(html_cases, "_CODES_COUNTED_MAX", 110)
    assert "and at least 10 other codes; all are in the JSON report" in Page(laid_out([result("a", "Fail", findings=findings)], "html")).texts


def test_places_of_one_code_are_bounded() -> None:
    page = Page(laid_out([result(f"n{number}", "Fail", number=number, findings=(finding(),)) for number in range(250)], "html"))

    assert len([one for one in page.all("a") if one["href"].startswith("#case-")]) == 200
    assert "and 50 more; all are in the JSON report" in page.texts


def test_a_histogram_says_in_words_what_it_shows() -> None:
    svg = histogram(Distribution("size", 0.0, 1.0, (0, 3, 0, 1)), "case")

    assert 'aria-label="size of 4 cases: 0.25 to 0.5: 3; 0.75 to 1: 1"' in svg
    assert len(re.findall(r"<rect ", svg)) == 2
    assert "4 cases, median between 0.25 and 0.5" in svg
    assert "4 cases, median 0.4<" in histogram(Distribution("size", 0.0, 1.0, (0, 3, 0, 1), 0.4), "case")


def test_findings_by_code_are_one_section() -> None:
    table = Table(FINDINGS_BY_CODE, ("Severity", "Code"), (("major", "x.y"),))
    suite = dataclasses.replace(SUITE, view=lambda report: dataclasses.replace(suite_view(report), tables=(table,)))
    assert laid_out([result("a", "Fail", findings=(finding(),))], "html", suite).count(">Findings by code<") == 1
    assert laid_out([result("a")], "html", suite).count(">Findings by code<") == 1


@pytest.mark.parametrize("counts", [(1,), (7, 0, 2), (10**9, 1), tuple(range(20))])
def test_bars_of_a_histogram_stay_inside_it(counts: tuple[int, ...]) -> None:
    svg = histogram(Distribution("x", -2.5, 90.0, counts), "case")

    for x, y, width, height in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', svg):
        assert 34 <= float(x) <= float(x) + float(width) <= 312
        assert 9.9 <= float(y) <= float(y) + float(height) <= 118.1


def test_a_value_that_no_case_has_draws_nothing() -> None:
    assert histogram(Distribution("x", 0.0, 1.0, (0, 0)), "case") == ""


@pytest.mark.slow
class TestInABrowser:
    """The page in headless Chromium; the choice in its address is made by the page's own buttons."""

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Opened:
        browser = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
        if browser is None:
            pytest.skip("no Chromium is installed")

        def open_page(text: str, fragment: str = "") -> Page:
            file = tmp_path / "report.html"
            file.write_text(text, encoding="utf-8")
            flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage", "--virtual-time-budget=5000"]
            command = [browser, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"{file.as_uri()}{fragment}"]
            return Page(subprocess.run(command, capture_output=True, check=True, timeout=100, text=True).stdout)

        return open_page

    def test_the_policy_lets_the_script_run(self, opened: Opened) -> None:
        assert opened(laid_out(Many(6), "html")).all("html")[0]["class"] == "js"

    def test_a_click_on_a_heading_sorts_by_it_and_says_so(self, opened: Opened) -> None:
        batch = [
            result("b10", values={"size": 0.5}),
            result("b9", number=1, values={"size": -1.0}),
            result("none", "unscored", number=2),
            result("b1", number=3, values={"size": 10.0}),
        ]
        page = opened(laid_out(batch, "html"), "#sort=2.descending")

        # What a case does not have stands last.
        assert [one["id"] for one in page.all("tbody") if "id" in one] == ["case-3", "case-0", "case-1", "case-2"]
        assert [one["aria-sort"] for one in page.all("th") if "aria-sort" in one][-5:] == ["none", "none", "descending", "none", "none"]

    def test_a_label_and_a_search_leave_the_cases_that_fit(self, opened: Opened) -> None:
        page = opened(laid_out(Many(24), "html"), "#label=Fail&q=00009")

        assert [one["id"] for one in page.all("tbody") if "data-label" in one and "hidden" not in one] == ["case-9"]
        assert "1 of 24 shown" in page.texts

    def test_hostile_names_run_nothing(self, opened: Opened) -> None:
        page = opened(laid_out([result(HOSTILE, "Fail", findings=(finding(HOSTILE, message=HOSTILE),))], "html"), "#label=%3Cimg src=x%3E&q=<script>")

        assert len(page.all("script")) == 1
        assert page.all("img") == []
