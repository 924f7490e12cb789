from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.history import History, listed
from tests.browser.test_lists import rows, shown
from tests.ops.web.served import Served, served
from touchstone.schemas.reading import CaseReading, ChecksSection, Item, MarkState


@pytest.fixture
async def web() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


def run(batch: str, **labels: int) -> dict[str, Any]:
    """A run as `GET /api/runs` lists it."""
    told = {"suite": "one", "suite_version": "1.2", "config_digest": "aa11" * 4, "concern_id": "c-1", "batch_id": batch, "labels": labels}
    return told | {"run": f"one:1.2:aa11:c-1:{batch}", "total": sum(labels.values()), "first_at": "2027-01-01T10:00:00Z", "last_at": "2027-01-02T10:00:00Z"}


def compared() -> History:
    """Two runs, and a case that passed in the first and fails in the second."""
    before, now = run("monday", Pass=9, Fail=1), run("tuesday", Pass=8, Fail=2)
    case = {"event_id": "e-5", "result_id": "r-now", "event_before": "e-5", "result_before": "r-before", "label_before": "Pass", "label": "Fail"}
    history = History(runs=[now, before])
    history.compared = {
        "a": before,
        "b": now,
        "paired_by": "event_id",
        "pairs": 10,
        "flips": [{"from": "Pass", "to": "Pass", "count": 8}, {"from": "Pass", "to": "Fail", "count": 1}, {"from": "Fail", "to": "Fail", "count": 1}],
        "shifts": [{"name": "score", "before": 0.9, "now": 0.8, "difference": -0.1, "low": -0.2, "high": -0.01, "pairs": 10, "changed": 3}],
        "codes": [{"code": "cr_missing", "before": 1, "now": 4}, {"code": "same", "before": 2, "now": 2}],
        "cases": [case | {"case_id": "c-5", "name": "case-5"}],
        "next": None,
    }
    return history


async def test_errors_are_counted_by_code_and_lead_to_their_cases(web: Served, look: Open) -> None:
    history = History([listed(number) for number in range(120)])
    tab = await shown(look, web, history, "/errors?suite=one")
    counts = {one["value"]: one["count"] for one in history.facets({"by": "code", "suite": "one"})["values"]}
    assert dict(zip(await rows(tab), await tab.page.locator("[data-row] td.number:nth-of-type(1)").all_inner_texts(), strict=True)) == {
        code: str(count) for code, count in counts.items()
    }
    await tab.until("document.querySelectorAll('.errors .days').length === 5")
    await tab.page.keyboard.press("j")
    await tab.page.keyboard.press("j")
    second = (await rows(tab))[1]
    await tab.page.keyboard.press("Enter")
    await tab.until("(code) => location.pathname === '/cases' && location.search === `?suite=one&code=${code}`", second)


async def test_two_runs_are_chosen_from_the_keyboard_and_compared(web: Served, look: Open) -> None:
    tab = await shown(look, web, compared(), "/runs")
    keys = tab.page.keyboard
    assert await tab.page.get_attribute("a.compare", "href") is None
    for key in "jjakbc":
        await keys.press(key)
    await tab.until("location.pathname === '/compare' && document.querySelector('.matrix') !== null")
    assert "a=one%3A1.2%3Aaa11%3Ac-1%3Amonday&b=one%3A1.2%3Aaa11%3Ac-1%3Atuesday" in tab.page.url
    assert "monday, version 1.2, aa11aa11 → tuesday" in await tab.text("#view-compare .total")
    page = await tab.text("#view-compare")
    assert all(word in page for word in ("−0.100", "−0.200 to −0.010", "3 of 10", "cr_missing", "▲ +3"))
    assert "same" not in page
    await tab.page.click(".matrix td a")
    await tab.until("location.search.endsWith('&from=Pass&to=Fail')")
    assert await rows(tab) == ["r-now"]


async def test_a_changed_case_is_read_beside_what_it_was_before(web: Served, look: Open) -> None:
    history = compared()
    sides: tuple[tuple[str, MarkState, str], ...] = (("r-before", "good", "once"), ("r-now", "bad", "twice"))
    for result, state, sign in sides:
        section = ChecksSection(id="facts", title="Facts", items=(Item(id="f1", state=state, label="fact 1", text=f"said {sign}"),))
        history.readings[result] = {
            "reading": CaseReading(suite="one", name="case-5", label="Pass", sections=(section,)).model_dump(mode="json"),
            "result_id": result,
            "text": "shown",
        }
    tab = await shown(look, web, history, "/compare?a=one&b=two")
    await tab.page.keyboard.press("j")
    await tab.page.keyboard.press("s")
    await tab.until("document.querySelectorAll('.two section').length >= 2 && document.querySelector('.two').textContent.includes('twice')")
    assert "once" in await tab.text(".two > section:first-child")
    assert "twice" in await tab.text(".two > section:last-child")


async def test_runs_and_their_comparison_need_no_sideways_scrolling_on_a_phone(web: Served, look: Open) -> None:
    tab = await shown(look, web, compared(), "/runs", 390, 844)
    assert await tab.page.evaluate("document.documentElement.scrollWidth") == 390
    await tab.page.evaluate("go('/compare?a=one&b=two')")
    await tab.until("document.querySelector('.matrix') !== null")
    assert await tab.page.evaluate("document.documentElement.scrollWidth") == 390
