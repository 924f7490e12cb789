"""Working with a case: its list, its documents, its spans, and what a reviewer writes."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from tests.browser.case_api import CANARY, Api, show
from tests.browser.conftest import Open
from tests.ops.web.served import Served, served
from touchstone.schemas.reading import CaseReading, CodeSection, Mark

THEIRS = {"reviewer": "r1", "reviewPass": 1, "verdict": "pass", "notes": "from the other tab", "timestamp": "2026-11-22T11:00:00Z"}


@pytest.fixture
async def web() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


def bundle_reading(entries: int, wrong: int) -> CaseReading:
    """A bundle of observations; the status of one is wrong, and nothing else."""
    resources = [{"resource": {"resourceType": "Observation", "id": f"o{number}", "status": "final", "note": [{"text": "n"}]}} for number in range(entries)]
    text = json.dumps({"resourceType": "Bundle", "entry": resources}, indent=2)
    start = text.index('"status"', text.index(f'"o{wrong}"'))
    mark = Mark(state="unsure", start=start, end=start + 17, finding=1, code="fhir.code")
    return CaseReading(suite="one", name="c", label="Fail", sections=(CodeSection(id="fhir", title="FHIR", format="json", text=text, marks=(mark,)),))


async def test_a_bundle_is_folded_by_resource_and_a_finding_unfolds_its_own(web: Served, look: Open) -> None:
    tab = await show(web, look, "/cases/e-0", Api(reading=bundle_reading(400, 300)), ready="#case-fhir .code-row", width=1440)
    await tab.until("document.querySelector('#case-fhir .code-pane').dataset.whole === 'yes'")
    assert "Observation o1 12 lines" in (await tab.text(".code-row.folded:nth-child(5)")).replace("\xa0", " ")
    await tab.page.click("button.kind:has-text('an unknown code')")
    await tab.until("document.querySelector('#case-fhir mark.lit')?.textContent.includes('status')")
    assert await tab.page.evaluate("getComputedStyle(document.querySelector('.code-pane')).overflowY") == "auto"
    box, pane = await tab.page.locator("#case-fhir mark.lit").first.bounding_box(), await tab.page.locator(".code-pane").bounding_box()
    assert box is not None
    assert pane is not None
    assert pane["y"] <= box["y"] <= pane["y"] + pane["height"]
    # And back: the place leads to its finding.
    await tab.page.locator("#case-fhir mark.lit").first.click()
    await tab.until("document.querySelector('.checks li.lit')?.textContent.includes('an unknown code')")
    # By keys: a fold is opened and closed, and the arrows go to the next one.
    await tab.page.locator(".code-fold[tabindex='0']").focus()
    before = await tab.page.evaluate("document.activeElement.getAttribute('aria-label')")
    await tab.page.keyboard.press("ArrowDown")
    assert await tab.page.evaluate("document.activeElement.getAttribute('aria-label')") != before
    await tab.page.keyboard.press("ArrowRight")
    assert await tab.page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"


async def test_findings_are_shown_before_the_text_has_come(web: Served, look: Open) -> None:
    api = Api(waits=asyncio.Event())
    tab = await show(web, look, "/cases/e-0", api, ready=".wrong .kind")
    assert "unknown code" in await tab.text(".wrong")
    assert await tab.page.locator(".running").count() == 0
    assert api.waits is not None
    api.waits.set()
    await tab.until("document.querySelector('.running mark.s-bad') !== null")


async def test_the_next_case_of_the_list_is_there_before_it_is_asked_for_and_back_leads_to_the_list(web: Served, look: Open) -> None:
    api = Api(ids=tuple(f"e-{number}" for number in range(60)))
    tab = await show(web, look, "/cases?label=Fail", api, ready="[data-row='r-e-1'] a.open", height=400)
    await tab.page.evaluate("document.body.style.minHeight = '3000px'; scrollTo(0, 300)")
    await tab.page.evaluate("document.querySelector(\"[data-row='r-e-1'] a.open\").click()")
    await tab.until("document.querySelector('.review-bar b')?.textContent === '2 of 60' && document.querySelector('.case h1')?.textContent === 'e-1'")
    assert "list=label%3DFail" in tab.page.url
    async with asyncio.timeout(60):
        while not any(asked.startswith("/api/cases/e-2/reading") for asked in api.asked):  # noqa: ASYNC110 -- before any key
            await asyncio.sleep(0.05)
    await tab.page.keyboard.press("j")
    await tab.until("document.querySelector('.case h1')?.textContent === 'e-2' && document.querySelector('.review-bar b')?.textContent === '3 of 60'")
    assert [asked.split("?")[0] for asked in api.asked if asked.startswith("/api/cases/e-2")] == ["/api/cases/e-2", "/api/cases/e-2/reading"]
    await tab.page.go_back()
    await tab.until(
        "location.pathname === '/cases' && location.search === '?label=Fail' && document.querySelector(\"[data-row='r-e-1']\") !== null && scrollY === 300"
    )


async def test_what_is_typed_is_saved_by_itself_and_survives_a_service_that_is_away(web: Served, look: Open) -> None:
    api = Api(is_away=True)
    tab = await show(web, look, "/cases/e-0", api)
    await tab.page.fill("input[name=reviewer]", "r1")
    await tab.page.fill("textarea[name=notes]", f"{CANARY} is not the patient")
    await tab.until("document.querySelector('.saved').textContent.includes('does not answer')")
    await tab.page.evaluate("go('/runs')")
    await tab.page.evaluate("go('/cases/e-0')")
    await tab.until(f"document.querySelector('textarea[name=notes]')?.value.includes('{CANARY}')")
    stored = await tab.page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}, history.state, location.href])")
    assert CANARY not in stored
    # Whoever leaves is asked first.
    assert await tab.page.evaluate("!dispatchEvent(new Event('beforeunload', {cancelable: true}))")
    api.is_away = False
    await tab.until("document.querySelector('.saved').textContent.startsWith('Saved at')")
    assert api.annotations["e-0"][0]["notes"] == f"{CANARY} is not the patient"
    assert await tab.page.evaluate("dispatchEvent(new Event('beforeunload', {cancelable: true}))")


async def test_an_annotation_of_ones_own_that_changed_elsewhere_is_chosen_from(web: Served, look: Open) -> None:
    api = Api(meanwhile=THEIRS)
    tab = await show(web, look, "/cases/e-0", api)
    await tab.page.fill("input[name=reviewer]", "r1")
    await tab.page.fill("textarea[name=notes]", "from this tab")
    await tab.until("!document.querySelector('.conflict').hidden")
    both = await tab.text(".conflict")
    assert "from the other tab" in both
    assert "from this tab" in both
    assert [one["notes"] for one in api.annotations["e-0"]] == ["from the other tab"]
    await tab.page.click(".conflict button:has-text('Save yours in its place')")
    await tab.until("document.querySelector('.saved').textContent.startsWith('Saved at')")
    assert [one["notes"] for one in api.annotations["e-0"]] == ["from this tab"]


async def test_a_second_pass_stands_beside_the_first_and_tags_have_keys(web: Served, look: Open) -> None:
    api = Api(annotations={"e-0": [THEIRS]})
    tab = await show(web, look, "/cases/e-0", api)
    await tab.page.fill("input[name=reviewer]", "r1")
    await tab.page.fill("input[name=reviewPass]", "2")
    await tab.page.locator("input[name=reviewPass]").blur()
    await tab.until("document.querySelector('.saved').textContent.includes('pass 2 is not saved yet')")
    await tab.page.fill("input[name=failureMode]", "lost_history")
    await tab.page.locator("input[name=failureMode]").blur()
    await tab.page.keyboard.press("2")
    await tab.until("document.querySelector('.saved').textContent.startsWith('Saved at')")
    # Outside of a review the arrows scroll, unless the focus is in the form.
    await tab.page.keyboard.press("ArrowDown")
    assert await tab.page.evaluate("document.activeElement.closest('.verdict')") is None
    await tab.page.locator("input[name=tag]").first.focus()
    await tab.page.keyboard.press("ArrowDown")
    await tab.until("document.activeElement.name === 'commonIssues'")
    first, second = api.annotations["e-0"]
    assert (first["reviewPass"], second["reviewPass"], second["failureMode"], second["verdict"]) == (1, 2, "lost_history", "pass")
    assert second["commonIssues"] == ["irrelevant_labs"]


async def test_spans_are_drawn_on_one_axis_and_there_is_no_section_without_them(web: Served, look: Open) -> None:
    span = {"status": "ok", "model": None, "input_tokens": None, "output_tokens": None}
    spans = [
        span | {"name": "retrieve", "started_at": "2026-11-22T10:00:00Z", "duration_ms": 500},
        span | {"name": "write", "started_at": "2026-11-22T10:00:00.500Z", "duration_ms": 1500, "status": "error", "model": "model-b"},
    ]
    tab = await show(web, look, "/cases/e-0", Api(spans=spans), ready=".spans")
    assert await tab.page.evaluate("[...document.querySelectorAll('.spans i')].map((bar) => [bar.style.marginLeft, bar.style.width])") == [
        ["0%", "25%"],
        ["25%", "75%"],
    ]
    assert "failed" in await tab.text(".spans li:last-child")
    assert "model-b" in await tab.text(".spans li:last-child")
    tab = await show(web, look, "/cases/e-0", Api())
    assert await tab.page.locator(".spans").count() == 0


async def test_a_note_of_somebody_without_a_name_never_becomes_the_name(web: Served, look: Open) -> None:
    tab = await show(web, look, "/cases/e-0", Api())
    await tab.page.keyboard.press("f")
    await tab.until("document.getElementById('said').textContent.includes('say who you are')")
    await tab.page.keyboard.press("n")
    await tab.page.keyboard.type("no sign-out")
    assert await tab.page.input_value("textarea[name=notes]") == "no sign-out"
    assert await tab.page.input_value("input[name=reviewer]") == ""


async def test_a_review_ends_with_a_word_and_a_phone_shows_what_is_wrong_before_the_text(web: Served, look: Open) -> None:
    api = Api()
    tab = await show(web, look, "/review?label=Fail&at=3", api, width=390)
    tops = await tab.page.evaluate(
        "['.chip', '.wrong', '.verdict', '.review-nav'].map((name) => document.querySelector(`.case ${name}`).getBoundingClientRect().top)"
    )
    assert tops == sorted(tops)
    assert await tab.page.evaluate("document.documentElement.scrollWidth") == 390
    await tab.page.keyboard.press("F")
    await tab.until("document.activeElement.name === 'reviewer'")
    await tab.page.keyboard.type("r1")
    await tab.page.keyboard.press("Enter")
    await tab.until("document.querySelector('#view-review .empty')?.textContent.includes('That was the last of 3 cases')")
    assert "1 case judged" in await tab.text("#view-review .empty")
    await tab.page.keyboard.press("k")
    await tab.until("document.querySelector('.review-bar b')?.textContent === '3 of 3'")


async def test_a_review_has_list_case_and_verdict_side_by_side_and_findings_of_chosen_severities(web: Served, look: Open) -> None:
    api = Api(annotations={"e-1": [THEIRS]})
    tab = await show(web, look, "/review?label=Fail", api, ready=".three .tabbed", width=1440)
    boxes = await tab.page.evaluate(
        "['.review-nav', '.case-centre', '.case-side'].map((name) => document.querySelector(`.three > ${name}`).getBoundingClientRect())"
    )
    assert [round(box["top"]) for box in boxes] == [round(boxes[0]["top"])] * 3
    assert boxes[0]["right"] < boxes[1]["left"] < boxes[1]["right"] < boxes[2]["left"]
    assert await tab.page.evaluate("document.querySelector('.review-rows [aria-current]').textContent.includes('e-0')")
    for _ in range(3):
        await tab.page.keyboard.press("d")
    await tab.until("document.querySelector('.case-texts [role=tab][aria-selected=true]').textContent === 'Findings'")
    await tab.page.locator(".severities input[value=minor]").nth(1).uncheck()
    assert await tab.page.locator(".checks li", has_text="an unknown code").is_hidden()
    assert await tab.page.locator(".checks li", has_text="42 million").is_visible()
    # The next case opens in the same tab.
    await tab.page.keyboard.press("ArrowRight")
    await tab.until("document.querySelector('.case h1')?.textContent === 'e-1'")
    await tab.until("document.querySelector('.case-texts [role=tab][aria-selected=true]')?.textContent === 'Findings'")
    await tab.page.locator(".review-filters input[value=major]").check()
    await tab.until("document.querySelector('.review-bar').textContent.includes('severity: major')")
    await tab.page.locator(".review-filters input[type=number]").fill("0.5")
    await tab.page.keyboard.press("Tab")
    await tab.until("new URLSearchParams(location.search).get('value') === 'score>=0.5'")
