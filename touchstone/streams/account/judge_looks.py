"""The projector's looks at the judges: at intervals, beside its work, which they neither stop nor fail."""

import asyncio
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from touchstone.schemas.settings.house import Settings
from touchstone.streams.account.judge_port import JudgeSource
from touchstone.streams.account.judge_watch import JudgeWatch, Looked
from touchstone.streams.account.prevalence_event import encode_prevalence
from touchstone.streams.account.projection import ResultRow
from touchstone.streams.account.store_port import StoreRefused, StoreUnavailable
from touchstone.streams.telemetry.service_counts import ProjectorCounts

log = structlog.get_logger("touchstone.projector")


class JudgeLooks:
    """Looks, sends prevalence events, keeps states. `writing`: held while the store is written to."""

    def __init__(self, settings: Settings, source: JudgeSource, metrics: ProjectorCounts, writing: asyncio.Lock, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._source = source
        self._watch = JudgeWatch(settings.judges, source)
        self._metrics = metrics
        self._writing = writing
        self._clock = clock
        self._failing = ""

    def touch(self, rows: Iterable[ResultRow]) -> None:
        """Results were written, or may have been."""
        self._watch.touch(rows)

    async def run(self, producer: AIOKafkaProducer) -> None:
        """Look until it is cancelled. A look that fails is counted, and logged once; the next one may succeed."""
        while True:
            began = time.monotonic()
            is_whole = True
            try:
                is_whole = await self._look(producer)
            except Exception as error:  # noqa: BLE001 -- what judges are like must not stop the projection
                self._fail(error)
            else:
                self._failing = ""
            # What is left is counted soon, at no more than half of the time.
            await asyncio.sleep(self._settings.judges.interval_s if is_whole else time.monotonic() - began)

    def _fail(self, error: Exception) -> None:
        known = (("store", StoreUnavailable | StoreRefused), ("kafka", KafkaError | OSError | TimeoutError))
        reason = next((name for name, kinds in known if isinstance(error, kinds)), "defect")
        self._metrics.look_failed(reason)
        if self._failing != reason:
            self._failing = reason
            log.warning("judges_not_looked_at", stage=reason, code=type(error).__name__)

    async def _look(self, producer: AIOKafkaProducer) -> bool:
        """One look; False if counting is not done yet. News is kept once the broker has acknowledged it: until then, it is sent again under its id."""
        now = self._clock()
        looked: Looked | None = await asyncio.to_thread(self._watch.look, now)
        if looked is None:
            return False
        for reason, count in looked.failures.items():
            self._metrics.look_failed(reason, count)
        self._metrics.judges(looked.judges)
        for rate in looked.rates:
            key, value, headers = encode_prevalence(rate, datetime.fromtimestamp(now, UTC))
            await producer.send_and_wait(self._settings.topics.reports, value=value, key=key, headers=headers)
        async with self._writing:
            await asyncio.to_thread(self._keep, looked, now)
        return True

    def _keep(self, looked: Looked, now: float) -> None:
        self._source.keep_states(looked.changed, now)
        self._source.drop_states(looked.gone)
        self._watch.kept(looked)
