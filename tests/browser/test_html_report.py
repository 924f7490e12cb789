import dataclasses
from pathlib import Path

import pytest

from tests.browser.conftest import Open
from tests.ops.reports.toy import SUITE, laid_out, result
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
