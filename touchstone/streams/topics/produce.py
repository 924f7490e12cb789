"""Sending events: an idempotent producer that reports a record as sent once the broker has acknowledged it.

It waits for a broker that goes away, within a bound. The producer keeps what it could not deliver and delivers it once
when the broker is back; only where the broker has forgotten the producer is what was under way sent again, possibly twice.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson
from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
)

from touchstone.schemas.settings.house import KafkaSettings, Settings
from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import ConfigError
from touchstone.streams.topics.absence import Absence, Say
from touchstone.streams.wire.clients import check_topics, client_options, unreachable
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.codec import EVENT_TYPE_PREFIX, Header, header_text

#: Records handed to the producer and not acknowledged yet.
IN_FLIGHT_MAX = 2_000
#: Without an acknowledgement for this long, with records under way, a broker counts as away.
QUIET_S = 3.0
#: How long a broker may stay away before sending is given up.
AWAY_MAX_S = 300.0
WATCH_INTERVAL_S = 0.25
#: How long other records under way may take to end once one of them has failed.
SETTLE_S = 5.0
BACKOFF_MIN_S, BACKOFF_MAX_S = 0.1, 2.0
#: How far a run may lag behind its rate and still catch up: sleeping is not exact. A longer pause moves what follows.
RATE_SLACK_S = 1.0
TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)
#: Errors that waiting does not resolve.
REFUSED = (TopicAuthorizationFailedError, ClusterAuthorizationFailedError)
SOURCE = "/touchstone/produce"
TOO_DEEP = "nested deeper than JSON can be written; leave the case out or flatten it"

Envelope = Literal["none", "binary", "structured"]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One record to send. `where`: the file and line it came from, for messages."""

    where: str
    topic: str
    key: bytes | None
    value: bytes
    headers: tuple[Header, ...] = ()


@dataclass(slots=True)
class Sent:
    """What the broker has acknowledged: (topic, partition) → records."""

    acknowledged: Counter[tuple[str, int]] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """Records in all."""
        return self.acknowledged.total()


def encode_event(where: str, topic: str, document: Mapping[str, Any], *, envelope: Envelope, keyed: bool) -> Outgoing:
    """An event as a record: plain JSON, or a CloudEvent whose attributes come from the event itself, so that a repeat is the same.

    Raises `ConfigError` for an event that cannot be written.
    """
    event_id = document.get("id")
    key = str(event_id).encode() if keyed and event_id is not None else None
    if envelope == "none":
        return Outgoing(where, topic, key, _written(where, document))
    attributes = {"id": str(event_id) if event_id is not None else "", "source": str(document.get("source") or SOURCE)}
    attributes |= {"specversion": "1.0", "type": f"{EVENT_TYPE_PREFIX}{document.get('kind')}"}
    if isinstance(document.get("timestamp"), str):
        attributes["time"] = document["timestamp"]
    if not attributes["id"]:
        raise ConfigError(f"{where}: a CloudEvent needs an id; give the event one, or use --cloudevents none")
    if envelope == "structured":
        value = _written(where, attributes | {"datacontenttype": "application/json", "data": document})
        return Outgoing(where, topic, key, value, (("content-type", b"application/cloudevents+json"),))
    headers = (("content-type", b"application/json"), *((f"ce_{name}", header_text(text)) for name, text in attributes.items()))
    return Outgoing(where, topic, key, _written(where, document), headers)


def _written(where: str, document: Mapping[str, Any]) -> bytes:
    """A document as JSON. The writer has a limit of 254 levels; the reader has more."""
    try:
        return orjson.dumps(document)
    except TypeError:
        raise ConfigError(f"{where}: {TOO_DEEP}") from None


async def send_events(
    settings: Settings,
    records: Iterable[Outgoing],
    topics: Iterable[str],
    *,
    rate_per_s: float | None = None,
    say: Say | None = None,
    away_max_s: float = AWAY_MAX_S,
) -> Sent:
    """Send records in order and wait for every acknowledgement.

    `topics`: all that the records name, checked first. `say`: called once when the broker is away and once when it is
    back. Raises `ConfigError` that says how many are on the topic where the broker stays away for longer than
    `away_max_s` or refuses a record; ids are deterministic, so sending all of them again gives no second result.
    """
    await check_topics(settings.kafka, topics)
    line = _Line(settings.kafka, say, away_max_s)
    try:
        await line.open()
    except (KafkaError, OSError, TimeoutError) as error:
        raise ConfigError(unreachable(settings.kafka, error)) from None
    work = asyncio.ensure_future(_send_all(line, records, rate_per_s))
    watch = asyncio.ensure_future(line.watch())
    try:
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        (work if work.done() else watch).result()
    finally:
        work.cancel()
        watch.cancel()
        await asyncio.gather(work, watch, return_exceptions=True)
        await line.close()
    return line.sent


async def _send_all(line: "_Line", records: Iterable[Outgoing], rate_per_s: float | None) -> None:
    """Hand records over, at a rate if one is given, and wait for the last acknowledgement."""
    due = time.monotonic()
    for record in records:
        if rate_per_s is not None:
            due = max(due, time.monotonic() - RATE_SLACK_S)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due += 1 / rate_per_s
        await line.hand_over(record)
    await line.settle()


