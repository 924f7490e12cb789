"""Chromium for tests of pages; they are skipped where it is missing."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
#: A busy machine takes long to draw.
WAIT_MS = 180_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything below this folder; the hook sees the whole session's items."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(900))


@dataclass
class Tab:
    """A page that is looked at. `faults`: errors of its scripts, and what its policy refused; `requests`: the addresses it asked for."""

    page: Any
    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    async def until(self, expression: str, argument: Any = None) -> None:
        """Wait until something is so on the page. (The driver's own waiting evaluates text in the page, which the page's policy forbids.)"""
        try:
            async with asyncio.timeout(WAIT_MS / 1000):
                while not await self.page.evaluate(expression, argument):  # noqa: ASYNC110 -- the page has no event for it
                    await asyncio.sleep(0.05)
        except TimeoutError:
            shown = await self.page.evaluate("document.body.innerText")
            raise AssertionError(f"never so: {expression} ({argument}) at {self.page.url.partition('#')[0]}; the page says: {shown[:2_000]}") from None

    async def ids(self) -> list[str]:
        found: list[str] = await self.page.evaluate("[...document.querySelectorAll('#feed .row')].map((row) => row.dataset.result)")
        return found

    async def until_rows(self, count: int) -> list[str]:
        """Wait until the live list holds so many results; their ids."""
        await self.until("(count) => document.querySelectorAll('#feed .row').length === count", count)
        return await self.ids()

    async def text(self, selector: str) -> str:
        return str(await self.page.inner_text(selector))


#: Opens an address in a window of its own: address, width, height, other options of the window.
Open = Callable[..., Awaitable[Tab]]


@pytest.fixture
async def look() -> AsyncIterator[Open]:
    """Opens pages in Chromium, and holds at the end that no script failed and no policy was broken."""
    api = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on the PATH")
    tabs: list[Tab] = []
    async with api.async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=WAIT_MS)

        async def begin(address: str, width: int = 1280, height: int = 900, **options: Any) -> Tab:
            window = await browser.new_context(viewport={"width": width, "height": height}, **options)
            tab = Tab(await window.new_page())
            tab.page.set_default_timeout(WAIT_MS)
            tab.page.on("pageerror", lambda error: tab.faults.append(str(error)))
            tab.page.on("console", lambda message: tab.faults.append(message.text) if "Content Security Policy" in message.text else None)
            tab.page.on("request", lambda request: tab.requests.append(request.url))
            await tab.page.goto(address)
            tabs.append(tab)
            return tab

        yield begin
        async with asyncio.timeout(WAIT_MS / 1000):
            await browser.close()
    assert not [fault for tab in tabs for fault in tab.faults]
