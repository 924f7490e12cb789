"""The page of one case, and the review of a list of cases, over answers that the tests give."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.browser.case_api import CANARY, Api, show, small_reading
from tests.browser.conftest import Open
from tests.ops.web.history import history
from tests.ops.web.served import Served, served


@pytest.fixture
async def web() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


async def test_a_finding_leads_to_its_place_and_back(web: Served, look: Open) -> None:
    tab = await show(web, look, "/cases/e-0", Api(), width=1440)
    page = tab.page
    assert await tab.text(".case h1") == "e-0"
    assert await page.locator(".running mark.s-bad").inner_text() == "240 million"
    await page.locator(".checks li", has_text="42 million").hover()
    assert await page.locator(".running mark.s-bad.lit").count() == 1
    await page.locator(".running mark.s-bad").hover()
    assert await page.locator(".checks li.lit", has_text="42 million").count() == 1
    assert await page.locator(".checks li:has(.go)").count() == 3  # "fact 9" is nowhere in the text
    # By keys alone: the finding, then its place in a document that another tab shows.
    await page.keyboard.press(".")
    await tab.until("document.activeElement.matches('.checks li')")
    await page.locator(".checks li", has_text="an unknown code").focus()
    await page.keyboard.press("Enter")
    await tab.until("document.querySelector('[role=tab][aria-selected=true]').textContent.startsWith('FHIR')")
    await tab.until("document.querySelector('#case-fhir mark.lit')?.textContent.includes('code')")
    assert CANARY not in await page.title()
    assert not [address for address in tab.requests if CANARY in address]


async def test_other_results_and_the_browsers_back_change_what_is_shown(web: Served, look: Open) -> None:
    api = Api()
    tab = await show(web, look, "/cases/e-0", api)
    await tab.page.locator(".suite-tabs a", has_text="two").click()
    await tab.until("location.search === '?result=r-e-0-two1' && document.querySelector('.suite-tabs [aria-current]').textContent.includes('two')")
    assert any(asked.endswith("/reading?result=r-e-0-two1") for asked in api.asked)
    await tab.page.go_back()
    await tab.until("location.search === '' && document.querySelector('.suite-tabs [aria-current]').textContent.includes('one')")


async def test_a_live_result_that_is_not_stored_yet_is_waited_for(web: Served, look: Open) -> None:
    api = Api(ids=())
    tab = await show(web, look, "/cases/e-0?result=r-e-0", api, ready=".empty")
    assert "Not in the history yet" in await tab.text(".empty")
    api.ids = ("e-0",)
    await tab.until("document.querySelector('.case h1')?.textContent === 'e-0'")


async def test_without_the_right_to_text_it_is_blocked_out_and_the_page_says_how_to_get_it(web: Served, look: Open) -> None:
    tab = await show(web, look, "/cases/e-0", Api(text="no_right"))
    assert CANARY not in await tab.page.content()
    assert "scope “text”" in await tab.text(".banner")
    assert await tab.page.locator(".running mark.s-bad").count() == 1


async def test_an_annotation_that_meets_anothers_is_not_saved_until_that_was_shown(web: Served, look: Open) -> None:
    api = Api(meanwhile={"reviewer": "r2", "verdict": "pass", "notes": "fine to me", "timestamp": "2026-11-22T11:00:00Z"})
    tab = await show(web, look, "/cases/e-0", api)
    await tab.page.keyboard.press("F")
    await tab.page.fill("input[name=reviewer]", "r1")
    await tab.page.fill("textarea[name=notes]", "the sum is wrong")
    await tab.page.click(".verdict button[type=submit]")
    await tab.until("document.querySelector('.verdict [role=status]').textContent.includes('somebody else')")
    both = await tab.text(".conflict")
    assert "fine to me" in both
    assert "the sum is wrong" in both
    assert not api.sent
    await tab.page.click(".conflict button:has-text('Save yours beside it')")
    await tab.until("document.querySelector('.judgements').textContent.includes('the sum is wrong')")
    assert [annotation["verdict"] for annotation in api.annotations["e-0"]] == ["pass", "fail"]


async def test_five_megabytes_of_fhir_have_only_their_visible_rows_in_the_page_and_can_be_searched(web: Served, look: Open) -> None:
    entry = {"resource": {"resourceType": "Observation", "status": "final", "code": {"coding": [{"system": "http://loinc.org", "code": "4548-4"}]}}}
    document = json.dumps({"resourceType": "Bundle", "entry": [entry | {"fullUrl": f"urn:{number}"} for number in range(17_000)]}, indent=2)
    assert len(document) > 5_000_000
    tab = await show(web, look, "/cases/e-0", Api(reading=small_reading(document)), width=1440)
    # The first rows are there before the whole document is read.
    early = await tab.page.evaluate("""async () => {
      document.querySelectorAll("[role=tab]")[1].click();
      for (let turn = 0; turn < 100 && !document.querySelector("#case-fhir .code-row"); turn++) await new Promise((resolve) => requestAnimationFrame(resolve));
      return [document.querySelectorAll("#case-fhir .code-row").length, document.querySelector("#case-fhir .code-pane").dataset.whole];
    }""")
    assert early[0] > 20
    assert early[1] == "no"
    await tab.until("document.querySelector('#case-fhir .code-pane').dataset.whole === 'yes'")
    assert await tab.page.locator("#case-fhir .code-row").count() < 200
    await tab.page.fill("#case-fhir input", "urn:15999")
    await tab.until("document.querySelector('#case-fhir .hit.now')?.textContent === 'urn:15999'")
    assert await tab.page.locator("#case-fhir .code-row").count() < 200


async def test_rows_of_a_long_line_end_inside_their_pane(web: Served, look: Open) -> None:
    tab = await show(web, look, "/cases/e-0", Api(reading=small_reading(json.dumps({"resourceType": "Bundle", "id": "a b " * 2_000}))), width=1440)
    await tab.page.evaluate("document.querySelectorAll('[role=tab]')[1].click()")
    await tab.until("document.querySelectorAll('#case-fhir .code-row').length > 20")
    wide, room = await tab.page.evaluate("""() => {
      const pane = document.querySelector("#case-fhir .code-pane"), box = pane.getBoundingClientRect();
      return [Math.max(...[...pane.querySelectorAll(".code-line")].map((line) => line.getBoundingClientRect().right)), box.left + pane.clientWidth];
    }""")
    assert wide <= room


async def test_a_review_walks_through_the_list_and_has_the_next_case_ready(web: Served, look: Open) -> None:
    api = Api(annotations={"e-1": [{"reviewer": "r2", "verdict": "pass", "notes": "blind until yours", "timestamp": "2026-11-22T11:00:00Z"}]})
    tab = await show(web, look, "/review?label=Fail", api)
    assert "1 of 3" in await tab.text(".review-bar")
    await tab.page.keyboard.press("j")
    await tab.until("document.querySelector('.review-bar').textContent.includes('2 of 3') && document.querySelector('.case h1').textContent === 'e-1'")
    assert sum(asked.startswith("/api/cases/e-1?") for asked in api.asked) == 1
    assert "blind until yours" not in await tab.text(".judgements")
    await tab.page.fill("input[name=reviewer]", "r1")
    await tab.page.locator(".case h1").click()
    await tab.page.keyboard.press("F")
    await tab.until("document.querySelector('.review-bar').textContent.includes('3 of 3')")
    assert [(one, body["annotations"][0]["verdict"]) for one, body in api.sent] == [("e-1", "fail")]
    await tab.page.keyboard.press("k")
    await tab.until("document.querySelector('.review-bar').textContent.includes('2 of 3')")
    assert "label=Fail" in tab.page.url


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
async def test_the_pages_width_is_enough_for_a_case(web: Served, look: Open, width: int, scheme: str) -> None:
    tab = await show(web, look, "/cases/e-0", Api(), width=width, color_scheme=scheme)
    assert await tab.page.evaluate("document.documentElement.scrollWidth") == width


async def test_a_case_of_the_history_is_reviewed_over_the_services_own_api(look: Open, tmp_path: Path) -> None:
    with history(tmp_path) as opened:
        async with served(sources=opened) as web:
            tab = await look(f"{web.address}/review?label=Fail")
            await tab.until("document.querySelector('.review-bar')?.textContent.includes('1 of 2')")
            await tab.page.keyboard.press("F")
            await tab.until("document.activeElement.name === 'reviewer'")
            await tab.page.keyboard.type("ann")
            await tab.page.keyboard.press("Enter")
            await tab.until("document.querySelector('.review-bar')?.textContent.includes('2 of 2')")
            assert (await web.get("/api/cases/t-0")).json()["annotations"][0]["verdict"] == "fail"
            await tab.page.goto(f"{web.address}/cases/e-0")
            await tab.until("document.querySelectorAll('.suite-tabs a').length === 2")
            await tab.page.locator(".thumbs button", has_text="down").click()
            await tab.until("document.querySelector('.thumbs button[aria-pressed=true]')?.textContent.includes('down')")
            assert (await web.get("/api/cases/e-0")).json()["feedback"]["rating"] == "down"
