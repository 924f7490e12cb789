from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.browser.conftest import Open, Tab
from tests.browser.history import History, listed, served_by
from tests.ops.web.history import CANARY as PATIENT
from tests.ops.web.history import history as stored_history
from tests.ops.web.served import Served, served

CANARY = "zanzibar canary"


@pytest.fixture
async def web() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


@pytest.fixture
def history() -> History:
    return History([listed(number) for number in range(130)])


async def shown(look: Open, web: Served, history: History, address: str, width: int = 1440, height: int = 900, **options: object) -> Tab:
    """A tab that shows one of the lists."""
    tab = await look(web.address, width, height, **options)
    await served_by(tab, history)
    await tab.page.evaluate("(address) => { go(address); }", address)
    await tab.until("document.querySelector('.view:not([hidden]) [data-row], .view:not([hidden]) .empty') !== null")
    return tab


ROWS = "[...document.querySelectorAll('.view:not([hidden]) [data-row]')].map((row) => row.dataset.row)"


async def rows(tab: Tab) -> list[str]:
    found: list[str] = await tab.page.evaluate(ROWS)
    return found


async def until_rows(tab: Tab, wanted: list[str]) -> None:
    await tab.until(
        "(wanted) => [...document.querySelectorAll('.view:not([hidden]) [data-row]')].map((row) => row.dataset.row).join() === wanted", ",".join(wanted)
    )


async def test_the_query_of_the_address_is_the_filter_and_back_takes_it_away(web: Served, look: Open, history: History) -> None:
    tab = await shown(look, web, history, "/cases")
    assert len(await rows(tab)) == 50
    assert "130 results" in await tab.text(".total")
    await tab.until("document.querySelector('[data-by=label] .facet') !== null")
    await tab.page.click("[data-by=label] .facet:has-text('Fail')")
    failed = [one["result_id"] for one in history.chosen({"label": "Fail"})]
    await until_rows(tab, failed)
    assert tab.page.url == f"{web.address}/cases?label=Fail"
    await tab.page.click(f"[data-row={failed[0]}] a.code")
    await tab.until("location.search === '?label=Fail&code=code_3'")
    await tab.until("document.querySelectorAll('.chips a.filter').length === 3")
    await tab.page.go_back()
    await until_rows(tab, failed)
    await tab.page.click(".chips a.filter")
    await tab.until("location.search === ''")
    assert await tab.page.title() == "Cases · Touchstone"


async def test_pages_of_cases_are_walked_by_keyboard_and_enter_opens_a_case(web: Served, look: Open, history: History) -> None:
    tab = await shown(look, web, history, "/cases")
    keys = tab.page.keyboard
    await keys.press("n")
    await until_rows(tab, [f"r-{number}" for number in range(50, 100)])
    await keys.press("n")
    await until_rows(tab, [f"r-{number}" for number in range(100, 130)])
    await keys.press("p")
    await until_rows(tab, [f"r-{number}" for number in range(50, 100)])
    for _ in range(3):
        await keys.press("j")
    await keys.press("k")
    assert await tab.page.evaluate("document.activeElement.closest('[data-row]').dataset.row") == "r-51"
    await keys.press("Enter")
    await tab.until("location.pathname === '/cases/e-51' && location.search.startsWith('?result=r-51&list=')")


async def test_an_id_is_searched_from_the_keyboard_and_words_of_a_text_are_in_no_address(web: Served, look: Open, history: History) -> None:
    history.cases[77]["text"] = f"the {CANARY} sings"
    history.cases[120]["text"] = CANARY
    tab = await shown(look, web, history, "/cases")
    keys = tab.page.keyboard
    await keys.press("/")
    await keys.type("e-12")
    await keys.press("Enter")
    await tab.until("location.search === '?q=e-12'")
    await until_rows(tab, ["r-12", *(f"r-{number}" for number in range(120, 130))])
    await keys.press("x")
    await tab.until("location.search === ''")
    await keys.press("/")
    await keys.type(CANARY)
    await keys.press("Enter")
    await tab.until("document.querySelector('#search-note').textContent.includes('may be text of a case')")
    await keys.press("Tab")
    await keys.press("ArrowRight")
    await tab.page.focus("form.search input[type=search]")
    await keys.press("Enter")
    await until_rows(tab, ["r-77", "r-120"])
    await tab.until("document.querySelector('.progress p').textContent === 'Searched 130 of 130: 2 results found.'")
    assert not [address for address in tab.requests if "zanzibar" in address]
    assert "zanzibar" not in await tab.page.title() + tab.page.url
    # The result stays while somebody opens one and comes back.
    await tab.page.click("[data-row=r-77] a.open")
    await tab.until("location.pathname === '/cases/e-77'")
    await tab.page.go_back()
    await until_rows(tab, ["r-77", "r-120"])


