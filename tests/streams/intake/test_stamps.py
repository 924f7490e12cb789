"""The timestamps that results get."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from touchstone.schemas.settings.house import KafkaSettings, WorkerSettings
from touchstone.streams.intake.outbox import Outbox, _Lane, _Parcel
from touchstone.streams.wire.message import Message


@pytest.mark.parametrize(("off_s", "hours"), [(3 * 3600.0, -3), (-3 * 3600.0, 3), (0.0, None)])
def test_results_of_a_machine_whose_clock_is_off_are_stamped_with_the_clusters_time(off_s: float, hours: int | None) -> None:
    stamps: list[Any] = []
    batch = SimpleNamespace(append=lambda *, timestamp, **_: stamps.append(timestamp) or True)
    outbox = Outbox(KafkaSettings(), WorkerSettings(), SimpleNamespace())  # type: ignore[arg-type]
    outbox.clock_off_s = lambda: off_s
    lane = _Lane("results", 0)
    lane.parcels.append(_Parcel([Message(b"k", b"v", [])], None))  # type: ignore[arg-type]
    outbox._pack(SimpleNamespace(create_batch=lambda: batch), lane)
    (stamp,) = stamps
    assert stamp is None if hours is None else abs(stamp / 1000 - time.time() - hours * 3600) < 60
