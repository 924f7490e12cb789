"""How far the workers of each suite are behind, asked now and then: what their groups have committed against the ends of their topics."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.suite import Suite
from touchstone.streams.subscription.past import GONE
from touchstone.streams.wire.clients import client_options, existing_topics
from touchstone.streams.wire.closing import close_client
from touchstone.streams.wire.group_offsets import committed_offsets

log = structlog.get_logger("touchstone.serve")


class SuiteLag:
    """Watches the groups of all suites. `known`: suite → group and records; empty until the first answer."""

    def __init__(self, settings: Settings, suites: Mapping[str, Suite]) -> None:
        self._settings = settings
        self._inputs = {name: settings.topics.inputs(suite.topics) for name, suite in suites.items()}
        self.known: dict[str, dict[str, Any]] = {}

    async def run(self) -> None:
        """Ask until cancelled; a broker that is away is asked again."""
        while True:
            try:
                await self._session()
            except GONE:
                self.known.clear()  # an old number would look healthy
            except Exception as error:  # noqa: BLE001 -- the lag is a courtesy: a defect in it must not stay unnoticed, nor cost anything else
                self.known.clear()
                log.error("lag_failed", code=type(error).__name__)
            await asyncio.sleep(self._settings.serve.lag_interval_s)

    async def _session(self) -> None:
        options = client_options(self._settings.kafka)
        async with AsyncExitStack() as stack:
            admin = AIOKafkaAdminClient(**options)
            stack.push_async_callback(close_client, admin.close)
            await admin.start()
            consumer = AIOKafkaConsumer(**options, group_id=None, enable_auto_commit=False)
            stack.push_async_callback(close_client, consumer.stop)
            await consumer.start()
            while True:
                async with asyncio.timeout(self._settings.kafka.request_timeout_s):
                    await self._look(admin, consumer)
                await asyncio.sleep(self._settings.serve.lag_interval_s)

    async def _look(self, admin: AIOKafkaAdminClient, consumer: AIOKafkaConsumer) -> None:
        existing = await existing_topics(admin)
        numbers = {topic: [entry["partition"] for entry in entries] for topic, entries in existing.items()}
        parts = {name: [TopicPartition(topic, number) for topic in topics for number in numbers.get(topic, ())] for name, topics in self._inputs.items()}
        every = sorted({part for own in parts.values() for part in own})
        begins, ends = (await consumer.beginning_offsets(every), await consumer.end_offsets(every)) if every else ({}, {})
        for suite, own in parts.items():
            group = f"{self._settings.worker.group_prefix}.{suite}"
            # All partitions by name: asked for whatever there is, the embedded broker answers with nothing that the client can read.
            committed = await committed_offsets(admin, group, own)
            at = {part: known.offset for part, known in committed.items() if known.offset >= 0}
            records = sum(max(0, ends[part] - max(at.get(part, 0), begins[part])) for part in own) if at else None
            self.known[suite] = {"records": records, "group": group}
