"""The overview over one set of results, live and stored: every figure leads to as many cases as it says, and the top bar chooses what is shown."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import Open, Tab
from tests.browser.seeded import Seeded, seeded, seeded_service
from tests.ops.web.served import Served


@pytest.fixture(scope="module")
def made() -> Seeded:
    return asyncio.run(seeded())


@pytest.fixture
async def web(made: Seeded, tmp_path: Path) -> AsyncIterator[Served]:
    async with seeded_service(made, tmp_path) as running:
        yield running


#: Every element of the overview that shows a number, but those of times, versions, names, and axes, which are no counts.
FIGURES = r"""() => {
  const plain = "time, small, .axis, .chip, .name, .suite-name, .rest, .facts > span, #foot, #quiet, h2, h3, code, option, #age, title, .change";
  const leaves = [...document.querySelectorAll("#view-overview *")].filter((one) => one.checkVisibility() && !one.closest(plain)
    && [...one.childNodes].some((child) => child.nodeType === 3 && /\d/.test(child.data)));
  const parts = ".legend, .time, .spread, .means, .value, .codes, .facts, .trend, .big, .rows, .cards, #figures, #rising";
  const charts = [...document.querySelectorAll("#view-overview .col rect")].filter((one) => one.getBoundingClientRect().height > 0);
  return [...leaves, ...charts].map((one) => {
    const place = one.closest("a[href], button");
    return {what: `${one.tagName} ${one.className} ${one.textContent}`, href: place?.getAttribute("href") ?? null,
      name: place ? place.getAttribute("aria-label") || place.textContent.trim() : "", title: place?.title ?? "", text: place?.textContent ?? "",
      kind: (place?.closest(parts)?.className || place?.closest("[id]")?.id || "").split(" ")[0]};
  });
}"""


def number_of(figure: dict[str, str]) -> int | None:
    """How many cases a figure counts; None for one that counts none, as a batch or a corrected rate."""
    words = f"{figure['name']} {figure['title']}"
    href = figure["href"]
    if href.startswith(("#", "/cases/", "/judges")) or "per second" in words.lower():
        return None
    for pattern in (r"of ([\d,]+) scored", r"of ([\d,]+) values?", r"of ([\d,]+) in the second half", r"×([\d,]+)", r": ([\d,]+) results?"):
        if found := re.search(pattern, words):
            return int(found[1].replace(",", ""))
    if re.match(r"\d\d:\d\d: ", figure["name"]):
        return sum(int(count) for count in re.findall(r"(\d+) [A-Za-z]", figure["name"].split(";")[0]))
    numbers = re.findall(r"[\d,]*\d", re.sub(r"[A-Za-z_][\w.]*", "", figure["text"]))
    return int(numbers[-1].replace(",", ""))


async def test_every_figure_of_the_overview_leads_to_as_many_cases_as_it_says(web: Served, look: Open) -> None:
    tab = await look(web.address, 1800, 1000)
    await tab.until("document.querySelectorAll('.suite .key').length > 8 && document.querySelector('#feed .row') && document.querySelector('#rising a')")
    for number in range(await tab.page.locator(".suite .toggle").count()):
        await tab.page.locator(".suite .toggle").nth(number).click()
    found = await tab.page.evaluate(FIGURES)
    assert not [one["what"] for one in found if one["href"] is None], "figures that lead nowhere"
    assert not [one["what"] for one in found if not one["name"]], "links without a name"
    kinds = {one["kind"] for one in found}
    assert {"figures", "legend", "time", "spread", "means", "codes", "facts", "rising", "trend", "big", "rows", "cards"} <= kinds, kinds
    wrong, counted = [], 0
    for href, one in {one["href"]: one for one in found if number_of(one) is not None}.items():
        parts = urlsplit(href)
        if parts.path == "/cases":
            count = (await web.get(f"/api/cases?{parts.query}&limit=1")).json()["total"]
        else:
            assert parts.path == "/accounts"
            continue
        counted += 1
        if count != number_of(one):
            wrong.append((href, number_of(one), count, one["name"], one["title"]))
    assert wrong == []
    assert counted > 60
    # Those of events without a result lead to where these lie.
    for outcome, count in (("dead", 3), ("expired", 4)):
        href = next(one["href"] for one in found if f"outcome={outcome}" in one["href"])
        await tab.page.evaluate("(address) => { go(address); }", href)
        await tab.until("(count) => document.querySelector('#view-accounts h2')?.dataset.count === count", str(count))
        assert "touchstone.generations[0]@" in await tab.text("#view-accounts")


async def shown_suites(tab: Tab) -> list[str]:
    titles: list[str] = await tab.page.evaluate("[...document.querySelectorAll('.suite .title')].map((one) => one.textContent)")
    return titles


async def test_the_top_bar_chooses_suite_concern_and_time_and_its_choice_is_in_the_address_and_goes_along(web: Served, look: Open) -> None:
    tab = await look(web.address, 1440)
    await tab.until("document.querySelectorAll('.suite').length === 3 && document.querySelectorAll('#concern option').length > 3")
    await tab.page.select_option("#suite", "safe_v0")
    await tab.until(
        "location.search === '?suite=safe_v0' && document.querySelectorAll('.suite').length === 1 && document.querySelectorAll('#feed .row').length > 50"
    )
    assert await tab.page.evaluate("document.activeElement.id") == "suite"
    assert await tab.page.evaluate("[...new Set([...document.querySelectorAll('#feed .suite-name')].map((one) => one.textContent))]") == ["safe_v0"]
    await tab.page.select_option("#concern", "I52")
    await tab.until("document.querySelector('#figures a').textContent === '80'")
    await tab.page.click("#figures a")
    await tab.until("document.querySelector('.view:not([hidden]) .total')?.textContent === '80 results'")
    await tab.page.go_back()
    await tab.until("location.search === '?suite=safe_v0&concern=I52' && document.body.dataset.view === 'overview'")
    await tab.page.click("#nav a[href^='/errors']")
    await tab.until("location.href.endsWith('/errors?suite=safe_v0&concern=I52')")
    await tab.page.select_option("#minutes", "86400")
    await tab.until("new URLSearchParams(location.search).get('since') !== null")
    await tab.page.select_option("#suite", "")
    await tab.until("!location.search.includes('suite=') && location.search.includes('concern=I52')")


async def test_an_id_is_found_from_every_view_and_words_with_spaces_are_in_no_address(web: Served, look: Open) -> None:
    tab = await look(f"{web.address}/accounts", 390, 844)
    await tab.until("document.querySelector('.view:not([hidden]) h1')")
    keys = tab.page.keyboard
    await keys.press("/")
    await tab.until("document.activeElement.id === 'find-text'")
    await keys.type("safe_v0-11")
    await keys.press("Enter")
    await tab.until("location.pathname + location.search === '/cases?q=safe_v0-11'")
    await tab.page.evaluate("go('/errors')")
    await tab.until("document.body.dataset.view === 'errors'")
    await keys.press("/")
    await keys.type("words of a text")
    await keys.press("Enter")
    await tab.until("document.activeElement.closest('form.search') && document.activeElement.value === 'words of a text'")
    assert await tab.page.is_checked("form.search input[value=text]")
    assert not [address for address in tab.requests if "words" in address]
    assert await tab.page.evaluate("document.documentElement.scrollWidth") == 390


async def test_by_keyboard_alone_from_the_overview_to_a_case_and_back(web: Served, look: Open) -> None:
    tab = await look(web.address, 1440)
    await tab.until("document.querySelectorAll('.suite .time a').length > 20 && document.querySelector('#feed .row')")
    keys = tab.page.keyboard
    visited: list[str] = []
    while not visited or not visited[-1].startswith("col"):
        await keys.press("Tab")
        where, outline = await tab.page.evaluate(
            "[document.activeElement.className || document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]"
        )
        assert outline not in {"none", ""} or where == "main", where
        visited.append(where)
        assert len(visited) < 60, visited
    assert "suite" in visited
    last = await tab.page.evaluate("document.activeElement.href")
    await keys.press("ArrowLeft")
    await keys.press("ArrowLeft")
    before = await tab.page.evaluate("document.activeElement.href")
    assert before < last
    # New figures do not take the focus away.
    await tab.page.evaluate("due.figures = true; refresh()")
    assert (await tab.page.evaluate("document.activeElement.href")).split("until")[0] == before.split("until")[0]
    await keys.press("Tab")
    assert "key" in await tab.page.evaluate("document.activeElement.className")
    await keys.press("Shift+Tab")
    await keys.press("Enter")
    await tab.until("document.body.dataset.view === 'cases' && document.querySelector('[data-row]')")
    await keys.press("j")
    await keys.press("Enter")
    await tab.until("document.body.dataset.view === 'case' && document.querySelector('.case h1')")
    await tab.page.go_back()  # the browser's own key, which only its window has
    await tab.until("document.body.dataset.view === 'cases'")
    await tab.page.go_back()
    await tab.until("document.body.dataset.view === 'overview'")
    await keys.press("j")
    row = await tab.page.evaluate("document.activeElement.getAttribute('href')")
    await keys.press("Enter")
    await tab.until("(href) => location.pathname + location.search === href && document.querySelector('.case h1')", row)
    await keys.press("?")
    await tab.until("document.querySelector('#keys').open")
    keys_told = await tab.text("#keys-list")
    assert [one for one in ("verdict: pass", "verdict: fail", "undo: take back") if one not in keys_told] == []
    await keys.press("Escape")
    await keys.press("g")
    await keys.press("o")
    await tab.until("document.body.dataset.view === 'overview'")
    await keys.press("?")
    listed = await tab.page.evaluate("[...document.querySelectorAll('#keys-list dt')].map((one) => one.textContent.trim())")
    assert {"j", "k", "Space", "p", "f", "w", "/", "← →", "g c", "?"} <= set(listed)
