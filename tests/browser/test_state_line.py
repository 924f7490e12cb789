"""The page's state line is true whatever the service is doing."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from tests.browser.conftest import Open
from tests.ops.web.served import NOW, Served, served
from tests.streams.subscription.made import P0, R0, R1, run_of
from touchstone.streams.subscription.hub import CONNECTING


@pytest.fixture
async def web() -> AsyncIterator[Served]:
    async with served(heartbeat_s=0.3) as running:
        yield running


async def test_while_the_past_is_read_it_says_how_far_and_is_not_live(web: Served, look: Open) -> None:
    web.hub.fault, web.hub.catching_up = CONNECTING, (4_100, 15_000)
    web.hub.live.clear()
    tab = await look(web.address)
    await tab.until("document.querySelector('#state').textContent.includes('catching up 4,100 of 15,000')")
    assert await tab.page.get_attribute("body", "data-state") == "catching"
    assert "not complete yet" in await tab.text("#notice")
    web.hub.begin({R0: 0, R1: 0, P0: 0})
    web.hub.online()
    await tab.until("document.body.dataset.state === 'live'")
    await tab.until("document.querySelector('#state').textContent.endsWith('live')")
    run_of(web.hub, 1, scored_at=f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(NOW))}Z")
    await tab.until("/live, .* s behind/.test(document.querySelector('#state').textContent)")


async def test_a_broker_that_is_away_makes_the_page_stale_and_its_return_is_caught_up_first(web: Served, look: Open) -> None:
    ticking = asyncio.create_task(web.hub.tick())
    tab = await look(web.address)
    await tab.until("document.body.dataset.state === 'live'")
    web.hub.offline("the broker does not answer (KafkaConnectionError)")
    await tab.until("document.querySelector('#state').textContent.includes('stale since')")
    assert "KafkaConnectionError" in await tab.text("#notice") or "cannot reach Kafka" in await tab.text("#notice")
    web.hub.aim({R0: 3, R1: 0, P0: 0})
    web.hub.online()
    await tab.until("document.querySelector('#state').textContent.includes('catching up 0 of 3')")
    run_of(web.hub, 3)
    await tab.until("document.body.dataset.state === 'live'")
    assert len(await tab.until_rows(3)) == 3
    ticking.cancel()


async def test_figures_that_are_old_say_how_old(web: Served, look: Open) -> None:
    run_of(web.hub, 1)
    tab = await look(web.address)
    await tab.until("!document.querySelector('#figures').hidden")
    await tab.page.route("**/v1/summary*", lambda route: route.abort())
    await tab.until("!document.querySelector('#age').hidden && /^figures \\d+ s old$/.test(document.querySelector('#age').textContent)")
