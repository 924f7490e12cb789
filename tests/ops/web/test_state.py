"""What the service says of its own state while it reads events from before."""

import pytest

from tests.ops.web.served import served
from tests.streams.subscription.made import P0, R0, R1, event, make_hub, publish, run_of, stream
from touchstone.streams.subscription.hub import CONNECTING
from touchstone.streams.subscription.items import Beat


async def test_until_the_past_has_been_read_no_window_is_whole_and_the_summary_says_how_far() -> None:
    async with served() as web:
        web.hub.fault, web.hub.catching_up = CONNECTING, (4_100, 15_000)
        web.hub.live.clear()
        found = (await web.get("/v1/summary")).json()
        assert (found["connection"]["state"], found["connection"]["read"], found["connection"]["to_read"]) == ("catching_up", 4_100, 15_000)
        assert found["window"]["is_whole"] is False
        ready = await web.get("/readyz")
        assert (ready.status_code, ready.text) == (503, "connecting to the broker; catching up 4,100 of 15,000\n")
        web.hub.begin({R0: 0, R1: 0, P0: 0})
        web.hub.online()
        found = (await web.get("/v1/summary?minutes=16")).json()
        assert (found["connection"]["state"], found["connection"]["read"], found["window"]["is_whole"]) == ("live", None, True)


async def test_a_service_that_never_reached_the_broker_is_connecting() -> None:
    async with served() as web:
        web.hub.fault = CONNECTING
        web.hub.live.clear()
        found = (await web.get("/v1/summary")).json()
        assert (found["connection"]["state"], found["window"]["is_whole"]) == ("connecting", False)


def test_after_an_outage_what_came_meanwhile_is_counted_down() -> None:
    hub = make_hub()
    run_of(hub, 2)
    hub.aim({R0: 5, R1: 1, P0: 0})
    assert hub.progress == "catching up 0 of 4"
    publish(hub, event("a", R0, 2), event("b", R0, 3), event("c", R1, 0))
    assert hub.progress == "catching up 3 of 4"
    publish(hub, event("d", R0, 4), event("e", R0, 5))
    assert (hub.progress, hub.catching_up) == ("", None)
    hub.aim(hub.positions)
    assert hub.catching_up is None


@pytest.mark.parametrize("note", ["", "catching up 7 of 9"])
async def test_a_watcher_that_comes_too_early_hears_how_far_the_past_has_been_read(note: str) -> None:
    hub = make_hub()
    hub.live.clear()
    hub.catching_up = (7, 9) if note else None
    items, _ = stream(hub)
    assert await anext(items) == Beat(note=note or "waiting for kafka")


async def test_who_comes_back_hears_where_the_past_ends() -> None:
    hub = make_hub()
    run_of(hub, 3)
    items, _ = stream(hub, since=dict(hub.positions))
    assert await anext(items) == Beat(hub.id, "caught up")
