import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING, Any, cast

import httpx
import pytest

from tests.browser.conftest import Open
from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import Worker, produce
from tests.ops.web.served import ALL, NOW, ONE, TOKENS, Served, Stream, served, toy_suite
from tests.streams.fakes import safe_event
from tests.streams.subscription.made import P0, R0, event, publish, read, record, report_bytes, result_bytes, run_of
from touchstone.ops.local.kafka.processes import free_ports
from touchstone.streams.embedded.broker import EmbeddedBroker

if TYPE_CHECKING:
    from touchstone.streams.subscription.events import Event

PARTITIONS = 3
CANARY = "zanzibar-canary"
WAIT_S = 180
FINDING = {"severity": "major", "code": "ac_missing", "path": "expectations.phrases[1]", "message": "an expected phrase is missing", "suggestion": None}
QUICK = {"TOUCHSTONE_SERVE_RETRY_MS": "300", "TOUCHSTONE_SERVE_HEARTBEAT_S": "0.5", "TOUCHSTONE_KAFKA_PROBE_INTERVAL_S": "0.3"}

Start = Callable[..., Worker]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with EmbeddedBroker() as own:
        yield Broker("embedded", own.bootstrap_servers, embedded=own)


@pytest.fixture
def space(broker: Broker) -> Namespace:
    namespace = Namespace()
    broker.create_topics(namespace.topics(PARTITIONS))
    return namespace


@pytest.fixture
def start(broker: Broker, space: Namespace) -> Iterator[Start]:
    started: list[Worker] = []

    def begin(*words: str) -> Worker:
        started.append(Worker("", space.environment(broker) | QUICK, command=[sys.executable, "-m", "touchstone.ops.cli", *words]))
        return started[-1]

    yield begin
    for one in started:
        one.close()


@pytest.fixture
async def web() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


async def up(service: Worker) -> None:
    await asyncio.to_thread(service.until, lambda: service.page("/readyz", WAIT_S)[0] == 200, WAIT_S)


async def test_results_appear_and_a_killed_service_comes_back_with_nothing_missed_or_doubled(
    start: Start, broker: Broker, space: Namespace, look: Open
) -> None:
    (port,) = free_ports("127.0.0.1", 1)
    sent: list[str] = []

    async def send(count: int) -> None:
        numbers = range(len(sent), len(sent) + count)
        sent.extend(f"r-{number}" for number in numbers)
        headers = [("ce_type", b"touchstone.result")]
        await produce(broker, space.topic("results"), [(number % PARTITIONS, result_bytes(str(number)), headers) for number in numbers])

    service = start("serve", "--port", str(port))
    await up(service)
    await send(10)
    tab = await look(f"http://127.0.0.1:{port}/")
    await tab.until_rows(10)
    await send(15)
    await tab.until_rows(25)
    for _ in range(2):
        service.process.send_signal(signal.SIGKILL)
        await send(20)
        await tab.until("document.body.dataset.state === 'reconnecting'")
        assert "since" in await tab.text("#notice")
        service = start("serve", "--port", str(port))
        await tab.until("document.body.dataset.state === 'live'")
        await send(5)
        assert sorted(await tab.until_rows(len(sent))) == sorted(sent)
    # A result that came twice would be one row all the same, so what came is counted too.
    assert await tab.page.get_attribute("#feed", "data-taken") == str(len(sent))
    assert await tab.page.locator("#feed .mark").count() == 0


#: Notes every state that the page says, with how many results its list has taken by then.
WATCH_THE_STATE = """() => {
  window.said = [];
  const note = () => window.said.push([document.body.dataset.state, document.querySelector("#state").textContent, state.taken]);
  new MutationObserver(note).observe(document.querySelector("#state"), {childList: true, characterData: true, subtree: true});
}"""


