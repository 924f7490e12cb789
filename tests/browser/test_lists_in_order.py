from collections.abc import AsyncIterator

import pytest

from tests.browser.conftest import Open
from tests.browser.history import History, listed
from tests.browser.test_lists import rows, shown, until_rows
from tests.ops.web.served import Served, served


@pytest.fixture
async def web() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


@pytest.fixture
def history() -> History:
    return History([listed(number) for number in range(60)])


def in_order(history: History, sort: str) -> list[str]:
    return [one["result_id"] for one in history.chosen({"sort": sort})[:50]]


SORTED = "(how) => document.querySelector('.cases th[aria-sort=' + how[1] + ']')?.textContent.startsWith(how[0]) && location.search === how[2]"


async def test_a_list_is_sorted_by_its_heads_from_the_keyboard_and_back_undoes_it(web: Served, look: Open, history: History) -> None:
    tab = await shown(look, web, history, "/cases")
    assert await tab.page.evaluate(SORTED, ["Scored", "descending", ""])
    head = ".cases thead a:text-matches('Findings')"
    await tab.page.focus(head)
    await tab.page.keyboard.press("Enter")
    await tab.until(SORTED, ["Findings", "descending", "?sort=-findings"])
    await until_rows(tab, in_order(history, "-findings"))
    await tab.page.focus(head)
    await tab.page.keyboard.press("Enter")
    await tab.until(SORTED, ["Findings", "ascending", "?sort=findings"])
    await until_rows(tab, in_order(history, "findings"))
    assert await tab.page.evaluate("document.querySelectorAll('.chips a').length") == 0  # an order narrows nothing down
    await tab.page.go_back()
    await until_rows(tab, in_order(history, "-findings"))
    await tab.page.select_option("[data-choice=sort]", label="worst value first")
    await tab.until(SORTED, ["Values", "ascending", "?sort=overall"])
    await until_rows(tab, in_order(history, "overall"))
    assert await tab.page.inner_text(".pages") == "Next ▸"  # not "older": the next page is no older
    await tab.page.select_option("[data-choice=sort]", label="newest first")
    await tab.until(SORTED, ["Scored", "descending", ""])


async def test_an_order_stays_while_filters_come_and_go(web: Served, look: Open, history: History) -> None:
    tab = await shown(look, web, history, "/cases?sort=label")
    await tab.until("document.querySelector('[data-by=severity] .facet') !== null")
    await tab.page.click("[data-by=severity] .facet:has-text('major')")
    await tab.until("location.search === '?sort=label&severity=major'")
    await tab.until("document.querySelectorAll('.chips a.filter').length === 1")
    await tab.page.click(".chips a.filter")
    await tab.until("location.search === '?sort=label'")


async def test_an_empty_list_names_the_filters_to_remove_with_their_results(web: Served, look: Open, history: History) -> None:
    tab = await shown(look, web, history, "/cases?suite=one&code=none_such&label=Fail")
    await tab.until("document.querySelectorAll('.lifts a').length === 1")
    failed = history.chosen({"suite": "one", "label": "Fail"})
    assert await tab.text(".lifts a") == f"without “code: none_such”: {len(failed)} results"
    await tab.page.click(".lifts a")
    await until_rows(tab, [one["result_id"] for one in failed])
    await tab.page.evaluate("go('/cases?code=none_such&q=neither')")
    await tab.until("document.querySelector('.empty')?.textContent.includes('Removing one filter is not enough')")


async def test_back_comes_to_the_place_in_the_list_from_where_a_case_was_opened(web: Served, look: Open, history: History) -> None:
    tab = await shown(look, web, history, "/cases")
    await tab.page.evaluate("document.querySelector('[data-row=r-40]').scrollIntoView({block: 'center'})")
    top = await tab.page.evaluate("scrollY")
    assert top > 500
    await tab.page.click("[data-row=r-40] a.open")
    await tab.until("location.pathname === '/cases/e-40' && scrollY === 0")
    await tab.page.go_back()
    await tab.until("(top) => Math.abs(scrollY - top) < 3", top)
    assert len(await rows(tab)) == 50


async def test_a_saved_view_is_neither_replaced_nor_renamed_onto_another_without_asking(web: Served, look: Open, history: History) -> None:
    history.views = {"mine": "label=Pass", "other": "label=Fail"}
    tab = await shown(look, web, history, "/cases?label=Review")
    await tab.page.click(".saved summary")
    await tab.until("document.querySelectorAll('.saved li a').length === 2")
    await tab.page.fill("[aria-label='Name of the view']", "mine")
    await tab.page.keyboard.press("Enter")
    await tab.until("document.querySelector('.saved .fault').textContent.includes('press again to replace it')")
    assert history.views["mine"] == "label=Pass"
    await tab.page.click(".saved button[aria-label='Rename the view other']")
    await tab.page.keyboard.type("mine")
    await tab.page.keyboard.press("Enter")
    await tab.until("document.querySelector('.saved .fault').textContent.includes('already.')")
    assert history.views == {"mine": "label=Pass", "other": "label=Fail"}
    await tab.page.keyboard.press("Escape")
    await tab.until("document.activeElement.getAttribute('aria-label') === 'Rename the view other'")
