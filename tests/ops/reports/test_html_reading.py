import re
from collections import Counter

import pytest

from tests.ops.reports.test_html import Page
from tests.ops.reports.toy import HOSTILE, NOW, SUITE, result
from tests.ops.test_show import EVERY_SECTION
from touchstone.ops.reports import html_reading
from touchstone.ops.reports.html import html_pieces
from touchstone.ops.reports.html_reading import drawn_readings
from touchstone.ops.reports.reading_links import LINKS_MAX
from touchstone.schemas.reading import CaseReading, ChecksSection, CodeSection, Item, Mark, Row, TableSection, TextSection
from touchstone.scorers.base import NoSettings
from touchstone.scorers.reporting.report import RunFacts, suite_report, suite_verdict, suite_view
from touchstone.scorers.reporting.view import LayoutOptions


def page_of(*readings: CaseReading) -> str:
    report = suite_report([result(one.name, one.label, number=number) for number, one in enumerate(readings)], RunFacts(SUITE, NoSettings(), "d", NOW))
    return "".join(html_pieces(suite_view(report), LayoutOptions(suite_verdict(report), readings=readings)))


def reading(name: str = "a", text: str = "5 mg daily", item_id: str = "fact-1") -> CaseReading:
    return CaseReading(
        suite="toy",
        name=name,
        label="Fail",
        sections=(
            ChecksSection(id="facts", title="Facts", items=(Item(id=item_id, state="bad", label="fact 1", text=text),)),
            TextSection(id="t", title="Text", text=text, marks=(Mark(state="bad", start=0, end=4, note="differs", to=(item_id,)),)),
        ),
    )


def test_a_marked_place_leads_to_what_it_is_about_and_the_row_to_the_reading() -> None:
    page = Page(page_of(reading("a"), reading("b")))
    ids = [one["id"] for _, one in page.elements if "id" in one]
    links = [one["href"].removeprefix("#") for one in page.all("a")]
    assert [name for name, times in Counter(ids).items() if times > 1] == []
    assert set(links) <= set(ids)
    assert {"reading-0", "reading-1"} <= set(links)
    assert len(page.all("mark")) == 2


def test_marks_and_checks_lead_to_each_other_without_a_script_and_say_where_to() -> None:
    drawn = drawn_readings([reading()])[0].page
    check = re.search(r'<li id="([^"]+)">.*?<a href="#([^"]+)">Text</a>', drawn)
    mark = re.search(r'<mark class="tone-fail" id="([^"]+)"><a href="#([^"]+)" title="[^"]*" aria-label="wrong; differs; to fact 1">', drawn)
    assert check is not None
    assert mark is not None
    assert (check[2], mark[2]) == (mark[1], check[1])


def test_a_finding_leads_to_its_line_and_the_line_to_the_finding() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 2_001))
    mark = Mark(state="bad", start=text.index("line 1500"), end=text.index("line 1500") + 9, finding=0, code="x.y", to=("finding-0",))
    code = CodeSection(id="d", title="FHIR", format="json", text=text, folded=True, marks=(mark,))
    checks = ChecksSection(id="f", title="Findings", items=(Item(id="finding-0", state="bad", label="a.b", finding=0, to=("d",)),))
    drawn = drawn_readings([CaseReading(suite="toy", name="a", label="Fail", sections=(checks, code))])[0].page
    place = re.search(r"→ <a href=\"#([^\"]+)\">FHIR, line 1500</a></span>", drawn)
    assert place is not None
    assert f'marked" id="{place[1]}"><td class="num">1500</td>' in drawn
    assert "FHIR</a>" not in drawn


def test_a_table_row_leads_to_what_contradicts_it() -> None:
    text = TextSection(id="t", title="Text", text="5 mg", marks=(Mark(state="bad", start=0, end=4, finding=0),))
    table = TableSection(id="m", title="Medications", columns=("Name",), rows=(Row(id="m-0", cells=("x",), state="bad", finding=0),))
    drawn = drawn_readings([CaseReading(suite="toy", name="a", label="Fail", sections=(table, text))])[0].page
    assert re.search(r'<tr id="[^"]+">.*→ <a href="#[^"]+">Text</a>', drawn)


def test_a_term_that_is_used_a_hundred_times_has_a_few_links() -> None:
    text = "policy " * 100
    marks = tuple(Mark(state="bad", start=at * 7, end=at * 7 + 6, to=("term-0",)) for at in range(100))
    checks = ChecksSection(id="terms", title="Terms", items=(Item(id="term-0", state="bad"),))
    drawn = drawn_readings([CaseReading(suite="toy", name="a", label="Fail", sections=(checks, TextSection(id="t", title="Text", text=text, marks=marks)))])
    assert drawn[0].page.count(">Text, place ") == LINKS_MAX
    assert "and 94 more" in drawn[0].page


def test_every_section_is_drawn_and_every_element_closed() -> None:
    texts = " ".join(Page(page_of(EVERY_SECTION)).texts)
    for expected in ("fact 1", "Ada", "apixaban", "INR 5.2", "x.y: wrong", "hidden"):
        assert expected in texts


def test_a_hostile_case_stays_text() -> None:
    page = page_of(reading(HOSTILE, HOSTILE, HOSTILE))
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    Page(page)


def test_readings_are_bounded_in_number_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [reading(f"case {n}") for n in range(html_reading.READINGS_MAX + 20)]
    page = page_of(*many)
    assert page.count('<details class="reading') == html_reading.READINGS_MAX
    assert f"the worst {html_reading.READINGS_MAX} of {len(many)}; 20 are left out: <code>touchstone show" in page
    large = CaseReading(suite="toy", name="large", label="Fail", sections=(CodeSection(id="c", title="C", format="json", text="x" * 50_000_000),))
    assert len(page_of(large)) < 200_000
    monkeypatch.setattr(html_reading, "CHARS_MAX", 5_000)
    assert 0 < page_of(*many).count('<details class="reading') < 10
