import dataclasses
from pathlib import Path

import pytest

from tests.browser.conftest import Open
from tests.ops.reports.test_html_reading import page_of, reading
from tests.ops.reports.toy import SUITE, laid_out, result
from tests.ops.test_show import EVERY_SECTION
from touchstone.schemas.reading import CaseReading, ChecksSection, CodeSection, Item, Mark, Row, TableSection
from touchstone.scorers.reporting.report import suite_view
from touchstone.scorers.reporting.view import Table

FEW = Table("Few columns", ("Metric", "Mean", "Pass rate"), (("CR", "0.76", "67%"),), frozenset({1, 2}))
COLUMNS = ("Archetype", "Cases", "CR", "AH", "AC", "Pass rate")
MANY = Table("Many columns", COLUMNS, (("Delay_Driver_Profiler", "4", "0.58", "1.00", "0.50", "25%"),), frozenset(range(1, 6)))


@pytest.mark.parametrize(("width", "side_by_side"), [(1600, True), (850, False)])
async def test_tables_stand_side_by_side_only_where_each_has_room(look: Open, tmp_path: Path, width: int, side_by_side: bool) -> None:
    suite = dataclasses.replace(SUITE, view=lambda report: dataclasses.replace(suite_view(report), tables=(FEW, MANY)))
    page = tmp_path / "report.html"
    page.write_text(laid_out([result("a", "Pass")], "html", suite), encoding="utf-8")
    tab = await look(page.as_uri(), width, 900)
    tops = await tab.page.evaluate("[...document.querySelectorAll('#tables section')].map((part) => part.offsetTop)")
    assert len(tops) == 2
    assert (tops[0] == tops[1]) is side_by_side
    assert await tab.page.evaluate("[...document.querySelectorAll('#tables .scroll')].map((part) => part.scrollWidth - part.clientWidth)") == [0, 0]
    # No word is broken.
    assert await tab.page.evaluate("[...document.querySelectorAll('#tables td:first-child')].map((cell) => cell.offsetHeight < 50)") == [True, True]


#: Contrast of each visible text with what is behind it, below what WCAG asks (4.5; 3 for large text).
FAINT = """() => {
  const rgb = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return { c: [r, g, b], a }; };
  const light = (c) => c.map((x) => x / 255).map((x) => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) { const found = rgb(getComputedStyle(at).backgroundColor); if (found.a === 1) return found.c; }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("body *")].filter((node) => node.checkVisibility() && !node.closest("svg")
      && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())).flatMap((node) => {
    const style = getComputedStyle(node), size = parseFloat(style.fontSize);
    const [a, b] = [light(rgb(style.color).c), light(behind(node))].sort((x, y) => y - x);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    return (a + 0.05) / (b + 0.05) < needed ? [`${node.className || node.tagName}: ${((a + 0.05) / (b + 0.05)).toFixed(2)}`] : [];
  });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_failed_case_is_read_in_the_report_and_every_text_has_contrast(look: Open, tmp_path: Path, scheme: str) -> None:
    labels = ("Review", "Pass", "unscored")
    labelled = [reading(label).model_copy(update={"label": label}) for label in labels]
    page = tmp_path / "report.html"
    row = Row(id="r", cells=tuple("2026-09-10T09:05:00-05:00" for _ in range(9)))
    table = TableSection(id="labs", title="Labs", columns=tuple(f"Column {number}" for number in range(9)), rows=(row,))
    wide = CaseReading(suite="toy", name="wide", label="Fail", sections=(table,))
    page.write_text(page_of(EVERY_SECTION, reading("b"), wide, *labelled), encoding="utf-8")
    tab = await look(page.as_uri(), 390, 900, color_scheme=scheme)
    await tab.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert await tab.page.evaluate(FAINT) == []
    assert await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await tab.page.evaluate("[...document.querySelectorAll('.part')].every((part) => part.getBoundingClientRect().right <= innerWidth)")
    await tab.page.click("#reading-1 mark a")
    assert await tab.page.evaluate("document.querySelector('.checks li:target').textContent") == "✗ fact 1 5 mg daily → Text"
    await tab.page.click(".checks li:target .away a")
    assert await tab.page.evaluate("document.querySelector('mark:target').textContent") == "✗5 mg"
    assert tab.faults == []


async def test_a_finding_leads_into_its_folded_document_without_scripts(look: Open, tmp_path: Path) -> None:
    text = "\n".join(f"line {number}" for number in range(1, 101))
    start = text.index("line 90")
    mark = Mark(state="bad", start=start, end=start + 7, finding=0, code="x.y", to=("finding-0",))
    document = CodeSection(id="d", title="FHIR", format="json", text=text, folded=True, marks=(mark,))
    findings = ChecksSection(id="f", title="Findings", items=(Item(id="finding-0", state="bad", label="a.b", finding=0),))
    page = tmp_path / "report.html"
    page.write_text(page_of(CaseReading(suite="toy", name="a", label="Fail", sections=(findings, document))), encoding="utf-8")
    tab = await look(page.as_uri(), 1440, 900, java_script_enabled=False)
    await tab.page.click("#reading-0 > summary")
    link = tab.page.get_by_role("link", name="FHIR, line 90")
    await link.click()
    row = tab.page.locator("tr:target")
    await row.wait_for(state="visible")
    assert await row.inner_text() == "90\tline 90\n✗ x.y"
    await row.get_by_role("link", name="wrong; x.y; to a.b").click()
    assert await tab.page.locator(".checks li:target").is_visible()
