"""What people found, at /errors: kinds with their shares, and coding by who may; and no list that is wider than a phone."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open, Tab
from tests.browser.test_accessible import violations
from tests.ops.store.histories import AT
from tests.ops.web.history import CANARY, history
from tests.ops.web.served import Served, served
from tests.ops.web.test_api_errors import failed

PEOPLE = "/errors?by=people"
KINDS = "[...document.querySelectorAll('.kind')].map((one) => `${one.dataset.row} ${one.querySelector('.kind-head > span').textContent}`)"
#: How far the page, or a part of it, scrolls sideways.
PARTS = "[document.documentElement, ...document.querySelectorAll('.view:not([hidden]) .scroll')]"
SIDEWAYS = f"Math.max(0, ...{PARTS}.map((one) => one.scrollWidth - one.clientWidth))"
#: Rows that lie over the next one.
OVER = """[...document.querySelectorAll('.view:not([hidden]) .stack tbody tr')].filter((row) => [...row.children].some(
  (cell) => cell.getBoundingClientRect().bottom > row.getBoundingClientRect().bottom + 1)).length"""


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[Served]:
    with history(tmp_path) as sources:
        for place, event in enumerate(("e-0", "e-1", "e-2")):
            sources.index.annotate(event, "ann", failed("missing_condition_relevant_labs_of_this_patient" if place else None), AT, expected=None)
        sources.index.annotate("t-0", "ann", failed(None, "pass"), AT, expected=None, trace_id="trace/0")
        async with served(sources=sources) as running:
            yield running


async def opened(look: Open, web: Served, address: str, ready: str, width: int = 1280) -> Tab:
    tab = await look(web.address, width, 844)
    await tab.page.evaluate("(address) => { go(address); }", address)
    await tab.until(f"document.querySelector({ready!r}) !== null")
    return tab


async def test_kinds_are_shown_assigned_merged_and_described_and_nothing_is_wider_than_a_phone(web: Served, look: Open) -> None:
    tab = await opened(look, web, PEOPLE, ".kind", 390)
    assert await tab.page.evaluate(KINDS) == ["missing_condition_relevant_labs_of_this_patient 2 cases", "not coded 1 case"]
    assert "4 cases reviewed, 3 failed" in await tab.text(".total")
    assert f"about {CANARY}" in await tab.text(".failures")
    wide = "[...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > 391).map((one) => one.outerHTML.slice(0, 120))"
    assert [one for one in await tab.page.evaluate(wide) if "/runs" not in one] == []
    assert await tab.page.evaluate(SIDEWAYS) == 0
    await tab.page.check("[data-failure='e-0 ann'] input")
    await tab.page.fill("[name=to][list]", "no_labs")
    await tab.page.click("text=Assign")
    await tab.until(f"{KINDS}.join() === 'missing_condition_relevant_labs_of_this_patient 2 cases,no_labs 1 case'")
    await tab.page.click("[data-row=no_labs] summary")
    await tab.page.fill("[data-row=no_labs] [name=to]", "missing_condition_relevant_labs_of_this_patient")
    await tab.page.click("[data-row=no_labs] >> text=Rename")
    await tab.until(f"{KINDS}.join() === 'missing_condition_relevant_labs_of_this_patient 3 cases'")
    await tab.page.click(".kind summary")
    await tab.page.select_option(".kind [name=kind]", "specification")
    await tab.page.click(".kind >> text=Save")
    await tab.until("document.querySelector('.kind-head').textContent.includes('specification failure')")
    assert {one.review_pass for one in web.service.open_sources().index.annotations("e-0")} == {1, 2}  # type: ignore[misc]
    assert CANARY not in tab.page.url
    assert await violations(tab, PEOPLE) == []
    assert tab.faults == []


@pytest.mark.parametrize("address", ["/errors", "/accounts", "/compare"])
async def test_no_list_is_wider_than_a_phone(web: Served, look: Open, address: str) -> None:
    runs: Any = (await web.get("/api/runs")).json()["runs"]
    query = f"?a={runs[0]['run']}&b={runs[1]['run']}" if address == "/compare" else ""
    tab = await opened(look, web, f"{address}{query}", f"#view-{address[1:]} h1", 390)
    await tab.until("document.querySelector('.view:not([hidden]) :is(table, .empty)') !== null")
    assert await tab.page.evaluate(SIDEWAYS) == 0
    assert await tab.page.evaluate(OVER) == 0
