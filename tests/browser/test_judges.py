from pathlib import Path

import pytest

from tests.browser.conftest import Open
from tests.ops.judge_folders import calibrated, judged_states
from tests.ops.web.history import history
from tests.ops.web.served import NOW, served
from tests.streams.subscription.made import record
from touchstone.ops.store.judges import JudgeStore
from touchstone.schemas.prevalence import PREVALENCE_TYPE
from touchstone.scorers.calibration.live import live_prevalence
from touchstone.scorers.reporting.intervals import Rate
from touchstone.streams.subscription.events import Event, EventReader

pytestmark = pytest.mark.slow


async def test_judges_are_shown_with_what_was_measured_and_the_overview_has_their_corrected_rates(look: Open, tmp_path: Path) -> None:
    with history(tmp_path) as sources:
        states = judged_states(tmp_path / "judges", "one")
        store = JudgeStore(sources.history.engine)
        store.keep_states(states, NOW)
        async with served(sources=sources) as web:
            tab = await look(web.address)
            await tab.until("document.querySelectorAll('#rates li').length === 2")
            first = states[0].prevalence
            assert first is not None
            assert first.corrected is not None
            shown = (await tab.text("#rates li:first-child")).replace("\u202f", " ")
            assert f"{int(first.corrected * 100)} %" in shown
            assert "cannot be corrected" in await tab.text("#rates li:last-child")

            # An event says that the rate is another one now; the tile follows without a reload.
            rate = live_prevalence(calibrated(tmp_path / "judges", "one"), Rate(180, 200), first.window)
            store.keep_states([states[0].model_copy(update={"prevalence": rate})], NOW)
            stored = record(("p", 0), 0, rate.model_dump_json(by_alias=True).encode(), PREVALENCE_TYPE)
            found = EventReader(web.service.settings.topics, {}).read(stored)
            assert isinstance(found, Event)
            web.hub.publish([(("p", 0), 0, found)])
            await tab.until("document.querySelector('#rates li b').textContent.startsWith('100')")

            await tab.page.locator("#rates a").first.click()
            await tab.until("location.pathname === '/judges' && document.querySelectorAll('.judge').length === 3")
            cards = [(await one.inner_text()).replace("\u202f", " ") for one in await tab.page.locator(".judge").all()]
            assert "Fail recall" in cards[0]
            assert "45 of 50" in cards[0]
            assert "the labels changed since the calibration" in cards[0]
            assert "stale" in cards[1]
            assert "fail_recall is 0.600; 0.80 is needed" in cards[1]
            assert "Not corrected: in this window no result is of the judge that was measured" in cards[1]
            assert "not measured" in cards[2]
