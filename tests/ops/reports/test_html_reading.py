from collections import Counter

import pytest

from tests.ops.reports.test_html import Page
from tests.ops.reports.toy import HOSTILE, NOW, SUITE, result
from tests.ops.test_show import EVERY_SECTION
from touchstone.ops.reports import html_reading
from touchstone.ops.reports.html import html_pieces
from touchstone.schemas.reading import CaseReading, ChecksSection, CodeSection, Item, Mark, TextSection
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
    assert [one["aria-label"] for _, one in page.elements if one.get("class", "").startswith("sign")].count("wrong") == 4


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
    assert f"the worst {html_reading.READINGS_MAX} of {len(many)}" in page
    large = CaseReading(suite="toy", name="large", label="Fail", sections=(CodeSection(id="c", title="C", format="json", text="x" * 50_000_000),))
    assert len(page_of(large)) < 200_000
    monkeypatch.setattr(html_reading, "CHARS_MAX", 5_000)
    assert 0 < page_of(*many).count('<details class="reading') < 10