@pytest.mark.slow(30)
async def test_the_state_is_true_through_15000_events_to_catch_up_and_a_killed_broker(start: Start, broker: Broker, space: Namespace, look: Open) -> None:
    many = 15_000
    (port,) = free_ports("127.0.0.1", 1)
    embedded = broker.embedded
    assert embedded is not None
    service = start("serve", "--port", str(port))
    await up(service)
    tab = await look(f"http://127.0.0.1:{port}/")
    await tab.until("document.body.dataset.state === 'live'")
    service.process.send_signal(signal.SIGKILL)
    await tab.until("document.body.dataset.state === 'reconnecting'")
    scored_at = datetime.now(UTC).isoformat()
    headers = [("ce_type", b"touchstone.result")]
    await produce(broker, space.topic("results"), [(number % PARTITIONS, result_bytes(str(number), scored_at=scored_at), headers) for number in range(many)])
    embedded.set_rtt(150)  # so that reading takes long enough to be seen
    await tab.page.evaluate(WATCH_THE_STATE)
    start("serve", "--port", str(port))
    await tab.until("document.body.dataset.state === 'live'")
    embedded.set_rtt(0)
    await tab.until("document.querySelector('#figures a').textContent === '15,000'")
    said = await tab.page.evaluate("window.said")
    assert [text for _, text, _ in said if "of 15,000" in text], said
    assert not [one for one in said if one[0] == "live" and one[2] < 200], "it was called live before the latest results were there"
    # The broker is killed: nothing on the page is called live, and what is shown says how old it is.
    pid = embedded.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await tab.until("document.querySelector('#state').textContent.includes('stale since')")
    assert await tab.page.evaluate("document.body.dataset.state") == "away"
    assert "cannot reach Kafka" in await tab.text("#notice")
    assert (await tab.page.title()).startswith("⚠")


#: Notes when a result is in the live list, and how late the page's own timer is, which a busy machine makes.
WATCH_THE_LIST = """() => {
  window.drawnAt = {};
  window.latestMs = 0;
  new MutationObserver(() => {
    for (const row of document.querySelectorAll("#feed .row")) window.drawnAt[row.dataset.result] ??= Date.now();
  }).observe(document.getElementById("feed"), {childList: true, subtree: true});
  let due = performance.now() + 50;
  setInterval(() => {
    window.latestMs = Math.max(window.latestMs, performance.now() - due);
    due = performance.now() + 50;
  }, 50);
}"""


async def test_a_result_is_on_the_page_within_a_second_of_its_scoring(start: Start, broker: Broker, space: Namespace, look: Open) -> None:
    count = 40
    service, worker = start("serve", "--port", "0"), start("worker", "--suite", "safe_v0", "--runner", "direct")
    await up(service)
    await up(worker)
    address = service.log.split('"address"')[1].split('"')[1]
    tab = await look(f"{address}/")
    await tab.until("document.body.dataset.state === 'live'")
    await tab.page.evaluate(WATCH_THE_LIST)
    scored: dict[str, float] = {}
    arrived: dict[str, float] = {}
    async with httpx.AsyncClient(timeout=WAIT_S, trust_env=False) as client, client.stream("GET", f"{address}/v1/events") as answer:
        stream = Stream(answer)

        async def read() -> None:
            while len(scored) < count:
                result = (await anext(stream)).data
                arrived[result["result_id"]] = time.time()
                scored[result["result_id"]] = datetime.fromisoformat(result["scored_at"]).timestamp()

        reading = asyncio.create_task(read())
        for number in range(count):
            await produce(broker, space.topic("generations"), [(number % PARTITIONS, json.dumps(safe_event(f"e{number}")).encode(), [])])
            await asyncio.sleep(0.015 * (number % 6))  # so that they meet the drawing of the list at every moment
        async with asyncio.timeout(WAIT_S):
            await reading
    await tab.until("(count) => Object.keys(window.drawnAt).length === count", count)
    drawn: dict[str, float] = await tab.page.evaluate("window.drawnAt")
    stall_s: float = await tab.page.evaluate("window.latestMs / 1000")
    shown = sorted(drawn[key] / 1000 - at for key, at in scored.items())
    sent = sorted(arrived[key] - at for key, at in scored.items())
    print(f"scored → on the page: median {median(shown):.3f} s, greatest {shown[-1]:.3f} s; → at a client of the stream: median {median(sent):.3f} s, ", end="")
    print(f"greatest {sent[-1]:.3f} s; the page's timer was at most {stall_s:.3f} s late")
    # A second where the machine is idle. Where it is not, a client that draws nothing waits longer too, and so does a timer of the page.
    assert median(shown) < 1 + 10 * median(sent) + 2 * stall_s


