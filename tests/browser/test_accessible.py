"""axe-core finds nothing serious in any view of the page, nor in an HTML report: in light and dark, on a desk and on a phone."""

import asyncio
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open, Tab
from tests.browser.seeded import SUITES, seeded, seeded_service
from tests.ops.reports.test_html_reading import page_of, reading
from tests.ops.test_show import EVERY_SECTION
from tests.ops.web.served import NOW, Served
from touchstone.ops.store.queue_rows import Definition
from touchstone.ops.store.queues import Queues
from touchstone.ops.store.results import ResultStore

RUN = """async (rules) => {
  const found = await axe.run(document, {resultTypes: ["violations"], ...(rules ? {runOnly: rules} : {})});
  return found.violations.filter((one) => ["serious", "critical"].includes(one.impact)).flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 160)} ${node.any.map((why) => why.message).join("; ").slice(0, 200)}`));
}"""  # noqa: E501 -- a script
#: What another colour scheme or width may break; the rest of the rules ask of the document alone.
OF_LOOKS = ["color-contrast", "target-size", "scrollable-region-focusable"]
LOOKS: list[tuple[str, int, int, list[str] | None]] = [
    ("light", 1440, 900, None),
    ("dark", 1440, 900, OF_LOOKS),
    ("dark", 390, 844, OF_LOOKS),
]
#: Takes out what other views have left: it is hidden, and axe would walk through it all the same.
LEAVE = """(address) => {
  document.querySelectorAll("dialog[open]").forEach((one) => one.close());
  go(address);
  document.querySelectorAll(".view[hidden]:not([data-fixed])").forEach((one) => one.replaceChildren());
  if (address !== "/") $("feed").replaceChildren();
}"""
#: Opens what is folded.
OPEN = "document.querySelectorAll('.view:not([hidden]) details, body > main > details').forEach((one) => { one.open = true; })"


async def violations(tab: Tab, where: str) -> list[str]:
    """What axe holds against the page as it is, in every look. (The driver evaluates past the page's policy, which lets no other script in.)"""
    await tab.page.evaluate(OPEN)
    if not await tab.page.evaluate("typeof window.axe === 'object'"):
        await tab.page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8") + "; 0")
    found: list[str] = []
    for scheme, width, height, rules in LOOKS:
        await tab.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        await tab.page.set_viewport_size({"width": width, "height": height})
        found += [f"{where}, {scheme}, {width}: {one}" for one in await tab.page.evaluate(RUN, rules)]
    return found


async def a_queue(web: Served, folder: Path) -> None:
    """A queue in which two reviewers differ, drawn at the moment of the seeded results."""
    await web.client.put("/api/guidelines/clear", json={"text": "Pass: nothing is wrong."})
    store = ResultStore.open(f"sqlite:///{folder / 'store.db'}")
    Queues(store.engine).create("blind", Definition(filter="label=Fail", size=3, reviewers=2, guideline="clear"), datetime.fromtimestamp(NOW, UTC))
    store.close()
    items = (await web.get("/api/queues/blind/cases")).json()["items"]
    event = items[-1]["event_id"]
    for reviewer, verdict in (("ann", "pass"), ("bob", "fail")):
        etag = (await web.get(f"/api/cases/{event}")).headers["ETag"]
        body = {"annotations": [{"reviewer": reviewer, "verdict": verdict, "notes": "a note", "queue": "blind"}]}
        (await web.client.patch(f"/api/cases/{event}", json=body, headers={"If-Match": etag})).raise_for_status()


@pytest.mark.slow(80)
async def test_no_view_has_a_serious_violation(look: Open, tmp_path: Path) -> None:
    pytest.importorskip("axe_playwright_python")
    made = await asyncio.to_thread(lambda: asyncio.run(seeded(36)))
    failed = made.failed()
    assert set(failed) == set(SUITES)
    found: list[str] = []
    async with seeded_service(made, tmp_path) as web:
        runs = (await web.get("/api/runs")).json()["runs"]
        name = next(one["run"] for one in runs)
        await a_queue(web, tmp_path)
        views: list[tuple[str, str, Any]] = [
            ("/", "document.querySelector('.suite') && document.querySelector('#feed .row')", "document.querySelector('.suite .toggle').click()"),
            ("/", "document.querySelector('.suite')", "setWall(true)"),
            ("/", "document.querySelector('.suite')", "setWall(false); showKeys()"),
            ("/", "document.querySelector('.suite')", "showAge = () => document.body.classList.add('stale'); showAge()"),
            ("/cases", "document.querySelector('[data-row]') && document.querySelector('[data-by=label] .facet')", ""),
            *((f"/cases/{one.event_id}", "document.querySelector('.case .checks, .case .section')", "") for one in failed.values()),
            ("/review", "document.querySelector('.queue') && document.querySelector('.review-choices li')", ""),
            ("/review?label=Fail", "document.querySelector('.review-bar') && document.querySelector('.three .tabbed')", ""),
            ("/review/blind?at=1", "document.querySelector('.review-bar progress') && document.querySelector('.case-centre .tabbed')", ""),
            ("/review/blind/disagreements", "document.querySelector('.disagreement')", ""),
            ("/errors", "document.querySelector('.view:not([hidden]) [data-row]')", ""),
            ("/judges", "document.querySelectorAll('.view:not([hidden]) .judge').length === 3", ""),
            ("/runs", "document.querySelector('.view:not([hidden]) [data-row]')", ""),
            (f"/compare?a={name}&b={name}", "document.querySelector('#view-compare')?.childElementCount", ""),
            ("/accounts", "document.querySelector('#view-accounts [data-row]')", ""),
        ]
        tab = await look(web.address)
        await tab.page.evaluate("sessionStorage.setItem('touchstone.reviewer', 'ann')")
        for address, ready, then in views:
            await tab.page.evaluate(LEAVE, address)
            await tab.until(f"({ready}) !== null && Boolean({ready})")
            if then:
                await tab.page.evaluate(then)
            found += await violations(tab, f"{address} {then}")
    report = tmp_path / "report.html"
    report.write_text(page_of(EVERY_SECTION, reading("b")), encoding="utf-8")
    found += await violations(await look(report.as_uri()), "the HTML report")
    assert found == []
