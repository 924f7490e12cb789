"""What the demo's later parts share: sample files sent to a topic, and the scorecards that come back for them."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from touchstone.ops.batch.outgoing import Outgoings, Way, batch_files
from touchstone.schemas.result import Scorecard, ScoreResult
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import Suite
from touchstone.streams.topics.log_reader import LogReader, header_texts
from touchstone.streams.topics.produce import send_events
from touchstone.streams.wire.codec import RESULT_TYPE


async def send_and_gather(
    settings: Settings, suite: Suite, paths: Sequence[Path], cards: dict[str, Scorecard], *, timeout_s: float, names: str
) -> tuple[int, str | None]:
    """Send every event of some files and gather the suite's results into `cards`, by event id.

    Returns how many events were sent, and, where not all have a result in time, what is missing. `names`: what the events are called.
    """
    outgoing = Outgoings(settings, [suite], batch_files(paths), {}, Way(None))
    checked = outgoing.check()
    watching = asyncio.create_task(_watch(settings, suite, cards, checked.events))
    try:
        sent = await send_events(settings, outgoing.events(), checked.topics)
        async with asyncio.timeout(timeout_s):
            await asyncio.wait({watching})
        watching.result()
    except TimeoutError:
        return checked.events, f"after {timeout_s:g} s there were {len(cards)} of {checked.events} {names}"
    finally:
        watching.cancel()
    return sent.total, None


async def _watch(settings: Settings, suite: Suite, cards: dict[str, Scorecard], wanted: int) -> None:
    """Follow the results until every event has one."""
    async with LogReader(settings.kafka, [settings.topics.results]) as reader:
        async for record in reader.read("beginning", follow=True):
            if header_texts(record.headers).get("ce_type") != RESULT_TYPE:
                continue
            document = orjson.loads(record.value or b"")
            if document["suite"] == suite.name:
                cards[document["event_id"]] = card_of(document)
            if len(cards) >= wanted:
                return


def card_of(document: Mapping[str, Any]) -> Scorecard:
    """The scorecard inside a result event."""
    try:
        result = ScoreResult.model_validate(document)
    except ValidationError:
        return Scorecard(label="unscored", values={})
    return Scorecard(**{name: getattr(result, name) for name in Scorecard.model_fields})