async def test_a_word_of_the_payload_is_nowhere_on_the_page(start: Start, broker: Broker, space: Namespace, look: Open) -> None:
    service, worker = start("serve", "--port", "0"), start("worker", "--suite", "safe_v0", "--runner", "direct")
    await up(service)
    await up(worker)
    sample = safe_event("e1", output={"signals": [f"{CANARY} signal"], "summary": f"A {CANARY}.", "followup_questions": [CANARY]})
    sample["expectations"]["signal_generation"]["must_find_signals"] = [f"{CANARY} expected"]
    address = service.log.split('"address"')[1].split('"')[1]
    tab = await look(f"{address}/")
    await produce(broker, space.topic("generations"), [(0, json.dumps(sample).encode(), []), (0, f"{{broken {CANARY}".encode(), [])])
    await tab.until_rows(1)
    await tab.until("document.querySelector('#figures')?.textContent.includes('Dead letters1')")
    pages = [await tab.page.content()]
    await tab.page.focus("#feed .row")
    await tab.page.keyboard.press(" ")
    await tab.page.click("#panel details summary")
    pages.append(await tab.page.content())
    assert "ac_missing" in pages[1] or "cr_missing" in pages[1] or "finding" in pages[1]
    assert not [text for text in pages if CANARY in text]


async def test_everything_can_be_done_from_the_keyboard(web: Served, look: Open) -> None:
    run_of(web.hub, 3, findings=[FINDING], label="Review")
    tab = await look(web.address)
    await tab.until_rows(3)
    keys = tab.page.keyboard
    await keys.press("Tab")
    assert await tab.page.evaluate("document.activeElement.className") == "skip"
    await keys.press("j")
    await keys.press("j")
    focused = await tab.page.evaluate("document.activeElement.dataset.result")
    assert focused == (await tab.ids())[1]
    assert await tab.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    await keys.press(" ")
    await tab.until("document.querySelector('#panel[open] .copyable')")
    assert tab.page.url.endswith(f"#result={focused}")
    panel = await tab.text("#panel")
    assert all(
        word in panel
        for word in ("ac_missing", "expectations.phrases[1]", "an expected phrase is missing", "touchstone.generations[0]@1", "touchstone score one")
    )
    assert await tab.page.evaluate("document.querySelector('#panel').contains(document.activeElement)")
    await keys.press("k")
    await tab.until("(id) => location.hash === `#result=${id}`", (await tab.ids())[0])
    await keys.press("Escape")
    await tab.until("!document.querySelector('#panel').open && location.hash === ''")
    assert await tab.page.evaluate("document.activeElement.dataset.result") == focused
    await keys.press("?")
    await tab.until("document.querySelector('#keys').open")
    await keys.press("Escape")
    await tab.until("!document.querySelector('#keys').open")


async def test_a_paused_list_stands_still_and_shows_the_rest_when_it_goes_on(web: Served, look: Open) -> None:
    run_of(web.hub, 2)
    tab = await look(web.address)
    await tab.until_rows(2)
    await tab.page.keyboard.press("p")
    run_of(web.hub, 3)
    await tab.until("document.querySelector('#live-note').textContent.includes('3 new results')")
    assert len(await tab.ids()) == 2
    await tab.page.keyboard.press("p")
    await tab.until_rows(5)


