"""Review by keyboard alone: ten traces of a queue, undo, marks, a second reviewer who is blind, disagreements, and a link for one queue."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open, Tab
from tests.browser.reviewing import ANN, BOB, BOSS, CASES, GUIDELINE, Review, at, reviewing, saved, trace, write

MARKS = "[...(CSS.highlights.get('reviewer') ?? [])].map(String)"
SELECT = """([selector, word]) => {
  const walker = document.createTreeWalker(document.querySelector(selector), NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const at = text.data.indexOf(word);
    if (at < 0) continue;
    getSelection().setBaseAndExtent(text, at, text, at + word.length);
    return true;
  }
  return false;
}"""


@pytest.fixture
async def review(tmp_path: Path) -> AsyncIterator[Review]:
    async with reviewing(tmp_path) as opened:
        yield opened


async def mark(tab: Tab, selector: str, word: str) -> None:
    assert await tab.page.evaluate(SELECT, [selector, word])
    await tab.page.keyboard.press("m")
    await tab.until("document.querySelectorAll('.marks li').length > 0")


async def test_ten_traces_are_reviewed_by_keys_and_kept_exactly_as_typed(review: Review, look: Open) -> None:
    tab = await review.open(look, "/review/coherence", ANN, width=1440)
    keys = tab.page.keyboard
    wanted = {}
    for place, event in enumerate(review.order, 1):
        await at(tab, place)
        note = f'pf1 ?/us "{place}" é\u202f🙂 <b>'  # keys do nothing while someone types
        await keys.press("p" if place % 2 else "f")
        await write(tab, note)
        await keys.press("2")
        await keys.press("ArrowDown")
        wanted[event] = ("pass" if place % 2 else "fail", note, ["irrelevant_labs"])
        if place == 3:
            await keys.press("n")  # also while typing
        await keys.press("Control+Enter")
    await tab.until("document.querySelector('#view-review .empty')?.textContent.includes('No case of this queue needs you now')")
    for event, (verdict, note, issues) in wanted.items():
        found = await review.said(event, "ann")
        assert found is not None
        assert (found["verdict"], found["notes"], found["commonIssues"], found["reviewPass"]) == (verdict, note, issues, 1)
        assert (found["queue"], found["guideline"], found["suite"]) == ("coherence", "coherent@1", "clinical")
    assert (await review.ask("GET", "/api/queues/coherence", ANN))["mine"] == {"done": CASES, "skipped": 0, "left": 0}


async def test_whoever_steps_through_a_queue_without_verdicts_is_told_that_it_still_needs_them(review: Review, look: Open) -> None:
    tab = await review.open(look, f"/review/coherence?at={CASES - 1}", ANN, width=1440)
    await at(tab, CASES - 1)
    await tab.page.keyboard.press("P")
    await at(tab, CASES)
    await tab.page.keyboard.press("j")
    await tab.until("document.querySelector('#view-review .empty') !== null")
    said = await tab.text("#view-review .empty")
    assert f"That was the last of {CASES} cases." in said
    assert "This queue still needs your verdict." in said
    await tab.page.click("#view-review .empty a:has-text('To the next case without it')")
    await at(tab, 1)


@pytest.mark.parametrize("step", ["j", "s", "/errors"])
async def test_whoever_leaves_a_case_whose_note_is_not_saved_is_told_so_and_finds_it_again(review: Review, look: Open, step: str) -> None:
    tab = await review.open(look, "/review/coherence?at=1", ANN, width=1440)
    await at(tab, 1)
    refused = True

    async def refuse(route: Any) -> None:
        if route.request.method == "PATCH" and refused:
            await route.fulfill(status=403, json={"error": "this token may not annotate"})
        else:
            await route.continue_()

    await tab.page.route("**/api/cases/**", refuse)
    await write(tab, "a note that the service refuses")
    if step == "s":  # without a verdict; what is typed is saved first, and a fault of that keeps the reader here
        await tab.page.keyboard.press("s")
        await tab.until("document.querySelector('.saved').textContent.startsWith('Not saved: this token may not annotate')")
        await tab.page.keyboard.press("j")
    elif step == "j":
        await tab.page.keyboard.press("j")
    else:
        await tab.page.evaluate("(to) => go(to)", step)
    await tab.until("!document.querySelector('#unsaved').hidden")
    said = await tab.text("#unsaved")
    assert "Not saved: this token may not annotate. What you wrote is kept in this tab." in said
    await tab.page.click("#unsaved a")
    await at(tab, 1)
    assert await tab.page.input_value("textarea[name=notes]") == "a note that the service refuses"
    assert await tab.page.is_hidden("#unsaved")
    refused = False
    await write(tab, ", and now takes")
    await saved(tab)
    await tab.page.keyboard.press("j")
    await at(tab, 2)
    assert await tab.page.is_hidden("#unsaved")


async def test_the_text_of_a_blind_case_follows_where_it_takes_longer_than_the_rest(review: Review, look: Open) -> None:
    tab = await look(f"{review.web.address}/healthz", width=1440)
    released = asyncio.Event()

    async def late(route: Any) -> None:
        await released.wait()
        await route.continue_()

    await tab.page.route("**/reading?*", late)
    await tab.page.evaluate("(token) => sessionStorage.setItem('touchstone.token', token)", ANN)
    await tab.page.goto(f"{review.web.address}/review/coherence?at=1")
    await tab.until("document.querySelector('.case-prompt')?.textContent.includes('The text is loading')")
    released.set()
    await at(tab, 1)


async def test_skip_gives_no_verdict_a_reload_loses_nothing_and_undo_goes_back_to_its_case(review: Review, look: Open) -> None:
    first, second = review.order[:2]
    tab = await review.open(look, "/review/coherence", ANN, width=1440)
    keys = tab.page.keyboard
    await at(tab, 1)
    assert (GUIDELINE in await tab.text(".guideline"), "coherent@1" in await tab.text(".guideline")) == (True, True)
    assert await tab.page.evaluate("document.documentElement.scrollWidth") == 1440
    await keys.press("Control+Enter")  # without a verdict nothing is completed
    await tab.until("document.querySelector('.saved').textContent.includes('Choose pass')")
    await keys.press("s")
    await at(tab, 2)
    assert await review.said(first, "ann") is None
    await write(tab, "before the reload")
    await tab.page.reload()
    await at(tab, 2)
    await tab.until("document.querySelector('textarea[name=notes]').value === 'before the reload'")
    # The fields by arrows: the verdict, the note, the tags, and among severities a digit.
    for name in ("verdict", "notes"):
        await keys.press("ArrowDown")
        await tab.until("(name) => document.activeElement.name === name", name)
    await keys.press("Escape")
    for name in ("tag", "commonIssues"):
        await keys.press("ArrowDown")
        await tab.until("(name) => document.activeElement.name === name", name)
    await keys.press("Escape")
    await keys.press("ArrowDown")
    await tab.until("document.activeElement.name === 'severityTag'")
    await keys.press("2")
    await keys.press("F")
    await at(tab, 3)
    assert (await review.said(second, "ann") or {})["severityTag"] == "clinician_would_notice"
    await keys.press("p")
    await saved(tab)
    third = review.order[2]
    await keys.press("ArrowLeft")
    await at(tab, 2)
    # The first undo leads to the third case, whose only word is withdrawn; the second to the second, which is as it was.
    await keys.press("u")
    await at(tab, 3)
    await tab.until("document.querySelector('.verdict input:checked[name=verdict]') === null")
    assert await review.said(third, "ann") is None
    await keys.press("u")
    await at(tab, 2)
    await tab.until("document.querySelector('#said').textContent.startsWith('Taken back: the verdict, the severity')")
    found = await review.said(second, "ann")
    assert found is not None
    assert (found["verdict"], found["severityTag"], found["notes"]) == (None, None, "before the reload")


async def test_a_second_reviewer_is_blind_until_the_own_verdict_and_disagreements_are_settled(review: Review, look: Open) -> None:
    for number, event in enumerate(review.order):
        await review.say(event, ANN, verdict="fail" if number % 2 else "pass", notes="what ann saw")
    tab = await review.open(look, "/review/coherence", BOB, width=1440)
    keys = tab.page.keyboard
    await at(tab, 1)
    everything = await tab.page.inner_html("#view-review")
    assert not [word for word in ("what ann saw", "planted_code", "tone-fail", "tone-pass") if word in everything]
    assert "blind" in await tab.text(".judgements")
    assert "Ada Sample" in await tab.text(".three .tabbed")  # blind, the persona comes first
    await keys.press("f")
    await tab.until("document.querySelector('.judgements').textContent.includes('what ann saw')")
    await tab.until("document.querySelector('.three').textContent.includes('planted_code')")
    await keys.press("Control+Enter")
    await at(tab, 2)
    await keys.press("F")
    await at(tab, 3)
    await tab.page.goto(f"{review.web.address}/review/coherence/disagreements")
    await tab.until("document.querySelectorAll('.disagreement').length === 1")
    assert review.order[0] == await tab.page.get_attribute(".disagreement", "data-row")
    assert "ann and bob" in await tab.text(".agreement")
    assert "κ" in await tab.text(".agreement")
    await tab.page.locator(".disagreement input[value=fail]").focus()
    await keys.press("Space")
    await keys.press("Tab")
    await keys.type("no labs at all")
    await tab.page.locator(".disagreement button[type=submit]").focus()
    await keys.press("Enter")
    await tab.until("document.querySelector('.disagreement').textContent.includes('Settled')")
    (item,) = (await review.ask("GET", "/api/queues/coherence/disagreements"))["items"]
    assert (item["settled_by"], [one["verdict"] for one in item["annotations"]]) == ("bob", ["pass", "fail", "fail"])
    # What each of them said stays.
    assert (await review.said(review.order[0], "ann") or {})["verdict"] == "pass"


async def test_a_link_made_on_the_page_opens_one_queue_for_one_reviewer_and_nothing_else(review: Review, look: Open) -> None:
    await review.ask("POST", "/api/queues", json={"name": "other", "suite": "clinical"}, status=201)
    boss = await review.open(look, "/review", BOSS)
    await boss.until("document.querySelectorAll('[data-queue]').length === 2")
    card = boss.page.locator("[data-queue=coherence]")
    await card.locator("summary", has_text="Link for a reviewer").click()
    await card.locator("input[name=reviewer]").fill("carol")
    await card.locator("button", has_text="Make a link").click()
    link = await card.locator(".copyable code").inner_text()
    at_first = link.removeprefix(review.web.address).replace("#", "?at=1#")  # which shows a case without another change of the address
    tab = await review.open(look, at_first, None, width=390)
    await at(tab, 1)
    assert "#" not in tab.page.url
    assert await tab.page.evaluate("document.documentElement.scrollWidth") == 390
    token = link.split("#link=")[1]
    assert not [address for address in tab.requests if token in address and "#" not in address]
    await tab.page.keyboard.press("P")
    await at(tab, 2)
    assert (await review.said(review.order[0], "carol") or {})["verdict"] == "pass"
    assert await tab.page.title() == "Review · Touchstone"  # without a warning: nothing is wrong
    await tab.page.reload()  # the tab keeps it
    await at(tab, 2)
    for path in ("/api/cases", "/api/queues", "/api/queues/other", "/v1/summary", f"/api/cases/{review.order[2]}?queue=other"):
        assert (await review.web.get(path, token)).status_code in (403, 404), path
    for path, words in (("/review/other", "no such queue"), ("/review", "one queue")):
        await tab.page.evaluate("(path) => go(path)", path)
        await tab.until("(words) => document.querySelector('.view:not([hidden])').textContent.includes(words)", words)


async def test_marked_places_are_kept_by_positions_and_digest_and_shown_as_long_as_the_text_is_the_same(review: Review, look: Open) -> None:
    first, second = review.order[:2]
    prompt = str(trace(int(first[2:]))["prompt"])
    stale = {"field": "prompt", "start": 1, "end": 4, "digest": "0" * 64}
    await review.say(second, ANN, verdict="pass", marks=[stale])
    tab = await review.open(look, "/review/coherence", ANN, width=1440)
    await at(tab, 1)
    await mark(tab, ".case-prompt", "diabetes")
    await mark(tab, "[data-field=patient]", "Ada")
    await tab.page.keyboard.press("p")
    await saved(tab)
    found = (await review.said(first, "ann") or {})["marks"]
    begin = prompt.index("diabetes")  # Python counts code points, too
    assert found[0] == {"field": "prompt", "start": begin, "end": begin + 8, "digest": sha256(prompt.encode()).hexdigest()}
    assert found[1]["field"] == "patient"
    await tab.page.reload()
    await tab.until(f"{MARKS}.join() === 'diabetes,Ada'")
    await tab.page.goto(f"{review.web.address}/review/coherence?at=2")
    await at(tab, 2)
    await tab.until("document.querySelector('.marks').textContent.includes('stale')")
    assert await tab.page.evaluate(MARKS) == []
    # Without the browser's own, as over plain HTTP from elsewhere.
    for text in ("", "é🙂" * 40, "x" * 119):
        assert await tab.page.evaluate("(text) => sha256(text, null)", text) == sha256(text.encode()).hexdigest()


async def test_without_tokens_a_queue_asks_for_the_reviewers_name_and_another_may_follow(look: Open, tmp_path: Path) -> None:
    async with reviewing(tmp_path, ()) as review:
        tab = await review.open(look, "/review/coherence", None, width=1440)
        keys = tab.page.keyboard
        await tab.until("document.activeElement.name === 'reviewer'")
        await keys.type("dora")
        await keys.press("Enter")
        await at(tab, 1)
        await keys.press("F")
        await at(tab, 2)
        assert (await review.said(review.order[0], "dora") or {})["verdict"] == "fail"
        await tab.page.locator(".review-bar button", has_text="change").focus()
        await keys.press("Enter")
        await tab.until("document.querySelector('.ask-name') !== null && document.activeElement.name === 'reviewer'")
        await keys.type("emil")
        await keys.press("Enter")
        await tab.until("document.querySelector('.review-bar')?.textContent.includes('reviewer emil')")