async def test_without_the_right_to_text_a_search_says_which_scope_is_missing(web: Served, look: Open, history: History) -> None:
    history.refuse["/api/search"] = (403, "this needs a token with the scope text (serve.tokens: suites/text:TOKEN)")
    tab = await shown(look, web, history, "/cases")
    await tab.page.check("input[value=text]")
    await tab.page.fill("form.search input[type=search]", "word")
    await tab.page.keyboard.press("Enter")
    await tab.until("document.querySelector('.progress').textContent.includes('scope text')")


async def test_a_filter_is_saved_under_a_name_found_again_and_deleted(web: Served, look: Open, history: History) -> None:
    tab = await shown(look, web, history, "/cases?label=Fail&suite=one")
    await tab.page.click(".saved summary")
    await tab.page.fill(".saved input", "Fails of one")
    await tab.page.keyboard.press("Enter")
    await tab.until("document.querySelector('.saved li a')?.textContent === 'Fails of one'")
    assert history.views == {"Fails of one": "label=Fail&suite=one"}
    await tab.page.keyboard.press("Escape")
    await tab.page.evaluate("go('/cases')")
    await tab.until("location.search === '' && document.querySelector('.saved li a') !== null")
    await tab.page.click(".saved li a")
    await tab.until("location.search === '?label=Fail&suite=one'")
    assert "put no patient's data into them" in await tab.text(".saved-in")
    await tab.page.click(".saved li button[aria-label^=Rename]")
    await tab.page.keyboard.type("Failed, one")
    await tab.page.keyboard.press("Enter")
    await tab.until("document.querySelector('.saved li a')?.textContent === 'Failed, one'")
    assert history.views == {"Failed, one": "label=Fail&suite=one"}
    await tab.page.click(".saved li button[aria-label^=Delete]")
    await tab.until("document.querySelector('.saved li a') === null")
    assert history.views == {}


async def test_a_history_that_is_away_is_named_with_what_to_do(web: Served, look: Open, history: History) -> None:
    history.refuse["/api/cases"] = (503, "set store.url so that this service can read the result store")
    tab = await shown(look, web, history, "/cases")
    assert "set store.url" in await tab.text(".empty")
    history.refuse.clear()
    await tab.page.click(".empty button")
    await tab.until("document.querySelectorAll('[data-row]').length === 50")


async def test_names_in_lists_stay_text_and_a_phone_needs_no_sideways_scrolling(web: Served, look: Open) -> None:
    evil = '<img src=x onerror="window.harmed=1">' + "-with-a-name-that-has-no-end" * 4
    history = History([listed(3, name=evil, event_id=evil, codes=[evil], model=evil, concern_id=evil, batch_id=evil, suite=evil), listed(7)])
    tab = await shown(look, web, history, "/cases", 390, 844)
    await tab.page.click(".facets summary")
    await tab.until("document.querySelector('[data-by=suite] .facet') !== null")
    assert evil in await tab.text("[data-row=r-3]")
    assert await tab.page.evaluate("[typeof window.harmed, document.images.length, document.documentElement.scrollWidth]") == ["undefined", 0, 390]


async def test_the_lists_of_a_real_history_name_no_patient(look: Open, tmp_path: Path) -> None:
    with stored_history(tmp_path) as sources:
        async with served(sources=sources) as web:
            tab = await look(f"{web.address}/cases")
            await tab.until("document.querySelectorAll('[data-row]').length === 5 && document.querySelector('[data-by=code] .facet') !== null")
            pages = [await tab.page.content()]
            await tab.page.click("[data-by=code] .facet:has-text('too_long')")
            await tab.until("document.querySelectorAll('[data-row]').length === 2")
            await tab.page.check("input[value=text]")
            await tab.page.fill("form.search input[type=search]", "nobody has this")
            await tab.page.keyboard.press("Enter")
            await tab.until("document.querySelector('.progress p')?.textContent.includes('0 results found')")
            for address in ("/errors", "/runs"):
                await tab.page.evaluate("(address) => { go(address); }", address)
                await tab.until("document.querySelector('.view:not([hidden]) [data-row]') !== null")
                pages.append(await tab.page.content())
    assert not [page for page in [*pages, *tab.requests] if PATIENT.split()[0] in page]