async def test_a_change_of_configuration_is_a_line_where_it_happened_and_no_trend_goes_across_it(web: Served, look: Open) -> None:
    now_ms, changed = int(NOW * 1000), 60
    for number in range(2 * changed):
        told = {"config_digest": "aa11" * 4, "label": "Pass"} if number < changed else {"config_digest": "bb22" * 4, "label": "Review"}
        publish(web.hub, replace(event(str(number), R0, number, **told), at_ms=now_ms - (2 * changed - number) * 6_000))
    tab = await look(web.address)
    await tab.until("document.querySelector('.time .changes line')")
    await tab.page.click(".suite .toggle")
    line, words = await tab.page.evaluate(
        "[document.querySelector('.time .changes line').getBoundingClientRect().x, document.querySelector('p.change').textContent]"
    )
    left, width = await tab.page.evaluate("(({x, width}) => [x, width])(document.querySelector('.time').getBoundingClientRect())")
    assert 0.5 < (line - left) / width < 0.7  # six of fifteen minutes ago
    assert words.endswith("another configuration, version 1, bb22bb22")
    assert await tab.text(".suite .trend") == "– not compared"
    assert "another configuration" in await tab.page.get_attribute(".time", "aria-label")


async def test_a_filter_hides_what_it_does_not_name_and_escape_clears_it(web: Served, look: Open) -> None:
    web.service.suites = {"one": replace(toy_suite("one"), call=lambda event_id, _: event_id)}
    publish(web.hub, event("plain", offset=0, case_id="c-1"), event("wanted", offset=1, label="Fail", findings=[FINDING], case_id="c-2"))
    tab = await look(web.address)
    await tab.until_rows(2)
    # Its suite calls a case by its event.
    await tab.until("[...document.querySelectorAll('#feed .name')].map((name) => name.textContent).join() === 'wanted,plain'")
    for words, shown in (("label:fail", ["r-wanted"]), ("ac_miss want", ["r-wanted"]), ("plai", ["r-plain"]), ("suite:two", [])):
        await tab.page.keyboard.press("f")
        await tab.page.keyboard.type(words)
        assert await tab.page.evaluate("[...document.querySelectorAll('#feed li:not([hidden]) .row')].map((row) => row.dataset.result)") == shown, words
        await tab.page.keyboard.press("Escape")
        await tab.page.keyboard.press("Escape")
    assert await tab.page.locator("#feed li:not([hidden])").count() == 2


async def test_a_phone_needs_no_sideways_scrolling(web: Served, look: Open) -> None:
    long = "A-case-with-a-name-that-has-no-end-" * 4
    findings = [FINDING | {"path": "expectations." + "deeply.nested." * 20, "code": "a_code_of_some_length_" * 4}]
    publish(web.hub, *(event(f"e{number}", offset=number, case_id=long, label="Fail", findings=findings) for number in range(5)))
    publish(web.hub, event(long, P0, 0))
    tab = await look(web.address, 360, 740)
    await tab.until_rows(5)
    await tab.until("document.querySelector('#batches .batch') && document.querySelector('.suite')")
    await tab.page.click(".suite .toggle")
    assert await tab.page.evaluate("document.documentElement.scrollWidth") == 360
    await tab.page.focus("#feed .row")
    await tab.page.keyboard.press(" ")
    await tab.until("document.querySelector('#panel[open] .copyable')")
    assert await tab.page.evaluate("[document.documentElement.scrollWidth, panel.scrollWidth - panel.clientWidth]") == [360, 0]


