"""The observer: samples the committed offsets and the acknowledged results many times a second."""

import threading
import time
from dataclasses import dataclass
from itertools import pairwise

from confluent_kafka import KafkaException

from touchstone.ops.lab.chaos.grounds import PARTITIONS, Field
from touchstone.ops.lab.chaos.topiclog import Offsets

INTERVAL_S = 0.1


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample, per partition. `committed` was read first: everything that it covers was acknowledged before the ends were read."""

    at_s: float
    committed: tuple[int, ...]
    results: tuple[int, ...]
    dead: tuple[int, ...]
    inputs: tuple[int, ...]

    @property
    def lag(self) -> int:
        """Events not committed."""
        return sum(max(0, end - committed) for end, committed in zip(self.inputs, self.committed, strict=True))


class Observer(threading.Thread):
    """Samples until asked to stop; a broker that is down gives no sample."""

    def __init__(self, field: Field) -> None:
        super().__init__(name="observer", daemon=True)
        self._field = field
        self._stop_asked = threading.Event()
        self.samples: list[Sample] = []
        self.missed = 0

    def run(self) -> None:
        """Look every `INTERVAL_S`."""
        offsets = Offsets(self._field.grounds.bootstrap_servers, self._field.group)
        try:
            while not self._stop_asked.is_set():
                began = time.monotonic()
                try:
                    self.samples.append(self._look(offsets, began))
                except KafkaException:
                    self.missed += 1
                    offsets.renew()
                self._stop_asked.wait(max(0.01, INTERVAL_S - (time.monotonic() - began)))
        finally:
            offsets.close()

    def _look(self, offsets: Offsets, at_s: float) -> Sample:
        """One sample, in the order that makes it a proof."""
        topic = self._field.topic
        committed = offsets.committed(topic("generations"), PARTITIONS)
        results, dead = offsets.ends(topic("results"), PARTITIONS), offsets.ends(topic("dead"), PARTITIONS)
        return Sample(at_s, committed, results, dead, offsets.ends(topic("generations"), PARTITIONS))

    def finish(self) -> None:
        """Stop sampling, if it was begun."""
        self._stop_asked.set()
        if self.ident is not None:
            self.join(timeout=30)

    def drained_since(self, since_s: float) -> bool:
        """True if a sample taken after that moment shows nothing uncommitted."""
        last = self.samples[-1] if self.samples else None
        return last is not None and last.at_s >= since_s and last.lag == 0

    @property
    def lag_max(self) -> int:
        """Largest lag seen."""
        return max((sample.lag for sample in self.samples), default=0)

    @property
    def regressions(self) -> int:
        """Number of times that a committed offset went backwards: allowed (events replay), but reported."""
        return sum(any(now < before for before, now in zip(one.committed, two.committed, strict=True)) for one, two in pairwise(self.samples))
