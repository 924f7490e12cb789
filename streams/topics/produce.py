"""Sending events: an idempotent producer whose every record is acknowledged before the sender says that it is sent."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError, RecordListTooLargeError

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import ConfigError
from touchstone.streams.wire.clients import check_topics, client_options, unreachable
from touchstone.streams.wire.codec import EVENT_TYPE_PREFIX, Header, header_text

#: Records handed to the producer and not acknowledged yet.
IN_FLIGHT_MAX = 2_000
SOURCE = "/touchstone/produce"

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
    """An event as a record: plain JSON, or a CloudEvent whose attributes come from the event itself, so that a repeat is the same."""
    event_id = document.get("id")
    key = str(event_id).encode() if keyed and event_id is not None else None
    if envelope == "none":
        return Outgoing(where, topic, key, orjson.dumps(document))
    attributes = {"id": str(event_id) if event_id is not None else "", "source": str(document.get("source") or SOURCE)}
    attributes |= {"specversion": "1.0", "type": f"{EVENT_TYPE_PREFIX}{document.get('kind')}"}
    if isinstance(document.get("timestamp"), str):
        attributes["time"] = document["timestamp"]
    if not attributes["id"]:
        raise ConfigError(f"{where}: a CloudEvent needs an id; give the event one, or use --cloudevents none")
    if envelope == "structured":
        value = orjson.dumps(attributes | {"datacontenttype": "application/json", "data": document})
        return Outgoing(where, topic, key, value, (("content-type", b"application/cloudevents+json"),))
    headers = (("content-type", b"application/json"), *((f"ce_{name}", header_text(text)) for name, text in attributes.items()))
    return Outgoing(where, topic, key, orjson.dumps(document), headers)


async def send_events(settings: Settings, records: Iterable[Outgoing], topics: Iterable[str], *, rate_per_s: float | None = None) -> Sent:
    """Send records in order and wait for every acknowledgement.

    `topics`: all that the records name, checked first. Raises `ConfigError` that says how many are on the topic when
    something goes wrong; ids are deterministic, so sending all of them again makes no second result.
    """
    await check_topics(settings.kafka, topics)
    producer = AIOKafkaProducer(**client_options(settings.kafka), acks="all", enable_idempotence=True, linger_ms=5, max_request_size=2**31 - 1)
    try:
        await producer.start()
    except (KafkaError, OSError, TimeoutError) as error:
        await producer.stop()
        raise ConfigError(unreachable(settings.kafka, error)) from None
    sent = Sent()
    try:
        await _send_all(producer, records, sent, rate_per_s)
    finally:
        await producer.stop()
    return sent


async def _send_all(producer: AIOKafkaProducer, records: Iterable[Outgoing], sent: Sent, rate_per_s: float | None) -> None:
    """Hand records over with a bound on what is under way."""
    started = time.monotonic()
    under_way: list[tuple[str, asyncio.Future[Any]]] = []
    record: Outgoing | None = None
    try:
        for number, record in enumerate(records):
            if rate_per_s is not None:
                await asyncio.sleep(max(0.0, started + number / rate_per_s - time.monotonic()))
            future = await producer.send(record.topic, value=record.value, key=record.key, headers=list(record.headers))
            under_way.append((record.where, future))
            if len(under_way) >= IN_FLIGHT_MAX:
                await _acknowledge(under_way, sent)
        await _acknowledge(under_way, sent)
    except (MessageSizeTooLargeError, RecordListTooLargeError):
        raise ConfigError(f"{record.where if record else ''}: larger than the broker takes; {_so_far(sent)}") from None
    except (KafkaError, OSError, TimeoutError) as error:
        raise ConfigError(f"the broker stopped taking events ({type(error).__name__}); {_so_far(sent)}") from None


async def _acknowledge(under_way: list[tuple[str, "asyncio.Future[Any]"]], sent: Sent) -> None:
    """Wait for what is under way, and count it."""
    outcomes = await asyncio.gather(*(future for _, future in under_way), return_exceptions=True)
    failed: tuple[str, BaseException] | None = None
    for (where, _), outcome in zip(under_way, outcomes, strict=True):
        if isinstance(outcome, BaseException):
            failed = failed or (where, outcome)
        else:
            sent.acknowledged[outcome.topic, outcome.partition] += 1
    under_way.clear()
    if failed is None:
        return
    where, error = failed
    if isinstance(error, (MessageSizeTooLargeError, RecordListTooLargeError)):
        raise ConfigError(f"{where}: larger than the broker takes; {_so_far(sent)}")
    raise error


def _so_far(sent: Sent) -> str:
    """What a failed run has left behind, and what to do."""
    return f"{sent.total} events were acknowledged before; send all again when it is mended: the same ids make no second result"
