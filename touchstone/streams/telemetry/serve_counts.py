"""What the live service counts; `touchstone.streams.telemetry.metric_list` has the names."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Literal

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from touchstone.streams.telemetry.metric_list import Carrier, Refusal, Way, family, zeros
from touchstone.streams.telemetry.metrics import build_info, register

PREFIX = "touchstone_serve_"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class ServeCounts(Collector):
    """What the service counts. Everything is called from its event loop.

    `window`: () → (events, bytes) in memory. `clients_max`: how many streams may be open.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._info = build_info("serve")
        self._counters = {name: defaultdict(int, zeros(f"{PREFIX}{name}_total")) for name in ("records", "clients_refused", "resumes", "events_sent")}
        self._plain = dict.fromkeys(("clients_stalled", "events_dropped"), 0)
        self._clients = dict(zeros(f"{PREFIX}clients"))
        self._queued = self._lag = self._up = 0
        self.window: Callable[[], tuple[int, int]] = lambda: (0, 0)
        self.clients_max = 0
        register(registry, self)

    def record(self, kind: Literal["result", "report", "ledger", "unreadable"]) -> None:
        """One record was read."""
        self._counters["records"][kind,] += 1

    def queued(self, change: int) -> None:
        """So many more events wait for clients, or fewer."""
        self._queued += change

    def dropped(self, count: int) -> None:
        """A client's full queue did not take these."""
        self._plain["events_dropped"] += count

    def resume(self, way: Way) -> None:
        """A stream continued from a position, or could not."""
        self._counters["resumes"][way,] += 1

    def sent(self, carrier: Carrier, count: int) -> None:
        """Events were handed to a client."""
        self._counters["events_sent"][carrier,] += count

    def refused(self, reason: Refusal) -> None:
        """A request was refused."""
        self._counters["clients_refused"][reason,] += 1

    def stalled(self) -> None:
        """A client was disconnected because it took nothing."""
        self._plain["clients_stalled"] += 1

    def client(self, carrier: Carrier, change: int) -> None:
        """A stream was opened, or closed."""
        self._clients[carrier,] += change

    def lag(self, records: int) -> None:
        """Set how many records have not been read yet."""
        self._lag = records

    def broker(self, *, up: bool) -> None:
        """Set whether events can come."""
        self._up = int(up)

    @property
    def clients(self) -> int:
        """Open streams."""
        return sum(self._clients.values())

    @property
    def unread(self) -> int:
        """Records that have not been read yet, as last asked for."""
        return self._lag

    def collect(self) -> Iterator[Family]:
        """All families, for one scrape."""
        yield self._info
        for name, counted in self._counters.items():
            yield family(f"{PREFIX}{name}_total", dict(counted))
        for name, count in self._plain.items():
            yield family(f"{PREFIX}{name}_total", {(): count})
        yield family(f"{PREFIX}clients", dict(self._clients))
        events, size = self.window()
        plain = {"broker_up": self._up, "clients_limit": self.clients_max, "events_queued": self._queued, "window_events": events, "window_bytes": size}
        if self._up:  # the lag is unknown otherwise, and an old number would look healthy
            plain["lag_records"] = self._lag
        for name, number in plain.items():
            yield family(f"{PREFIX}{name}", {(): number})


def exposition(registry: CollectorRegistry) -> bytes:
    """A scrape, as `CONTENT_TYPE`."""
    return generate_latest(registry)
