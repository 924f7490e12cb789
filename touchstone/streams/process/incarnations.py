"""What the intake asks about its topics, answered by the cluster's metadata."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.backoff import Backoff
from touchstone.streams.intake.incarnations import Incarnations
from touchstone.streams.topics.identity import TopicMetadata


@asynccontextmanager
async def watching(settings: Settings, known: Mapping[str, str], topics: Sequence[str]) -> AsyncIterator[Incarnations]:
    """The incarnations of these topics. `known`: their ids now."""
    metadata, worker = TopicMetadata(settings.kafka), settings.worker

    async def ask() -> Mapping[str, str]:
        return {name: topic.topic_id for name, topic in (await metadata.read(topics)).items()}

    incarnations = Incarnations(known, ask, lambda: Backoff(worker.retry_backoff_min_s, worker.retry_backoff_max_s))
    try:
        yield incarnations
    finally:
        await incarnations.close()
        await metadata.close()
