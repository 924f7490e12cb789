"""A worker that notes when each of its slices entered each stage, and every pause of its process: garbage collection, a blocked loop, settlements.

Run as `python -m touchstone.ops.lab.bench.streams.timed RUNNER FILE` with a worker's settings in the environment; on SIGTERM it writes the notes as JSON.
Times are the machine's clock in seconds, so that they can be compared with the broker's timestamps and other processes'.
"""

import asyncio
import gc
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from touchstone.streams.intake import intake as intake_module
from touchstone.streams.intake.intake import Intake
from touchstone.streams.intake.offsets import Slice, TopicPartition
from touchstone.streams.wire.codec import Record

LOOK_S = 0.005
#: Shorter pauses than this are not noted.
PAUSE_S = 0.002


class _Timed(Slice):
    """A slice that notes its stages."""

    __slots__ = ("marks",)
    marks: list[tuple[str, float]]

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "first":
            object.__setattr__(self, "marks", [])
        elif name == "stage" or (name == "done" and value):
            self.marks.append((value if name == "stage" else "done", time.time()))
        super().__setattr__(name, value)


class _Notes:
    """What a worker noted."""

    def __init__(self) -> None:
        self.slices: list[tuple[int, _Timed]] = []
        self.pauses: list[tuple[str, float, float]] = []
        self._collecting = 0.0

    def pause(self, cause: str, begun: float) -> None:
        """Note a pause that ends now."""
        if (took := time.time() - begun) >= PAUSE_S:
            self.pauses.append((cause, begun, took))

    def collected(self, phase: str, _: dict[str, int]) -> None:
        """A callback of the garbage collector."""
        if phase == "start":
            self._collecting = time.time()
        else:
            self.pause("garbage collection", self._collecting)

    async def watch_the_loop(self) -> None:
        """Note when the event loop is late."""
        while True:
            begun = time.time()
            await asyncio.sleep(LOOK_S)
            self.pause("event loop held", begun + LOOK_S)

    def written(self) -> bytes:
        """All as JSON."""
        return orjson.dumps({"slices": [(partition, one.first, one.after, one.marks) for partition, one in self.slices if one.done], "pauses": self.pauses})


def _watch(notes: _Notes) -> None:
    """Have this process's intake note what it does."""
    start, settle = Intake.start, Intake.settle

    def noted_start(self: Intake, partition: TopicPartition, records: Sequence[Record]) -> None:
        start(self, partition, records)
        progress = self.progress(partition)
        if records and progress is not None:
            newest = progress.in_flight[-1]
            assert isinstance(newest, _Timed)
            notes.slices.append((partition[1], newest))

    async def noted_settle(self: Intake) -> dict[TopicPartition, int]:
        begun = time.time()
        try:
            return await settle(self)
        finally:
            notes.pause("settlement (others go on)", begun)

    setattr(intake_module, "Slice", _Timed)  # noqa: B010 -- a plain assignment would need the module to export the name
    Intake.start = noted_start  # type: ignore[method-assign]
    Intake.settle = noted_settle  # type: ignore[method-assign]
    gc.callbacks.append(notes.collected)


def main() -> None:
    """Run a worker until it is told to stop, and write what it noted."""
    import uvloop

    from touchstone.ops.settings import load_settings
    from touchstone.streams.process.suites import running_suite
    from touchstone.streams.process.worker import run_worker
    from touchstone.streams.telemetry.logs import configure

    runner, file = sys.argv[1], Path(sys.argv[2])
    settings = load_settings()
    configure(settings.log)
    suite, topics = running_suite("safe_v0", settings)
    notes = _Notes()
    _watch(notes)

    async def run() -> None:
        looking = asyncio.create_task(notes.watch_the_loop())
        await run_worker(suite, topics, "direct" if runner == "direct" else "faust", settings)
        looking.cancel()
        end()

    def end() -> None:
        file.write_bytes(notes.written())
        os._exit(0)  # as a worker does: Faust's thread may still run

    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(run())


if __name__ == "__main__":
    main()
