"""What `replay --follow` counts; `touchstone.streams.telemetry.metric_list` has the names.

None of them is a worker's: an event that was put aside counted as consumed at its first reading, and must not count twice.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from touchstone.scorers.base import Reading
from touchstone.streams.telemetry.metric_list import family, zeros
from touchstone.streams.telemetry.metrics import build_info, register
from touchstone.streams.telemetry.readings import families

log = structlog.get_logger(__name__)


class ReplayCounts(Collector):
    """What a process that follows a suite's shed events counts. `readings`: what its scorer counts itself, such as a judge's cost."""

    def __init__(
        self, suite: str, suite_version: str, registry: CollectorRegistry | None = None, readings: Callable[[], Iterable[Reading]] | None = None
    ) -> None:
        self._suite = suite
        self._info = build_info("replay", suite, suite_version)
        self._readings = readings
        self._outcomes: defaultdict[tuple[str, ...], int] = defaultdict(int, zeros("touchstone_replay_events_total"))
        self._waiting = 0
        self.is_broker_up = False
        register(registry, self)

    def done(self, outcomes: Mapping[str, int], waiting: int) -> None:
        """A round has ended. `outcomes`: outcome → events; `waiting`: those that are still put aside."""
        for outcome, count in outcomes.items():
            self._outcomes[outcome,] += count
        self._waiting = waiting

    def ready(self) -> tuple[bool, str]:
        """Whether it can work, and the reason if not."""
        return self.is_broker_up, "the broker does not answer"

    def collect(self) -> Iterator[Family]:
        """All families, for one scrape."""
        suite = self._suite
        yield self._info
        yield family("touchstone_replay_events_total", {(suite, *key): count for key, count in list(self._outcomes.items())})
        yield family("touchstone_replay_waiting_events", {(suite,): self._waiting})
        yield family("touchstone_replay_broker_up", {(suite,): int(self.is_broker_up)})
        if self._readings is None:
            return
        try:
            yield from list(families(suite, self._readings()))
        except Exception as error:  # noqa: BLE001 -- a scorer's defect must not cost the process its other metrics
            log.warning("readings_failed", code=type(error).__name__)
