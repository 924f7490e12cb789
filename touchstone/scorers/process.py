"""How a process of Touchstone behaves: it ends with the program that started it, and its cycle collector stays out of the hot path.

A program that is killed cannot stop its children: a worker left behind would go on retrying a broker that has gone with it. So each child watches
its parent. PR_SET_PDEATHSIG does not do: Linux sends it when the *thread* that started the child ends. Standard library only, because some
processes that use this must start fast.
"""

import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Final

LOOK_S: Final = 0.5
#: A graceful stop may need what ends with the parent too, such as a broker: this much patience, no more.
GRACE_S: Final = 5.0


def when_parent_ends(act: Callable[[], object], parent: int | None = None) -> None:
    """Call `act` in a thread once `parent` (the present one, if not given) is no longer this process's parent.

    A program that starts a child through other programs passes its own id, so that its end is noticed even before this is called.
    """
    watched = os.getppid() if parent is None else parent

    def watch() -> None:
        while os.getppid() == watched:
            time.sleep(LOOK_S)
        act()

    threading.Thread(target=watch, name="watch-parent", daemon=True).start()


def end_with_parent(parent: int | None = None) -> None:
    """End this process once its parent has ended: first as SIGTERM would, then without waiting."""
    when_parent_ends(_end, parent)


def _end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os._exit(1)


def calm_collector() -> None:
    """Keep the cycle collector out of the hot path: cases and results hold no cycles, so frequent scans find nothing.

    What start-up has loaded is set aside, and the young generation is scanned every 50,000 allocations.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