async def test_names_that_are_markup_stay_text(web: Served, look: Open) -> None:
    evil = ['<img src=x onerror="window.harmed=1">', '"><script>window.harmed=1</script>', "javascript:window.harmed=1", "\u202e__proto__", "constructor"]
    told = [
        {
            "case_id": one,
            "label": "Fail",
            "suite": one,
            "result_id": f"r {one}",
            "findings": [FINDING | {"code": one, "path": one, "message": one}],
        }
        for one in evil
    ]
    publish(web.hub, *(event(one, offset=number, attributes={"concern_id": one, "batch_id": one}, **told[number]) for number, one in enumerate(evil)))
    report = record(P0, 0, report_bytes(evil[0], report_id=f"p {evil[1]}", concern_id=evil[1], batch_id=evil[0]), "one:v1:result")
    publish(web.hub, cast("Event", read(report)))
    tab = await look(web.address)
    await tab.until_rows(len(evil))
    await tab.until("document.querySelectorAll('.suite').length === 5 && document.querySelector('#batches .batch')")
    assert evil[0] in await tab.text("#feed")
    for number in range(len(evil)):
        await tab.page.locator("#feed .row").nth(number).focus()
        await tab.page.keyboard.press(" ")
        await tab.until("document.querySelector('#panel[open] .facts')")
        assert evil[len(evil) - 1 - number] in await tab.text("#panel .findings")
        await tab.page.keyboard.press("Escape")
    await tab.page.click("#batches .batch")
    await tab.until("document.querySelector('#panel[open] .big')")
    assert evil[0] in await tab.text("#panel h2")
    assert await tab.page.evaluate("[typeof window.harmed, document.images.length, document.scripts.length]") == ["undefined", 0, 1]


async def test_an_event_that_cannot_be_shown_is_passed_over(web: Served, look: Open) -> None:
    tab = await look(web.address)
    await tab.until("document.body.dataset.state === 'live'")
    odd = event("odd", offset=0)
    publish(web.hub, replace(odd, value=odd.value.replace(b'"findings":[]', b'"findings":{}')))
    publish(web.hub, event("named", offset=1, label="Fail", findings=[FINDING | {"severity": "constructor"}]), event("after", offset=2))
    assert await tab.until_rows(2) == ["r-after", "r-named"]
    assert [request for request in tab.requests if "/v1/events" in request] == [f"{web.address}/v1/events?snapshot=200"]


async def test_a_batch_is_shown_among_those_of_its_concern_with_what_its_pass_rate_did(web: Served, look: Open) -> None:
    for offset, (name, passed, concern) in enumerate((("monday", 40, "c"), ("tuesday", 90, "c"), ("elsewhere", 5, "other"), ("wednesday", 88, "c"))):
        summary = {"total_cases": 100, "pass": passed, "review": 0, "fail": 100 - passed, "overall_pass_rate": passed / 100}
        report = record(P0, offset, report_bytes(name, concern_id=concern, summary=summary), "one:v1:result", ce_source="/touchstone/projector/one")
        publish(web.hub, cast("Event", read(report)))
    tab = await look(f"{web.address}/#batch=p-tuesday", 360, 740)
    await tab.until("document.querySelector('#panel svg.rates')")
    label = await tab.page.get_attribute("#panel svg.rates", "aria-label")
    assert label == "Pass rates of 3 batches, the latest last: monday 40\u202f%, tuesday 90\u202f%, wednesday 88\u202f%"
    shown = await tab.text("#panel")
    assert "95\u202f% interval 83\u202f% to 94\u202f%" in shown
    assert "▲ +50 points (95\u202f% interval +38 to +60): better since monday" in shown
    assert await tab.page.evaluate("[document.documentElement.scrollWidth, panel.scrollWidth - panel.clientWidth]") == [360, 0]
    await tab.page.evaluate("location.hash = '#batch=p-wednesday'")
    await tab.until("document.querySelector('#panel h2')?.textContent === 'wednesday' && document.querySelector('#panel .trend')")
    assert "→ −2 points (95\u202f% interval −11 to +7): no clear change since tuesday" in await tab.text("#panel")
    empty = {"total_cases": 0, "pass": 0, "review": 0, "fail": 0, "unscored": 3, "overall_pass_rate": 0.0}
    report = record(P0, 4, report_bytes("unscored", concern_id="c", summary=empty), "one:v1:result", ce_source="/touchstone/projector/one")
    publish(web.hub, cast("Event", read(report)))
    await tab.page.evaluate("location.hash = '#batch=p-unscored'")
    await tab.until("document.querySelector('#panel h2')?.textContent === 'unscored' && document.querySelector('#panel .big')")
    assert (await tab.text("#panel .big")).split()[0] == "–"
    await tab.page.evaluate("location.hash = '#batch=p-elsewhere'")
    await tab.until("document.querySelector('#panel h2')?.textContent === 'elsewhere' && document.querySelector('#panel .big')")
    assert await tab.page.locator("#panel svg.rates").count() == 0


