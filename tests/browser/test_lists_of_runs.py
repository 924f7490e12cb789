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
    assert "c-1/monday, version 1.2, aa11aa11 → c-1/tuesday" in await tab.text("#view-compare .total")
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


async def test_runs_are_narrowed_by_suite_label_and_words(web: Served, look: Open) -> None:
    history = compared()
    history.runs.append(run("friday", Pass=3) | {"suite": "two", "run": "two:1.2:aa11:c-1:friday"})
    history.cases = [listed(number) for number in range(12)]
    tab = await shown(look, web, history, "/runs")
    assert await tab.text("#view-runs .total") == "3 runs"
    await tab.page.keyboard.press("/")
    await tab.page.keyboard.type("C-1 mon")
    await tab.until("document.querySelector('#view-runs .total').textContent === '1 of 3 runs'")
    assert await tab.page.evaluate("document.querySelector('.runs tbody tr:not([hidden])').dataset.row") == "one:1.2:aa11:c-1:monday"
    assert tab.page.url == f"{web.address}/runs?find=C-1+mon"
    await tab.page.select_option("#view-runs [data-choice=label]", "Fail")
    await tab.until("document.querySelector('#view-runs .total').textContent === '1 of 2 runs'")
    assert tab.page.url == f"{web.address}/runs?label=Fail&find=C-1+mon"
    await tab.page.evaluate("go('/runs?suite=two')")
    await tab.until("document.querySelector('#view-runs .total').textContent === '1 run'")


async def test_a_comparison_begins_with_what_became_worse_and_its_figures_lead_to_cases(web: Served, look: Open) -> None:
    history = compared()
    history.cases = [listed(number, suite="one", model=f"model-{number % 2}", batch_id="monday" if number < 6 else "tuesday") for number in range(12)]
    tab = await shown(look, web, history, "/compare?a=one&b=two")
    assert await tab.text("#view-compare .flips h2") == "1 case worse, 0 better"
    assert await tab.page.inner_text("#view-compare .flips a") == "✓ Pass → ✕ Fail: 1"
    links = "(name) => [...document.querySelectorAll(`[aria-label='${name}'] td a`)].map((one) => one.getAttribute('href'))"
    its = "suite=one&version=1.2&digest=aa11aa11aa11aa11&concern=c-1&batch="
    assert await tab.page.evaluate(links, "Values before and now") == [f"/cases?{its}monday&value=score", f"/cases?{its}tuesday&value=score"]
    await tab.until("document.querySelector('[aria-label=\"Passed, by model\"]') !== null")
    assert (await tab.page.evaluate(links, "Passed, by model"))[0] == f"/cases?{its}monday&model=model-0"
    history.compared |= {"pairs": 0, "flips": [], "cases": [], "shifts": []}
    await tab.page.evaluate("go('/compare?a=one&b=three')")
    await tab.until("document.querySelector('#view-compare .flips h2')?.textContent === 'No case was scored in both runs'")
    assert "No label changed" not in await tab.text("#view-compare")
