"""Where a runner's time goes: a statistical profile of the worker's threads, by library.

The interpreter's own profiler sees one thread and doubles the cost of small functions, and Faust's consumer runs in a thread of its own. So a
thread of this process looks at the others' stacks two hundred times a second and notes whose code is running.
Run as `python -m touchstone.ops.lab.bench.streams.profiled RUNNER SECONDS EVENTS`; prints a line a library, its share first.
"""

import asyncio
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping

INTERVAL_S = 0.005
#: Path fragment → name in the table; the first that fits the innermost frame of Touchstone or a library wins.
OWNERS = (
    ("/faust/", "faust"),
    ("/mode/", "mode"),
    ("/aiokafka/", "aiokafka"),
    ("/scorers/", "touchstone: score"),
    ("/schemas/", "touchstone: validate"),
    ("/streams/wire/", "touchstone: decode and encode"),
    ("/streams/", "touchstone: account and produce"),
    ("/pydantic", "touchstone: validate"),
    ("/asyncio/", "asyncio"),
)


def owner_of(frame: object) -> str:
    """The library that a stack is counted for: that of its innermost frame that is not asyncio's or the standard library's."""
    current, fallback = frame, "event loop (idle or in C)"
    while current is not None:
        name = current.f_code.co_filename  # type: ignore[attr-defined]
        for fragment, owner in OWNERS:
            if fragment in name and "asyncio/runners.py" not in name and "streams/process/worker" not in name:
                if owner != "asyncio":
                    return owner
                fallback = "asyncio"
                break
        current = current.f_back  # type: ignore[attr-defined]
    return fallback


def sample(stop: threading.Event, counts: Counter[str], busy: threading.Event) -> None:
    """Look at every other thread while the worker is busy, until asked to stop."""
    own = threading.get_ident()
    while not stop.wait(INTERVAL_S):
        if not busy.is_set():
            continue
        for ident, frame in sys._current_frames().items():  # noqa: SLF001 -- the documented way to see other threads' stacks
            thread = next((each for each in threading.enumerate() if each.ident == ident), None)
            if ident == own or thread is None or thread.name in {"pages", "end"}:
                continue
            counts[("" if thread is threading.main_thread() else "consumer thread: ") + owner_of(frame)] += 1


def main() -> None:
    """Run a worker with the settings of the environment, and print the shares."""
    import uvloop

    from touchstone.ops.settings import load_settings
    from touchstone.streams.process.suites import running_suite
    from touchstone.streams.process.worker import run_worker
    from touchstone.streams.telemetry.logs import configure
    from touchstone.streams.telemetry.metrics import WorkerMetrics

    runner, seconds = sys.argv[1], float(sys.argv[2])
    settings = load_settings()
    configure(settings.log)
    suite, topics = running_suite("safe_v0", settings)
    stop, busy, counts = threading.Event(), threading.Event(), Counter[str]()
    finished, limit = WorkerMetrics.finished, int(sys.argv[3])

    def watched(metrics: WorkerMetrics, outcomes: Mapping[tuple[str, str], int]) -> None:
        """Sample from the first outcome on, until the backlog runs dry: an idle worker shows nothing."""
        finished(metrics, outcomes)
        done = metrics.totals()["scored"]
        (busy.set if done < limit else busy.clear)()

    WorkerMetrics.finished = watched  # type: ignore[assignment,method-assign]
    threading.Thread(target=sample, args=(stop, counts, busy), name="sampler", daemon=True).start()

    def end() -> None:
        busy.wait(60)
        time.sleep(seconds)
        stop.set()
        os.kill(os.getpid(), 15)

    threading.Thread(target=end, name="end", daemon=True).start()
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(run_worker(suite, topics, "direct" if runner == "direct" else "faust", settings))
    total = sum(count for name, count in counts.items() if not name.startswith("consumer"))
    for name, count in counts.most_common():
        print(f"{count / total:.3f} {name}")


if __name__ == "__main__":
    main()