class _Line:
    """Records on their way to the broker: handed over, and not forgotten before they are acknowledged."""

    def __init__(self, kafka: KafkaSettings, say: Say | None, away_max_s: float) -> None:
        self.sent = Sent()
        self._kafka = kafka
        self._away_max_s = away_max_s
        where = f"Kafka at {kafka.bootstrap_servers}"
        self._absence = Absence(say, when_gone=f"{where} does not answer; waiting for it for up to {away_max_s:.0f} s", when_back=f"{where} is back")
        self._producer: AIOKafkaProducer | None = None
        self._under_way: list[tuple[Outgoing, asyncio.Future[Any]]] = []
        self._unanswered: set[asyncio.Future[Any]] = set()
        self._failed = False
        self._moved = time.monotonic()

    async def open(self) -> None:
        """Connect. Raises the client's error."""
        producer = AIOKafkaProducer(**client_options(self._kafka), acks="all", enable_idempotence=True, linger_ms=5, max_request_size=2**31 - 1)
        try:
            await producer.start()
        except BaseException:
            await close_client(producer.stop)
            raise
        self._producer = producer

    async def close(self) -> None:
        """Disconnect, within a bound: without a broker the client would wait forever."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await close_client(producer.stop)

    async def watch(self) -> None:
        """Report that acknowledgements stay away. Raises `ConfigError` once they have for too long."""
        while True:
            await asyncio.sleep(WATCH_INTERVAL_S)
            if not self._unanswered:
                self._moved = time.monotonic()
            elif time.monotonic() - self._moved > QUIET_S:
                self._absence.gone()
            if self._absence.seconds > self._away_max_s:
                raise ConfigError(f"Kafka at {self._kafka.bootstrap_servers} has accepted no event for {self._away_max_s:.0f} s; {self._so_far()}")

    async def hand_over(self, record: Outgoing) -> None:
        """Give one record to the producer; waits where too many are under way. Raises `ConfigError` for one that is refused."""
        if self._failed or len(self._under_way) >= IN_FLIGHT_MAX:
            await self.settle()
        self._under_way.append((record, await self._send(record)))

    async def settle(self) -> None:
        """Wait until everything under way is acknowledged; failed records are sent again. Raises `ConfigError` for what is refused."""
        while self._under_way:
            lost = await self._lost()
            if not lost:
                return
            await self._renew()
            for record in lost:
                self._under_way.append((record, await self._send(record)))

    async def _lost(self) -> list[Outgoing]:
        """Wait for what is under way; returns the records that were not acknowledged, in order."""
        futures = [future for _, future in self._under_way]
        pending = set(futures)
        while pending and not self._failed:
            _, pending = await asyncio.wait(pending, timeout=WATCH_INTERVAL_S)
        if pending:
            await asyncio.wait(pending, timeout=SETTLE_S)
        self._unanswered.clear()
        under_way, self._under_way, self._failed = self._under_way, [], False
        lost: list[Outgoing] = []
        for record, future in under_way:
            error = future.exception() if future.done() else None
            if isinstance(error, TOO_LARGE):
                raise ConfigError(f"{record.where}: larger than the broker accepts; {self._so_far()}")
            if isinstance(error, REFUSED):
                raise ConfigError(f"the broker refuses events for {record.topic} ({type(error).__name__}); {self._so_far()}")
            if error is not None or not future.done():
                future.remove_done_callback(self._ended)
                lost.append(record)
        return lost

    async def _renew(self) -> None:
        """A new producer, once the broker answers: one that failed for good has a gap in its sequence, which the broker refuses to pass."""
        await self.close()
        backoff = Backoff(BACKOFF_MIN_S, BACKOFF_MAX_S)
        while True:
            try:
                await self.open()
            except (KafkaError, OSError, TimeoutError):
                self._absence.gone()
                await asyncio.sleep(backoff.next_s())
            else:
                return

    async def _send(self, record: Outgoing) -> "asyncio.Future[Any]":
        """Hand one record to the producer; the future ends with the broker's acknowledgement."""
        assert self._producer is not None
        while True:
            try:
                future: asyncio.Future[Any] = await self._producer.send(record.topic, value=record.value, key=record.key, headers=list(record.headers))
            except KafkaTimeoutError:
                continue  # its queue is full; `watch` bounds how long
            except (KafkaError, OSError) as error:
                future = asyncio.get_running_loop().create_future()
                future.set_exception(error)
            self._unanswered.add(future)
            future.add_done_callback(self._ended)
            return future

    def _ended(self, future: "asyncio.Future[Any]") -> None:
        """Count an acknowledgement, or note that something has to be sent again."""
        self._unanswered.discard(future)
        if future.cancelled() or future.exception() is not None:
            self._failed = True
            return
        self.sent.acknowledged[future.result().topic, future.result().partition] += 1
        self._moved = time.monotonic()
        self._absence.back()

    def _so_far(self) -> str:
        """The state that a failed run leaves, and what to do."""
        return f"{self.sent.total} events were acknowledged before; once this is fixed, send everything again: the same ids give no second result"
