"""Counters and histograms of a batcher, independent of any metrics library."""

from __future__ import annotations

from collections.abc import Iterable

from touchstone.scorers.base import Reading
from touchstone.scorers.histogram import Histogram

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
#: Powers of two, so that batches of any model and device fall into buckets of the same width on a logarithmic scale.
ITEMS = tuple(float(2**power) for power in range(12))
TOKENS = tuple(float(2**power) for power in range(4, 18))


class Counts:
    """All counts of one batcher. Not thread-safe: its owner holds a lock around each use."""

    def __init__(self, engine: str) -> None:
        self._engine = ("engine", engine)
        self.wait_s = Histogram(SECONDS)
        self.forward_s = Histogram(SECONDS)
        self.batch_items = Histogram(ITEMS)
        self.batch_tokens = Histogram(TOKENS)
        self.inferences = 0
        self.batches = 0
        self.tokens = 0
        self.padding_tokens = 0
        self.flushes = dict.fromkeys(("budget", "deadline", "idle", "drain"), 0)
        self.out_of_memory = 0
        self.collapsed = 0
        self.dropped = 0
        self.poisoned = 0
        self.deaths = 0

    def counter(self, name: str, text: str, value: float, *labels: tuple[str, str]) -> Reading:
        """One counter of this engine."""
        return Reading(name, "counter", text, value, (self._engine, *labels))

    def gauge(self, name: str, text: str, value: float) -> Reading:
        """One gauge of this engine."""
        return Reading(name, "gauge", text, value, (self._engine,))

    def histogram(self, name: str, text: str, observed: Histogram) -> Reading:
        """One histogram of this engine."""
        return Reading(name, "histogram", text, observed.sum, (self._engine,), observed.buckets())

    def readings(self, *, depth: int, limit: int, budget: int, up: bool) -> Iterable[Reading]:
        """All current readings. `depth`, `limit`: queued items, and how many may be; `budget`: padded tokens per batch now; `up`: whether it takes work."""
        yield self.gauge("engine_up", "1 while the engine accepts work", float(up))
        yield self.gauge("engine_queue_depth_items", "items queued for the model", depth)
        yield self.gauge("engine_queue_limit_items", "items that may be queued; beyond that, callers wait", limit)
        yield self.gauge("engine_batch_budget_tokens", "padded tokens a batch may have now (lowered by out-of-memory)", budget)
        yield self.histogram("engine_queue_wait_seconds", "from submission to the start of its batch, per item", self.wait_s)
        yield self.histogram("engine_forward_seconds", "one forward pass", self.forward_s)
        yield self.histogram("engine_batch_size_items", "items in a batch", self.batch_items)
        yield self.histogram("engine_batch_size_tokens", "padded tokens of a batch", self.batch_tokens)
        yield self.counter("engine_inferences", "items computed", self.inferences)
        yield self.counter("engine_batches", "forward passes; inferences / batches is the mean batch", self.batches)
        yield self.counter("engine_tokens", "tokens computed, padding not counted", self.tokens)
        yield self.counter("engine_padding_tokens", "padding tokens computed to make batches rectangular", self.padding_tokens)
        for reason, count in self.flushes.items():
            yield self.counter("engine_flushes", "batches closed, by reason", count, ("reason", reason))
        yield self.counter("engine_out_of_memory", "forward passes that ran out of memory", self.out_of_memory)
        yield self.counter("engine_collapsed_items", "items answered by an identical one queued or in flight", self.collapsed)
        yield self.counter("engine_dropped_items", "items dropped because no caller waited for them any more", self.dropped)
        yield self.counter("engine_poisoned_items", "items on which the model failed", self.poisoned)
        yield self.counter("engine_deaths", "inference threads that ended unexpectedly", self.deaths)
