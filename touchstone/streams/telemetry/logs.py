"""Logs: structured events on standard error, with an allow-list of fields, and libraries kept quiet.

A field that is not on the list is dropped, so that a line written in haste cannot leak a payload.
"""

import logging
import re
import sys
import time
from collections.abc import MutableMapping
from enum import IntEnum
from typing import Any

import structlog

from touchstone.schemas.settings.house import LogSettings

#: Ids, codes, paths, numbers and Touchstone's own names: nothing else may appear in a log line.
FIELDS = frozenset(
    {
        "event", "level", "timestamp", "logger", "suite", "version", "runner", "topic", "topics", "partition", "partitions",
        "offset", "count", "code", "path", "group", "bootstrap", "address", "in_flight", "lag", "seconds", "event_id",
        "case_id", "batch_id", "concern_id", "report_id", "label", "status", "pid", "signal", "file", "records", "exception",
        "message", "stage", "final", "where", "window", "rebalances", "polled_s",
    }
)  # fmt: skip
#: Where a library's text takes an argument.
_PLACEHOLDER = re.compile(r"%(?:(%)|(?:\([^)]*\))?[#0\- +]*[0-9*]*(?:\.[0-9*]+)?[a-zA-Z])")
#: Clients that retry by themselves log errors during a normal start (the coordinator is not there yet); Touchstone logs what lasts.
_RETRIES = "aiokafka"
#: Seconds during which a library's repeated line is written once.
REPEAT_S = 60.0


def keep_allowed(_: Any, __: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Drop every field that is not on the list. A number with a name (a signal) is written as the number."""
    return {name: int(value) if isinstance(value, IntEnum) else value for name, value in fields.items() if name in FIELDS}


def frames_only(_: Any, __: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace exception information by type and code positions: messages and local values may quote a payload."""
    info = fields.pop("exc_info", None)
    error = sys.exc_info()[1] if info is True else info if isinstance(info, BaseException) else None
    if error is not None:
        frames = []
        trace = error.__traceback__
        while trace is not None:
            frames.append(f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}")
            trace = trace.tb_next
        fields["exception"] = f"{type(error).__name__} at {' > '.join(frames)}"
    return fields


class OncePerState(logging.Filter):
    """Lets a library's line through once, then holds its repeats back: a broker that is down fills no disk.

    Only the format string counts, so lines that differ in numbers are repeats. Arguments are kept out of the output:
    a client library may put payload bytes into them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Decide about one record."""
        key = (record.name, str(record.msg)[:200])
        now = time.monotonic()
        if now - self._seen.get(key, -REPEAT_S) < REPEAT_S:
            return False
        if len(self._seen) > 1000:
            self._seen.clear()
        self._seen[key] = now
        return True


class LibraryHandler(logging.Handler):
    """Turns a library's warning into a Touchstone log line: its logger, its level and its text, with "…" for each argument.

    A text that has no arguments may have been put together beforehand, payload and all, so only its place is written.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        error = record.exc_info[1] if record.exc_info else None
        structlog.get_logger(record.name).log(
            min(record.levelno, logging.WARNING) if record.name.startswith(_RETRIES) else record.levelno,
            "library",
            logger=record.name,
            message=_PLACEHOLDER.sub(lambda found: found[1] or "…", str(record.msg)[:200]) if record.args else f"{record.module}:{record.lineno}",
            **({"code": type(error).__name__} if error is not None else {}),
        )


def configure(settings: LogSettings) -> None:
    """Set up logging for a long-running command."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    renderer: Any = structlog.processors.JSONRenderer() if settings.format == "json" else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            frames_only,
            keep_allowed,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = LibraryHandler()
    handler.addFilter(OncePerState())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("aiokafka", "faust", "mode", "asyncio"):
        # aiokafka builds debug records whether or not anybody listens; the level stops that.
        logging.getLogger(name).setLevel(logging.WARNING)
