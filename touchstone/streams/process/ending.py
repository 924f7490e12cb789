"""A bound on the end of a process."""

import os
import threading

import structlog

log = structlog.get_logger(__name__)

#: sysexits: a temporary failure; the supervisor starts the process again.
EXIT_STALLED = 75
#: Closing clients, leaving the group, the last commit: beyond the drain.
SHUTDOWN_MARGIN_S = 30.0


def end_at_last(seconds: float) -> None:
    """End the process after a bound, whatever still hangs: what is not committed is read again, and a process that never ends blocks its successor."""

    def end() -> None:
        log.error("shutdown_hangs", seconds=seconds)
        os._exit(EXIT_STALLED)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