async def test_a_shared_link_opens_its_case_and_one_that_leads_nowhere_says_so(web: Served, look: Open) -> None:
    run_of(web.hub, 1)
    tab = await look(f"{web.address}/#result=r-r0.0")
    await tab.until("document.querySelector('#panel[open] .facts')")
    assert "r-r0.0" in await tab.text("#panel")
    other = await look(f"{web.address}/#result=%3Cimg%20src=x%3E")
    await other.until("document.querySelector('#panel[open]')?.textContent.includes('among the latest events')")


async def test_without_a_token_it_asks_for_one_and_keeps_it_out_of_addresses(look: Open) -> None:
    async with served(tokens=TOKENS) as web:
        run_of(web.hub, 2)
        tab = await look(web.address)
        await tab.until("!document.querySelector('#token').hidden && document.activeElement.id === 'token-text'")
        assert await tab.ids() == []
        for token, shown in (("not-the-token-at-all", False), (ALL, True)):
            await tab.page.fill("#token-text", token)
            await tab.page.keyboard.press("Enter")
            if not shown:
                await tab.until("document.querySelector('#token-fault').textContent.includes('not accepted')")
        await tab.until_rows(2)
        assert await tab.page.evaluate("[Object.values(sessionStorage), localStorage.length, document.cookie]") == [[ALL], 0, ""]
        assert not [address for address in tab.requests if ALL in address]
        assert ALL not in await tab.page.content()
        await tab.page.reload()
        await tab.until_rows(2)


async def test_a_token_for_one_suite_shows_no_other(look: Open) -> None:
    async with served(tokens=TOKENS) as web:
        publish(web.hub, event("mine", offset=0), event("stranger", offset=1, suite="two"))
        tab = await look(web.address)
        await tab.page.fill("#token-text", ONE)
        await tab.page.keyboard.press("Enter")
        assert await tab.until_rows(1) == ["r-mine"]
        await tab.until("document.querySelector('.suite')")
        assert "stranger" not in await tab.page.content()
        assert "Suite two" not in await tab.page.content()


async def test_a_gap_and_the_end_of_the_service_are_told(look: Open) -> None:
    async with served(queue_events=5, writes_directly=False) as web:  # as for a client whose connection is full
        tab = await look(web.address)
        run_of(web.hub, 1)
        await tab.until_rows(1)  # from now on events come through its queue
        run_of(web.hub, 50)
        await tab.until("document.querySelector('#feed .mark')?.textContent.includes('45 events left out')")
        await tab.until("document.body.dataset.state === 'gap'")
        web.hub.close()
        await tab.until("document.body.dataset.state === 'closing'")


async def test_a_page_that_stays_open_holds_no_more_than_its_bounds(web: Served, look: Open) -> None:
    tab = await look(web.address)
    await tab.until("document.body.dataset.state === 'live'")
    for round_ in range(1, 5):
        run_of(web.hub, 400, findings=[FINDING], label="Review")
        await tab.until("(id) => document.querySelector('#feed .row')?.dataset.result === id", f"r-r0.{400 * round_ - 1}")
        assert len(await tab.ids()) == 200


async def test_nothing_to_show_says_what_to_do(web: Served, look: Open) -> None:
    tab = await look(web.address)
    await tab.until("!document.querySelector('#empty').hidden")
    assert "touchstone produce" in await tab.text("#empty")
    run_of(web.hub, 1)
    await tab.until_rows(1)
    assert await tab.page.is_hidden("#empty")


async def test_who_comes_late_is_shown_the_shortest_time_that_has_a_result(web: Served, look: Open) -> None:
    publish(web.hub, replace(event("old"), at_ms=int((NOW - 2 * 3600) * 1000)))
    tab = await look(web.address, 1440)
    await tab.until("document.querySelector('.suite .big') && document.querySelector('#figures').textContent.includes('Results1in the last 4 hours')")
    assert await tab.page.input_value("#minutes") == "240"
    await tab.page.select_option("#minutes", "15")  # what someone chooses stays
    await tab.until("document.querySelector('#figures').textContent.includes('Results0in the last 15 minutes')")


async def test_every_control_and_chart_has_a_name(web: Served, look: Open) -> None:
    run_of(web.hub, 30, findings=[FINDING], label="Review")
    tab = await look(web.address, reduced_motion="reduce")
    await tab.until("document.querySelector('.suite svg') && document.querySelector('#feed .row')")
    nameless = """[...document.querySelectorAll("button, input, select, svg[role=img], .rows, dialog[open]")].filter((one) =>
      !(one.textContent.trim() || one.getAttribute("aria-label") || one.labels?.length)).map((one) => one.outerHTML.slice(0, 80))"""
    assert await tab.page.evaluate(nameless) == []
    moving: Any = await tab.page.evaluate("getComputedStyle(document.querySelector('#feed li')).animationName")
    assert moving == "none"


async def test_a_label_leads_to_its_cases_and_back_returns(web: Served, look: Open) -> None:
    run_of(web.hub, 3, findings=[FINDING], label="Fail")
    tab = await look(web.address)
    await tab.until("document.querySelector('.suite .key.tone-fail')")
    await tab.page.click(".suite .key.tone-fail")
    await tab.until("location.pathname === '/cases' && new URLSearchParams(location.search).get('label') === 'Fail'")
    assert await tab.page.evaluate("document.body.dataset.view") == "cases"
    assert await tab.page.title() == "Cases · Touchstone"
    await tab.page.go_back()
    await tab.until("document.body.dataset.view === 'overview' && !document.querySelector('#view-overview').hidden")
    await tab.page.keyboard.press("g")
    await tab.page.keyboard.press("e")
    await tab.until("location.pathname === '/errors' && document.querySelector('#nav [aria-current]').textContent === 'Errors'")


async def test_a_code_that_rises_is_a_link_and_a_suite_that_nobody_runs_is_folded(web: Served, look: Open) -> None:
    for number in range(160):
        is_recent = number >= 100
        findings = [FINDING] if number % (3 if is_recent else 50) == 0 else []
        publish(web.hub, replace(event(str(number), R0, number, findings=findings), at_ms=int((NOW - (120 if is_recent else 700)) * 1000)))
    tab = await look(web.address)
    await tab.until("document.querySelector('#rising a')")
    assert "ac_missing" in await tab.text("#rising")
    address = await tab.page.get_attribute("#rising a", "href")
    assert address is not None
    assert address.startswith("/cases?suite=one&code=ac_missing")
    assert await tab.page.locator(".suite").count() == 1
    await tab.page.click("#quiet summary")
    assert "Suite two" in await tab.text("#quiet-list")
    assert "no worker runs it" in await tab.text("#quiet-list")


async def test_the_live_list_of_a_phone_comes_right_after_the_suites(web: Served, look: Open) -> None:
    run_of(web.hub, 3)
    tab = await look(web.address, 390, 844)
    await tab.until("document.querySelector('.suite') && document.querySelector('#feed .row')")
    tops = await tab.page.evaluate("['#state', '#suites', '#live'].map((name) => document.querySelector(name).getBoundingClientRect().top)")
    assert tops == sorted(tops)
    assert tops[-1] < 844
